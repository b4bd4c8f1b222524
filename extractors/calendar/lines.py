"""Content lines: the bytes of an iCalendar file, unfolded, decoded and split into name, parameters and value."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

LINE_CAP = 65_536
"""Bytes of one unfolded line that are read; the rest (an attachment, an attack) is cut."""

WANTED = frozenset({
    "BEGIN", "END", "UID", "DTSTAMP", "DTSTART", "DTEND",
    "DUE", "DURATION", "RRULE", "EXRULE", "RDATE", "EXDATE", "RECURRENCE-ID",
    "SEQUENCE", "SUMMARY", "LOCATION", "DESCRIPTION", "STATUS", "ORGANIZER",
    "ATTENDEE", "TRANSP", "CATEGORIES", "URL", "CREATED", "LAST-MODIFIED",
    "COMPLETED", "METHOD", "CALSCALE", "X-WR-TIMEZONE", "X-WR-CALNAME",
    "X-MICROSOFT-CDO-BUSYSTATUS", "X-MICROSOFT-CDO-ALLDAYEVENT",
    "TZID", "TZOFFSETFROM", "TZOFFSETTO", "X-LIC-LOCATION",
})  # fmt: skip
"""Names that somebody asks for. All others are dropped unread: most bytes of a hostile file are in them."""

_DATED = frozenset({"DTSTART", "DTEND", "DUE", "RDATE", "EXDATE", "RECURRENCE-ID"})
_FOLD = b"\0"
_NAME = re.compile(r"[A-Za-z0-9-]{1,60}")
_DATE_LIKE = re.compile(r"\s*\d{4}")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029]")
_CARET = re.compile(r"\^[n'^]")
_CARETS = {"^n": "\n", "^'": '"', "^^": "^"}


@dataclass(frozen=True, slots=True)
class Line:
    """``number`` is the first line of it in the file. ``params`` have upper-case names and unquoted values."""

    number: int
    name: str
    params: dict[str, str]
    value: str


def content_lines(raw: bytes) -> Iterator[Line]:
    """The wanted lines. What is no content line at all is left out.

    Lines are unfolded as bytes, because writers cut inside of a character, and decoded one by one, so that a line
    in another charset (taken for cp1252) spoils only itself.
    """
    number = 1
    for line in _unfold(raw):
        text = _decode(line.replace(_FOLD, b"")[:LINE_CAP])
        text = text if text.isprintable() else _CONTROL.sub("", text)
        found = _NAME.match(text)
        if found and (name := found[0].upper()) in WANTED and text[found.end() : found.end() + 1] in (":", ";"):
            yield _split(number, name, text[found.end() :])
        number += 1 + line.count(_FOLD)


def _unfold(raw: bytes) -> list[bytes]:
    """Each with a mark where it was folded."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raw = raw.decode("utf-16", "replace").encode()
    raw = raw.removeprefix(codecs.BOM_UTF8).replace(_FOLD, b"")
    raw = raw.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return raw.replace(b"\n ", _FOLD).replace(b"\n\t", _FOLD).split(b"\n")


def _decode(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and len(line) == LINE_CAP:
            return line.decode("utf-8", "ignore")
        return line.decode("cp1252", "replace")


def _split(number: int, name: str, rest: str) -> Line:
    colon = 0 if rest[0] == ":" else _separator(rest)
    if name in _DATED and not _DATE_LIKE.match(rest, colon + 1):
        # TZID=(UTC+01:00) Berlin without quotes: the last colon is the one before the date
        colon = rest.rfind(":")
    if colon < 0:
        return Line(number, name, {}, "")
    return Line(number, name, _params(rest[:colon]) if colon else {}, rest[colon + 1 :].strip())


def _separator(rest: str) -> int:
    """Index of the first colon outside of quotes; a quote that never closes counts as a letter."""
    at = 0
    while (colon := rest.find(":", at)) >= 0:
        quote = rest.find('"', at, colon)
        close = rest.find('"', quote + 1) if quote >= 0 else -1
        if close < 0:
            return colon
        at = close + 1
    return -1


def _params(text: str) -> dict[str, str]:
    params: dict[str, str] = {}
    for part in _parts(text):
        key, equals, value = part.partition("=")
        if equals:
            plain = value.strip().strip('"')
            params.setdefault(key.strip().upper(), _CARET.sub(lambda found: _CARETS[found[0]], plain))
    return params


def _parts(text: str) -> list[str]:
    """Split at semicolons outside of quotes."""
    if '"' not in text:
        return text.split(";")
    pieces: list[str] = [""]
    for index, stretch in enumerate(text.split('"')):
        if index % 2:
            pieces[-1] += f'"{stretch}"'
        else:
            first, *others = stretch.split(";")
            pieces[-1] += first
            pieces += others
    return pieces
