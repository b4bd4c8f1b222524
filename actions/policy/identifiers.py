"""What in a text makes its reader go, call, write or pay somewhere: web and mail addresses, account and telephone
numbers, postal addresses. Those from outside are taken out of what leaves (rule 5 of the policy)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from actions import nominal
from actions.plain import TOP, clean_lines
from actions.policy.destination import one_spelling

Kind = Literal["web address", "mail address", "account number", "telephone number", "postal address"]

_DOTS = r"(?:\.|\s?[\[({]\s?(?:dot|punkt|point|punto|\.)\s?[\])}]\s?)"
_AT = r"(?:@|\s?[\[({]\s?(?:at|arobase|arroba|@)\s?[\])}]\s?)"
_ADDRESS = re.compile(r"[/@]|\.[^\W\d]")
"""What numbers and streets do not have: a slash, an at, or a letter right after a dot."""
_BRACKETS = re.compile(r"[\[\](){}<>]")
_PLACE = re.compile(r"(?:\w+:/*)?[^/?#]*")
_STREET = (
    r"(?:street|road|avenue|lane|square|rue|avenue|boulevard|place|calle|avenida|plaza|via|piazza|stra(?:ße|sse)"
    r"|str\.|weg|platz|allee|gasse)"
)
_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("mail address", re.compile(rf"[\w.+%-]{{1,64}}{_AT}[\w-]{{1,63}}(?:{_DOTS}[\w-]{{1,63}}){{1,8}}", re.IGNORECASE)),
    (
        "web address",
        re.compile(
            rf"(?:h(?:tt|xx)ps?|ftp|data|javascript|sepa|upi|bitcoin)\s?:\s?/{{0,2}}[^\s<>\"“”]+|www{_DOTS}[^\s<>\"“”]+"
            rf"|\b(?:[\w-]{{1,63}}{_DOTS}){{1,8}}(?:[a-z]{{2}}|{TOP}|xn--[\w-]+|[a-z]{{2,18}}(?=/))\b(?:[/:?#][^\s<>\"“”]*)?",
            re.IGNORECASE,
        ),
    ),
    ("account number", re.compile(r"\b[A-Z]{2}\d{2}(?:[ -]?[A-Z0-9]){11,30}\b", re.IGNORECASE)),
    ("account number", re.compile(r"\b(?:bc1[a-z0-9]{20,60}|[13][A-HJ-NP-Za-km-z1-9]{25,34}|0x[0-9a-fA-F]{40})\b")),
    ("telephone number", re.compile(r"(?<![\w.,])(?:\+|00|\(?0)\d?(?:[\s()/.-]{0,3}\d){6,14}(?![\w])")),
    (
        "postal address",
        re.compile(
            rf"\b[\w.-]{{0,40}}{_STREET}\s+\d{{1,4}}\s?[a-z]?\b(?:,?\s+\d{{4,5}}\s+\w+)?"
            rf"|\b\d{{1,4}},?\s+(?:[\w.'-]{{1,40}}\s+){{0,3}}{_STREET}\b(?:[\w\s,'-]{{0,20}}\d{{5}}\s+\w+)?",
            re.IGNORECASE,
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Identifier:
    kind: Kind
    text: str
    start: int
    end: int

    @property
    def canonical(self) -> str:
        return canonical(self.text)


def canonical(text: str) -> str:
    """What two spellings of one identifier share: no white space, no brackets around dots. In numbers and streets no
    case and no hyphens either, which make another host, another path or another mailbox of an address."""
    bare = re.sub(r"\s", "", unicodedata.normalize("NFKC", text)).rstrip(".,;:!?)]}>")
    if not _ADDRESS.search(bare):
        return _BRACKETS.sub("", bare).casefold().replace("-", "")
    place = _PLACE.match(bare)
    assert place is not None  # it may be empty
    address = f"{_BRACKETS.sub('', place[0])}{bare[place.end() :]}"
    return address.lower() if "@" in address and "/" not in address else one_spelling(address)


def plain(text: str) -> str:
    """One spelling for what looks the same: full-width letters, hidden characters; this form is searched and sent."""
    return clean_lines(unicodedata.normalize("NFKC", text), 20_000)


def find(text: str) -> list[Identifier]:
    """From left to right; where two overlap, the kind that is named first in this module."""
    return _apart(_candidates(text))


def _candidates(text: str) -> Iterator[Identifier]:
    for kind, pattern in _PATTERNS:
        match = pattern.search(text)
        while match:
            whole = _iban(match[0]) if kind == "account number" else match[0]
            end = match.start() + len(whole)
            yield Identifier(kind, whole, match.start(), end)
            match = pattern.search(text, end)


def _apart(candidates: Iterable[Identifier]) -> list[Identifier]:
    found: list[Identifier] = []
    for one in candidates:
        if all(one.end <= other.start or one.start >= other.end for other in found):
            found.append(one)
    return sorted(found, key=lambda one: one.start)


def strip(text: str, allowed: Collection[str] = ()) -> tuple[str, tuple[Identifier, ...]]:
    """The text with a mark in place of each identifier whose canonical form is not ``allowed``, and what was taken
    out. Until nothing is found any more: what stood on both sides of one must not make another."""
    taken: list[Identifier] = []
    kept, ends = plain(text), False
    while not ends:
        kept, gone = _once(kept, allowed)
        taken += gone
        ends = not gone
    return kept, tuple(taken)


def _iban(text: str) -> str:
    """Without the words after it: up to where its check digits fit, or else to its last word with a digit."""
    words = text.split(" ")
    ends = [" ".join(words[:count]) for count in range(len(words), 0, -1)]
    fits = next((end for end in ends if not nominal.fault("Iban", end.replace("-", ""))), "")
    return fits or next((end for end in ends if any(c.isdigit() for c in end.split(" ")[-1])), text)


def _once(text: str, allowed: Collection[str]) -> tuple[str, list[Identifier]]:
    """What lies wholly within an allowed one (digits of an account number that look like a telephone's) is a part of
    it; what only overlaps one goes."""
    candidates = list(_candidates(text))
    fine = [one for one in candidates if one.canonical in allowed]
    gone = _apart(
        one for one in candidates if not any(other.start <= one.start and one.end <= other.end for other in fine)
    )
    return "".join(_pieces(text, gone)), gone


def _pieces(text: str, gone: list[Identifier]) -> Iterator[str]:
    at = 0
    for one in gone:
        yield f"{text[at : one.start]}[{one.kind} removed]"
        at = one.end
    yield text[at:]
