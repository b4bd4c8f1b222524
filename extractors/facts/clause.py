"""Clauses: the stretches of text inside which one word may say what another means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from extractors.facts import calendar_words as words


@dataclass(frozen=True, slots=True)
class Clause:
    """``text`` stands at ``start`` of the whole, with its line breaks as spaces; ``end`` is exclusive."""

    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def covers(self, start: int, end: int) -> bool:
        return self.start <= start and end <= self.end


_BUT = r"(?:but|however|though|otherwise|aber|jedoch|sondern|sonst|mais|sinon|pero|sin embargo|de lo contrario)"
_BOUNDARY = re.compile(rf"\n|[.!?…]+(?=[\s\"'”“»)\]]|$)|[;|•·]|,(?=\s{_BUT}\b)", re.IGNORECASE)
_ABBREVIATION = re.compile(
    r"(?:\b(?:nr|no|n|nº|num|núm|bzw|ca|str|dr|mr|mrs|ms|mme|st|inkl|incl|exkl|zzgl|ggf|vgl|tel|art|abs|abt|approx|"
    r"max|min|sr|sra|av|ref|e\.g|i\.e|d\.h|z\.\s?b|u\.\s?a)|\b[^\W\d_])$",
    re.IGNORECASE,
)
_MONTH_BEHIND = re.compile(rf"\s*{words.MONTH}", re.IGNORECASE)
_DATE_WORD = re.compile(rf"(?:{words.MONTH}|{words.WEEKDAY})$", re.IGNORECASE)
_OPEN_END = re.compile(
    r"(?:[:,(]|\b(?:by|on|until|before|the|of|to|due|is|was|and|or|your|bis|zum|am|den|der|die|das|von|und|oder|"
    r"spätestens|"
    r"le|la|les|avant|au|du|de|et|ou|el|del|antes|y|o|hasta|para))$",
    re.IGNORECASE,
)
_BULLET = re.compile(rf"\s*(?:[-*–•·]\s|\d+[.)]\s(?!(?:{words.MONTH})))", re.IGNORECASE)
"""The 13th of a month that a mail program put at the beginning of a line is none."""
_LONGEST = 800
"""No sentence is longer; what is, is cut, so that nothing below needs time that grows with its square."""
_VALUE = 40
_LABEL = 30
"""Characters of a value, and of a label, that stand on lines of their own: "Due date", and below it the day."""
_DIGIT = re.compile(r"\d")
_WRAPPED = 50
"""A line at least this long that does not end a sentence was broken by a mail program, not by its writer."""


class Whole(Protocol):
    """Something in the text that no boundary may cut: a date, an amount."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


def split(text: str, wholes: Iterable[Whole] = ()) -> list[Clause]:
    """The clauses in order; what lies between them is only punctuation and space."""
    inside = {position for whole in wholes for position in range(whole.start, whole.end)}
    clauses: list[Clause] = []
    start = 0
    for match in _BOUNDARY.finditer(text):
        if match.start() in inside:
            continue
        if match.end() > start and _ends_clause(text, start, match):
            _add(clauses, text, start, match.end())
            start = match.end()
    _add(clauses, text, start, len(text))
    return clauses


def _add(clauses: list[Clause], text: str, start: int, end: int) -> None:
    while end - start > _LONGEST:
        _add(clauses, text, start, start + _LONGEST)
        start += _LONGEST
    piece = text[start:end]
    stripped = piece.lstrip()
    if stripped.strip():
        clauses.append(Clause(start + len(piece) - len(stripped), stripped.rstrip().replace("\n", " ")))


def _ends_clause(text: str, start: int, match: re.Match[str]) -> bool:
    if match.group() == "\n":
        return _ends_line(text, start, match.start())
    if match.group() == ".":
        return _ends_sentence(
            text[max(start, match.start() - 12) : match.start()], text[match.end() : match.end() + 20]
        )
    return True


def _ends_line(text: str, start: int, at: int) -> bool:
    line = text[text.rfind("\n", 0, at) + 1 : at].rstrip()
    after = text[at + 1 : at + 200]
    if _BULLET.match(after):
        return True
    following = after.lstrip(" \t")
    if text[start:at].rstrip().endswith(":"):  # a label; a short value may stand below a blank line
        value = after.lstrip().partition("\n")[0]
        return len(value) > _VALUE and (not line or following.startswith("\n"))
    if not line or following.startswith("\n"):
        return True
    if len(line) <= _LABEL and following[:1].isdigit() and not _DIGIT.search(line):
        return False
    return not (len(line) >= _WRAPPED or _OPEN_END.search(line) or following[:1].islower())


def _ends_sentence(before: str, after: str) -> bool:
    following = after.lstrip()[:1]
    if following.islower() or (following.isdigit() and _DATE_WORD.search(before)):
        return False
    if before[-1:].isdigit():
        return not _MONTH_BEHIND.match(after)
    return _ABBREVIATION.search(before) is None
