"""Field 86 of MT940: who and why, in the structured forms of German and Dutch banks or as plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from extractors.bank.iban import iban

_STRUCTURED = re.compile(r"(\d{3})([^\w\s])\d\d")
_SEPA = re.compile(r"(EREF|KREF|MREF|CRED|DEBT|COAM|OAMT|SVWZ|ABWA|ABWE|IBAN|BIC|PURP|RREF|DDAT)\+")
_SEPA_COLON = re.compile(r"\b(EREF|KREF|MREF|CRED|SVWZ): ?")
_SLASHED = re.compile(
    r"/(TRTP|IBAN|BIC|NAME|REMI|EREF|MARF|CSID|CNTP|ORDP|BENM|RTRN|PREF|PURP|ISDT|ULTC|ULTD|ADDR|SVCL|TRCD|NRTX"
    r"|OCMT|CHGS|EXCH|FEES|USTD|STRD)(?=/)"
)
_LINE = 65
"""Characters of a full line: what is broken there continues without a space."""


@dataclass(frozen=True, slots=True)
class Details:
    name: str = ""
    iban: str | None = None
    purpose: str = ""
    booking_text: str = ""
    end_to_end_id: str = ""
    mandate_id: str = ""
    creditor_id: str = ""


def details(text: str) -> Details:
    """Never fails: what has no structure is all purpose."""
    head = _STRUCTURED.match(text.lstrip())
    if head:
        return _german(text.lstrip()[3:], head.group(2))
    if text.lstrip().startswith("/") and _SLASHED.search(text):
        return _dutch(_unwrapped(text))
    return _sepa(_unwrapped(text), Details())


def _german(text: str, mark: str) -> Details:
    """Sub-fields are cut at 27 characters, anywhere in a word, and so are lines: all join without a space."""
    fields: dict[str, str] = {}
    for part in re.split(re.escape(mark) + r"(?=\d\d)", text.replace("\n", "")):
        fields[part[:2]] = fields.get(part[:2], "") + part[2:]
    words = "".join(fields.get(str(code), "") for code in (*range(20, 30), *range(60, 64)))
    known = Details(
        name=fields.get("32", "") + fields.get("33", ""),
        iban=iban(fields.get("31")),
        booking_text=fields.get("00", ""),
    )
    return _sepa(words, known)


def _sepa(words: str, known: Details) -> Details:
    """Takes the SEPA keywords (EREF+ ... SVWZ+) out of the purpose; what stands before the first is purpose too."""
    pattern = _SEPA if _SEPA.search(words) else _SEPA_COLON
    parts = pattern.split(words)
    found: dict[str, str] = {}
    for code, value in zip(parts[1::2], parts[2::2], strict=True):
        found.setdefault(code, value.strip())
    return Details(
        name=known.name or found.get("ABWE", "") or found.get("ABWA", ""),
        iban=known.iban or iban(found.get("IBAN")),
        purpose=" ".join(part for part in (parts[0].strip(), found.get("SVWZ", "")) if part),
        booking_text=known.booking_text,
        end_to_end_id=found.get("EREF", ""),
        mandate_id=found.get("MREF", ""),
        creditor_id=found.get("CRED", ""),
    )


def _dutch(text: str) -> Details:
    """``/CODE/value/CODE/value``; CNTP holds account, bank, name and city between slashes of its own."""
    parts = _SLASHED.split(text)
    found: dict[str, str] = {}
    for code, value in zip(parts[1::2], parts[2::2], strict=True):
        found[code] = found.get(code) or value.strip("/ ")
    party = (found.get("CNTP", "") + "////").split("/")
    return Details(
        name=found.get("NAME") or party[2],
        iban=iban(found.get("IBAN")) or iban(party[0]),
        purpose=found.get("REMI") or found.get("USTD") or found.get("STRD") or "",
        booking_text=found.get("TRTP", ""),
        end_to_end_id=found.get("EREF", ""),
        mandate_id=found.get("MARF", ""),
        creditor_id=found.get("CSID", ""),
    )


def _unwrapped(text: str) -> str:
    joined = ""
    for line in text.split("\n"):
        joined += line if len(line) >= _LINE else line + " "
    return joined.strip()
