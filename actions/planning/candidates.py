"""Values that stand in a text beyond doubt: found by their form and read by our own code, no model (pure, law L1)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from actions import nominal
from actions.planning.extract import MAX_TEXT, Source, Type, typed
from schemas.fact import Span
from schemas.model import Json
from schemas.value import Integrity, Value

_SUM = r"-?\d{1,3}(?:[.,'’]\d{3})*(?:[.,]\d{1,2})?|-?\d+(?:[.,]\d{1,2})?"
_MONTH = r"[^\W\d_]{3,10}"
_FORMS: Mapping[Type, re.Pattern[str]] = {
    "Email": re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"),
    "Url": re.compile(r"https?://[^\s\"'<>()\[\]{}]+[^\s\"'<>()\[\]{}.,;:!?]"),
    "Iban": re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)"),
    "Money": re.compile(
        rf"(?<![\w.,])(?<!\d\s)(?:[€$£¥]\s?(?:{_SUM})|(?:{_SUM})\s?(?:[€$£¥]|[A-Z]{{3}}\b)|[A-Z]{{3}}\s(?:{_SUM}))(?![.,]?\d)"
    ),
    "Date": re.compile(
        rf"(?<![\w./-])(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}\.\s?\d{{1,2}}\.\s?\d{{4}}|\d{{1,2}}/\d{{1,2}}/\d{{4}}"
        rf"|\d{{1,2}}(?:\.|st|nd|rd|th|er)?\s(?:de\s)?{_MONTH}\.?,?\s(?:de\s)?\d{{4}}|{_MONTH}\.?\s\d{{1,2}}(?:st|nd|rd|th)?,?\s\d{{4}})"
        r"(?![\w/-])"
    ),
    "Number": re.compile(rf"(?<![\w.,])(?<!\d\s)(?:{_SUM})(?!\w|[.,]\d|\s\d)"),
}  # fmt: skip
MOST = 50
"""Candidates that are looked at; a text with more says nothing by itself."""
_AROUND = 40
"""Characters of context on each side, as the words that a value stood in."""


def candidates(type_: Type, source: Source) -> list[Value]:
    """Different values of one type, in the order of the text, each with its words; none for free text."""
    found: dict[str, Value] = {}
    form = _FORMS.get(type_)
    for count, match in enumerate(form.finditer(source.text) if form else ()):
        if count == MOST:
            break
        value = typed(type_, match[0]) if len(match[0]) <= MAX_TEXT else None
        if value is not None and not nominal.fault(type_, value):
            found.setdefault(_same(type_, value), _spanned(type_, value, source, match.start(), match.end()))
    return list(found.values())


def _same(type_: Type, value: Json) -> str:
    text = nominal.display(type_, value)
    return text.casefold() if type_ == "Email" else text.replace(" ", "") if type_ == "Iban" else text


def _spanned(type_: Type, value: Json, source: Source, start: int, end: int) -> Value:
    first = max(0, start - _AROUND)
    last = min(len(source.text), end + _AROUND, first + MAX_TEXT)
    span = Span(part=source.part, start=first, end=last, quote=source.text[first:last])
    return Value(
        v=value, type=type_, sources=(source.event,), integrity=Integrity.UNTRUSTED, how="extracted", span=span
    )
