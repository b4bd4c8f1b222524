"""Zones: what a TZID means in one calendar. Nothing is remembered from one calendar to the next.

A name that the world knows wins over the rules that the file gives for it, because exporters often write broken ones;
a name that only this file knows means the file's own VTIMEZONE. What nobody knows is never taken for UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from icalendar.timezone.windows_to_olson import WINDOWS_TO_OLSON

from extractors.calendar.component import Component
from extractors.calendar.moment import UTC_ZONE, Zone
from extractors.calendar.vtimezone import block_zone

_UTC_NAMES = frozenset("utc z gmt uct zulu universal etc/utc etc/gmt etc/zulu tzone://microsoft/utc".split())  # noqa: SIM905
_MACHINE_NAMES = frozenset({"localtime", "factory", "posixrules"})
"""Zone files that mean something else on each machine, or nothing."""

_OFFSET = re.compile(r"\(?(?:UTC|GMT)?\s*([+-])([0-9]{1,2})(?:[:.]?([0-9]{2}))?\)?\s*", re.IGNORECASE)
_UTC_PREFIX = re.compile(r"\((?:UTC|GMT)\)\s*", re.IGNORECASE)
_PARENTHESES = re.compile(r"\s*\([^()]{0,60}\)")
_SUFFIX = re.compile(r"\s+(?:standard |daylight |summer )?time(?:\s+[0-9]{1,2})?\Z", re.IGNORECASE)
_SPOKEN = {
    "alaska": "America/Anchorage",
    "arizona": "America/Phoenix",
    "hawaii": "Pacific/Honolulu",
    "indiana": "America/Indiana/Indianapolis",
    "eastern european": "Europe/Athens",
    "western european": "Europe/Lisbon",
    "west europe": "Europe/Berlin",
    "india": "Asia/Kolkata",
    "japan": "Asia/Tokyo",
}
_NAME_CAP = 200


@dataclass(frozen=True, slots=True)
class Resolved:
    """``note`` says what was assumed; empty where the name left no doubt."""

    zone: Zone
    note: str = ""


class Zones:
    """The zones of one VCALENDAR.

    ``floating``: what a time without a zone means there. ``is_declared``: the calendar says so itself; otherwise such
    a time is the owner's, wherever the owner is.
    """

    def __init__(self, floating: Zone, blocks: Sequence[Component] = (), *, is_declared: bool = False) -> None:
        self.floating = floating
        self.is_declared = is_declared
        self._blocks = {block.value("TZID").strip().strip('"'): block for block in reversed(blocks)}
        self._known: dict[str, Resolved] = {}

    def named(self, tzid: str) -> Resolved:
        name = tzid.strip().strip('"')[:_NAME_CAP]
        if name not in self._known:
            self._known[name] = self._resolve(name)
        return self._known[name]

    def _resolve(self, name: str) -> Resolved:
        zone = _well_known(name) or self._from_block(name) or (_iana(name) if "/" not in name else None)
        return Resolved(zone) if zone else self._guess(name)

    def _from_block(self, name: str) -> Zone | None:
        block = self._blocks.get(name)
        if block is None:
            return None
        if place := _iana(block.value("X-LIC-LOCATION")):
            return place
        tz = block_zone(block)
        return Zone(name, tz) if tz else None

    def _guess(self, name: str) -> Resolved:
        offset, rest = _stated_offset(name)
        for key in _spoken(rest):
            if (zone := _iana(key)) and (offset is None or offset == _standard_offset(key)):
                return Resolved(zone)
        if offset is None:
            return Resolved(self.floating, f"unknown time zone {name!r}: read as {self.floating.name}")
        fixed = Zone(f"UTC{_sign(offset)}", timezone(offset))
        return Resolved(fixed, f"unknown time zone {name!r}: read as {fixed.name} all year" if rest else "")


def iana_zone(name: str) -> Zone | None:
    """The zone that a calendar names for its own floating times (X-WR-TIMEZONE), if the world knows it."""
    return _well_known(name) or _iana(name)


def _well_known(name: str) -> Zone | None:
    parts = name.strip("/").split("/")
    if name.casefold() in _UTC_NAMES or parts[-1].casefold() in _UTC_NAMES:
        return UTC_ZONE
    suffixes = ("/".join(parts[at:]) for at in range(min(len(parts) - 1, 8)))
    found = next(filter(None, map(_iana, suffixes)), None)
    return found or _windows(name) or _windows(re.sub(r"\s+[0-9]{1,2}\Z", "", name))


def _windows(name: str) -> Zone | None:
    key = _windows_names().get(name.casefold())
    return _iana(key) if key else None


def _iana(name: str) -> Zone | None:
    key = _iana_names().get(name.strip().replace(" ", "_").casefold())
    return Zone(key, ZoneInfo(key)) if key else None


@cache
def _iana_names() -> dict[str, str]:
    return {name.casefold(): name for name in sorted(available_timezones()) if name.casefold() not in _MACHINE_NAMES}


@cache
def _windows_names() -> dict[str, str]:
    return {name.casefold(): key for name, key in WINDOWS_TO_OLSON.items()}


@cache
def _cities() -> dict[str, str]:
    """The last part of each name: 'amsterdam' is Europe/Amsterdam. Area names win over their old one-word aliases."""
    names = (name for name in sorted(available_timezones(), reverse=True) if "/" in name and not name.startswith("Etc"))
    return {name.rpartition("/")[2].replace("_", " ").casefold(): name for name in names}


def _stated_offset(name: str) -> tuple[timedelta | None, str]:
    """'(UTC+01:00) Amsterdam, Berlin' is one hour and 'Amsterdam, Berlin'; no sign, no offset."""
    if found := _UTC_PREFIX.match(name):
        return timedelta(0), name[found.end() :]
    found = _OFFSET.match(name)
    if not found or int(found[2]) > 14 or int(found[3] or 0) > 59:
        return None, name
    size = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
    return (-size if found[1] == "-" else size), name[found.end() :]


def _spoken(text: str) -> Iterator[str]:
    """IANA names that a display name may mean: by its stem ('Eastern Time (US & Canada)'), then by its cities."""
    stem = _SUFFIX.sub("", _PARENTHESES.sub("", text)).strip().casefold()
    for windows in (stem, f"{stem} standard time"):
        if key := _windows_names().get(windows) or _SPOKEN.get(windows):
            yield key
    for city in re.split(r"[,;:]", text):
        if key := _cities().get(city.strip().casefold()):
            yield key


def _standard_offset(key: str) -> timedelta | None:
    offsets = (ZoneInfo(key).utcoffset(datetime(2026, month, 1, tzinfo=UTC)) for month in (1, 7))
    return min(offset for offset in offsets if offset is not None)


def _sign(offset: timedelta) -> str:
    minutes = round(offset.total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
