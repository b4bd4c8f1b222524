"""The counterparty in a stable form, so that the same shop is the same key whatever its bank wrote around the name."""

from __future__ import annotations

import re
import unicodedata

_PROCESSOR_WORDS = """
paypal pp sq square sumup iz izettle zettle tst sp spo klarna stripe adyen mollie lsp ppro cko ls eb payu
"""
_LEADING_WORDS = """
kartenzahlung girocard ec visa mastercard maestro debit card debitcard credit purchase pos payment to from lastschrift
sepa dauerauftrag ueberweisung direct paiement carte cb achat par prelevement virement compra tarjeta con pago en recibo
adeudo contactless kauf bei zahlung direktdebit
"""
_TRAILING_WORDS = """
gmbh ag kg kgaa mbh ug ohg ev co inc ltd llc llp corp plc sarl sas sa sl slu bv nv srl spa se sca cie ab oy aps
de deu deutschland germany us usa gb gbr uk fr fra france es esp espana at aut ch che nl nld lu ie irl
"""
_PROCESSORS = frozenset(_PROCESSOR_WORDS.split())
"""They stand before a star, and the merchant behind it."""
_LEADING = frozenset(_LEADING_WORDS.split())
"""How it was paid, where a bank puts that before the name."""
_TRAILING = frozenset(_TRAILING_WORDS.split())
"""Legal forms and countries."""
_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "o", "œ": "oe", "ł": "l"})
_CARD = re.compile(r"[x*#•]{2,}[ -]?\d{2,6}|\b\d{4,6}[x*#•]{2,}\d{0,6}")
_STAR = re.compile(r"^([^*]{1,60}?)\s*\*\s*(.*)$")
_TOKEN = re.compile(r"[^\W_]+")
_WORDS = 6
_LONGEST = 300


def merchant(name: str) -> str:
    """Lower-case words joined by hyphens: no card numbers, dates, branch numbers, places after them, legal forms.

    ``AMZN Mktp DE*1A2B`` is ``amzn-mktp``, ``PAYPAL *SPOTIFY`` is ``spotify``, ``LIDL 0423 MUENCHEN`` is ``lidl``.
    Empty only where the name has no letter or digit. Applying it to its own result changes nothing.
    """
    text = _CARD.sub(" 000 ", _fold(name[:_LONGEST])).split("//")[0]
    words = _without_edges(_name_words(_around_star(text)))
    return "-".join(words[:_WORDS])


def _fold(name: str) -> str:
    """Lower case, German letters spelled out, accents gone, apostrophes closed up."""
    text = unicodedata.normalize("NFKC", name).lower().translate(_LETTERS)
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return re.sub(r"['’`´]", "", text)


def _around_star(text: str) -> str:
    """A processor's star is followed by the merchant, any other star by a code of this one payment."""
    found = _STAR.match(text)
    if not found:
        return text
    before, after = found.groups()
    words = _TOKEN.findall(before)
    if words and words[0] in _PROCESSORS and _TOKEN.search(after):
        return after
    extra = _TOKEN.match(after)
    return f"{before} {extra.group()}" if extra and extra.group().isalpha() and len(extra.group()) > 2 else before


def _name_words(text: str) -> list[str]:
    """The words up to the first number behind a word: what follows a branch number, date or card is no name."""
    words = _TOKEN.findall(text)
    kept: list[str] = []
    is_prefixed = False
    for word in words:
        has_digit = any(c.isdigit() for c in word)
        if not kept and word in _LEADING:
            is_prefixed = True
        elif has_digit and any(not w.isdigit() for w in kept):
            break
        elif not (has_digit and is_prefixed and word.isdigit()):
            kept.append(word)
    return kept or words


def _without_edges(words: list[str]) -> list[str]:
    words = words[:_WORDS]
    while len(words) > 1 and words[-1] in _TRAILING:
        words = words[:-1]
    return words
