"""Nominal types: what an argument *is* (an Iban, a FileName), beyond its JSON type; the planner's references and the
policy's sinks both rest on them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal
from urllib.parse import urlsplit

from pydantic import ValidationError

from actions.plain import is_hidden
from schemas.model import Json
from schemas.money import Money

Sink = Literal["destination", "amount", "url", "path", "identity", "target", "content", "command", "query"]
"""What an argument decides about the effect; the policy is strict for all but ``content``."""


@dataclass(frozen=True, slots=True)
class Nominal:
    """``fault`` says what is wrong with a JSON value ("" if nothing); ``sink`` is the role that the type has wherever
    a manifest does not name another; a value may stand where one of ``widens`` is wanted."""

    name: str
    fault: Callable[[Json], str]
    sink: Sink | None = None
    widens: frozenset[str] = frozenset()


_EMAIL = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)+")
_IBAN = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}")
_FILE_NAME = re.compile(r"[^\x00-\x1f/\\:*?\"<>|]{1,150}")


def _text(value: Json) -> str:
    return "" if isinstance(value, str) else "must be text"


def _email(value: Json) -> str:
    whole = isinstance(value, str) and len(value) <= 320 and _EMAIL.fullmatch(value)
    return "" if whole else "must be a mail address such as office@example.org"


def _url(value: Json) -> str:
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
    except ValueError:
        parts = None
    return "" if parts and parts.scheme in ("http", "https") and parts.hostname else "must be an http(s) URL"


def _file_name(value: Json) -> str:
    plain = isinstance(value, str) and _FILE_NAME.fullmatch(value) and not value.startswith(".")
    if not plain or value != str(value).strip():
        return "must be a bare file name without folders"
    return "must not hold characters that cannot be seen" if any(is_hidden(c) for c in str(value)) else ""


def _file_path(value: Json) -> str:
    return "" if isinstance(value, str) and value and "\x00" not in value else "must be a file path"


def _date(value: Json) -> str:
    try:
        date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        return "must be a date such as 2025-03-31"
    return ""


def _datetime(value: Json) -> str:
    try:
        aware = datetime.fromisoformat(value if isinstance(value, str) else "").tzinfo is not None
    except ValueError:
        aware = False
    return "" if aware else "must be an instant with its offset, such as 2025-03-31T09:00:00+00:00"


def _money(value: Json) -> str:
    try:
        Money.model_validate(value)
    except ValidationError:
        return 'must be money such as {"amount": "82.50", "currency": "EUR"}'
    return ""


def _iban(value: Json) -> str:
    compact = value.replace(" ", "").upper() if isinstance(value, str) else ""
    if not _IBAN.fullmatch(compact):
        return "must be an IBAN"
    digits = "".join(str(int(c, 36)) for c in compact[4:] + compact[:4])
    return "" if int(digits) % 97 == 1 else "is not an IBAN: the check digits do not fit"


_BIC = re.compile(r"[A-Z]{4}[A-Z]{2}[A-Z0-9]{2}([A-Z0-9]{3})?")
_PHONE = re.compile(r"\+?[0-9][0-9 ()/.-]{2,30}")


def _bic(value: Json) -> str:
    whole = isinstance(value, str) and _BIC.fullmatch(value.replace(" ", "").upper())
    return "" if whole else "must be a BIC of 8 or 11 characters"


def _phone(value: Json) -> str:
    return "" if isinstance(value, str) and _PHONE.fullmatch(value) else "must be a telephone number"


def _minutes(value: Json) -> str:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 31 * 24 * 60
    return "" if good else "must be minutes, more than 0 and at most those of a month"


def _word_of(*words: str) -> Callable[[Json], str]:
    """One of a few words."""
    return lambda value: "" if value in words else f"must be one of {', '.join(words)}"


def _number(value: Json) -> str:
    return "" if isinstance(value, int | float) and not isinstance(value, bool) else "must be a number"


def _bool(value: Json) -> str:
    return "" if isinstance(value, bool) else "must be true or false"


_AS_TEXT = frozenset({"Text"})

NOMINALS: dict[str, Nominal] = {
    n.name: n
    for n in (
        Nominal("Text", _text),
        Nominal("Query", _text, sink="query"),
        Nominal("Email", _email, sink="destination", widens=_AS_TEXT),
        Nominal("Url", _url, sink="url", widens=_AS_TEXT),
        Nominal("FileName", _file_name, sink="path", widens=_AS_TEXT),
        Nominal("FilePath", _file_path, sink="path", widens=_AS_TEXT),
        Nominal("Date", _date, widens=_AS_TEXT),
        Nominal("DateTime", _datetime, widens=_AS_TEXT),
        Nominal("Days", _number, widens=frozenset({"Number"})),
        Nominal("Money", _money, sink="amount"),
        Nominal("Iban", _iban, sink="destination", widens=_AS_TEXT),
        Nominal("AccountId", _text, sink="identity"),
        Nominal("MessageId", _text, sink="target"),
        Nominal("EventId", _text, sink="target"),
        Nominal("Phone", _phone, sink="destination", widens=_AS_TEXT),
        Nominal("Bic", _bic, sink="destination", widens=_AS_TEXT),
        Nominal("PayeeId", _text, sink="destination"),
        Nominal("ContactId", _text, sink="target"),
        Nominal("PaymentId", _text, sink="target", widens=_AS_TEXT),
        Nominal("TaskId", _text, sink="target"),
        Nominal("Minutes", _minutes, widens=frozenset({"Number"})),
        Nominal("Answer", _word_of("accepted", "declined", "tentative", "needs-action"), widens=_AS_TEXT),
        Nominal("TaskStatus", _word_of("needs-action", "in-process", "completed", "cancelled"), widens=_AS_TEXT),
        Nominal("Bool", _bool),
        Nominal("Number", _number),
    )
}


def fault(type_: str, value: Json) -> str:
    """What is wrong with ``value`` as a ``type_``; "" when nothing is."""
    nominal = NOMINALS.get(type_)
    return nominal.fault(value) if nominal else f"has the unknown type {type_!r}"


def fits(given: str, wanted: str) -> bool:
    """May a value of type ``given`` stand where ``wanted`` is asked for?"""
    return given == wanted or (given in NOMINALS and wanted in NOMINALS[given].widens)


def display(type_: str, value: Json) -> str:
    """A value in plain words, as templates and proposals print it."""
    match type_, value:
        case _, None:
            return ""
        case "Money", {"amount": str(amount), "currency": str(currency)}:
            return f"{amount} {currency}"
        case "Date", str(text):
            return _day(date.fromisoformat(text))
        case "DateTime", str(text):
            moment = datetime.fromisoformat(text)
            return f"{_day(moment.date())} {moment:%H:%M}"
        case "Iban", str(text):
            compact = text.replace(" ", "").upper()
            return " ".join(compact[i : i + 4] for i in range(0, len(compact), 4))
        case "Bool", bool(flag):
            return "yes" if flag else "no"
    return str(value)


_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip


def _day(day: date) -> str:
    """Independent of the process's locale."""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
