"""FETCH answers as values: what servers mostly say is read at once, everything else by IMAPClient's parser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from imapclient.response_parser import parse_fetch_response

from extractors.imap.uids import LARGEST
from extractors.imap.wire import Said

Items = Mapping[bytes, Any]
"""By name in upper case: UID, FLAGS (a tuple), RFC822.SIZE, INTERNALDATE, BODY[]."""

_VALUE = rb'[0-9]+|"[^"\\]*"|\([^()"{}]*\)'
_ITEM = re.compile(rb"([A-Z][A-Z0-9.]*) (" + _VALUE + rb")")
_LINE = re.compile(rb"[0-9]+ \((?:[A-Z][A-Z0-9.]* (?:" + _VALUE + rb")(?: (?=[A-Z])|(?=\)$)))+\)")
_BODY = re.compile(rb"[0-9]+ \(UID ([0-9]+) BODY\[\] \{[0-9]+\}")
_DATE = re.compile(
    rb"([ 0-9]?[0-9])-([A-Z][a-z]{2})-([0-9]{4}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([+-])([0-9]{2})([0-9]{2})"
)
_MONTHS = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")


def fetched(said: Sequence[Said]) -> Iterator[tuple[int, Items]]:
    """UID and items of each answer that has a UID. Raises what IMAPClient's parser raises."""
    return ((uid, items) for uid, items in _read(said) if 0 < uid <= LARGEST)


def _read(said: Sequence[Said]) -> Iterator[tuple[int, Items]]:
    place = 0
    while place < len(said):
        line = said[place]
        following = said[place + 1] if place + 1 < len(said) else None
        if isinstance(line, bytes) and _LINE.fullmatch(line):
            found = dict(_ITEM.findall(line, line.index(b"(")))
            if b"UID" in found:
                yield int(found[b"UID"]), {name: _value(name, value) for name, value in found.items()}
            place += 1
        elif isinstance(line, tuple) and following == b")" and (body := _BODY.fullmatch(line[0])):
            yield int(body[1]), {b"BODY[]": line[1]}
            place += 2
        else:
            end = _end(said, place)
            yield from _slowly(said[place:end])
            place = end


def _end(said: Sequence[Said], place: int) -> int:
    """Where the answer that begins here ends: literals are followed by the rest of their line."""
    while isinstance(said[place], tuple):
        place += 1
        if place == len(said):
            raise ValueError("an answer without its end")
    return place + 1


def _slowly(said: Sequence[Said]) -> Iterator[tuple[int, Items]]:
    for items in parse_fetch_response(list(said), normalise_times=False, uid_is_key=False).values():
        if isinstance(uid := items.get(b"UID"), int):
            yield uid, {**items, b"INTERNALDATE": _aware(items.get(b"INTERNALDATE"))}


def _value(name: bytes, value: bytes) -> Any:
    if name == b"INTERNALDATE":
        return date(value.strip(b'"'))
    if value.startswith(b"("):
        return tuple(value[1:-1].split())
    return int(value) if value.isdigit() else value.strip(b'"')


def date(text: bytes) -> datetime | None:
    """An INTERNALDATE as an instant; None for what is none."""
    match = _DATE.fullmatch(text)
    if match is None or match[2] not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(match[group]) for group in (1, 3, 4, 5, 6))
    offset = timedelta(hours=int(match[8]), minutes=int(match[9])) * (-1 if match[7] == b"-" else 1)
    try:
        moment = datetime(year, _MONTHS.index(match[2]) + 1, day, hour, minute, second, tzinfo=timezone(offset))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _aware(moment: object) -> datetime | None:
    return moment.astimezone(UTC) if isinstance(moment, datetime) and moment.tzinfo else None
