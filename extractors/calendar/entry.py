"""Entry: one VEVENT or VTODO, read and typed; when it repeats and what its exceptions are is not yet worked out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from typing import Literal, TypeVar

from extractors.calendar.component import Component
from extractors.calendar.details import Details, read_details
from extractors.calendar.lines import Line
from extractors.calendar.moment import Length, Moment, parse_length, parse_moment
from extractors.calendar.rule import Rule, parse_rule
from extractors.calendar.zones import Zones
from schemas.errors import PoisonError
from schemas.ids import content_hash

Kind = Literal["event", "todo"]

UID_CAP = 255
DATES_CAP = 4_000
"""RDATEs and EXDATEs of one entry."""

_NEVER = datetime(1, 1, 1, tzinfo=UTC)
_CENTURY = timedelta(days=36_525)
_DAY = timedelta(days=1)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, order=True)
class Rank:
    """Of two versions of one thing, the one with the higher rank is true."""

    sequence: int
    stamped_at: datetime
    modified_at: datetime


NO_RANK = Rank(0, _NEVER, _NEVER)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an entry stands: ``source`` is the file, ``calendar`` its title, ``method`` its iTIP method."""

    source: str = ""
    calendar: str = ""
    method: str = ""


@dataclass(frozen=True, slots=True)
class Extra:
    """One RDATE. ``end`` is None unless it was a PERIOD, and never before ``start``."""

    start: Moment
    end: Moment | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """``start`` is DTSTART, or DUE for a to-do without one. ``end``: DTEND or DUE as a moment, DURATION as a length.

    ``recurrence``: the original start of the occurrence that this entry replaces. ``broken_rule``: why the entry
    cannot repeat although it should. ``notes``: what was assumed about it.
    """

    kind: Kind
    uid: str
    origin: Origin
    line: int
    rank: Rank
    start: Moment
    end: Moment | Length
    has_due: bool
    rules: tuple[Rule, ...]
    extras: tuple[Extra, ...]
    exceptions: tuple[Moment, ...]
    recurrence: Moment | None
    and_future: bool
    details: Details
    notes: tuple[str, ...]
    broken_rule: str = ""


def read_entry(component: Component, zones: Zones, origin: Origin) -> Entry | None:
    """None for a to-do that has no date. PoisonError(no_start, bad_date) where there is nothing to put on a day."""
    return _Reader(component, zones).read(origin)


class _Reader:
    def __init__(self, component: Component, zones: Zones) -> None:
        self.component = component
        self.zones = zones
        self.notes: list[str] = []

    def read(self, origin: Origin) -> Entry | None:
        kind: Kind = "todo" if self.component.name == "VTODO" else "event"
        due = self._moment("DUE") if kind == "todo" else None
        start = self._moment("DTSTART") or due
        if start is None:
            if kind == "todo":
                return None
            raise PoisonError("an entry without DTSTART", code="no_start")
        recurrence = self._moment("RECURRENCE-ID")
        rules, broken_rule = self._rules(start) if recurrence is None else ((), "")
        details = read_details(self.component, origin.method)
        end = self._end(start, due)
        if self._is_whole_day(start, end):
            start, end = Moment(start.wall, None), Length(days=(_wall_length(start, end) // _DAY))
        return Entry(
            kind=kind,
            uid=self._uid(start, details),
            origin=origin,
            line=self.component.line,
            rank=self._rank(),
            start=start,
            end=end,
            has_due=due is not None or (kind == "todo" and bool(self.component.value("DURATION"))),
            rules=rules,
            extras=tuple(self._listed("RDATE", self._extra)) if recurrence is None else (),
            exceptions=tuple(self._listed("EXDATE", self._parse)) if recurrence is None else (),
            recurrence=recurrence,
            and_future="THISANDFUTURE" in self._param("RECURRENCE-ID", "RANGE").upper(),
            details=details,
            notes=tuple(dict.fromkeys(self.notes)),
            broken_rule=broken_rule,
        )

    def _param(self, name: str, param: str) -> str:
        line = self.component.first(name)
        return line.params.get(param, "") if line else ""

    def _uid(self, start: Moment, details: Details) -> str:
        uid = self.component.value("UID").strip()
        if not uid:
            self.notes.append("no UID: known by its start and title")
            return "no-uid-" + content_hash(start.iso(), details.summary)[:24]
        return uid if len(uid) <= UID_CAP else f"{uid[:200]}~{content_hash(uid)[:24]}"

    def _rank(self) -> Rank:
        return Rank(sequence_of(self.component), self._instant("DTSTAMP"), self._instant("LAST-MODIFIED"))

    def _instant(self, name: str) -> datetime:
        try:
            moment = self._moment(name)
        except PoisonError:
            return _NEVER
        return moment.instant(self.zones.floating) if moment else _NEVER

    def _moment(self, name: str) -> Moment | None:
        line = self.component.first(name)
        return self._parse(line, line.value) if line and line.value else None

    def _parse(self, line: Line, text: str) -> Moment:
        tzid = line.params.get("TZID")
        if not tzid:
            return parse_moment(text, self.zones.floating, floating=not self.zones.is_declared)
        resolved = self.zones.named(tzid)
        moment = parse_moment(text, resolved.zone, floating=False)
        if resolved.note and not moment.is_date:
            self.notes.append(resolved.note)
        return moment

    def _tolerated(self, name: str) -> Moment | None:
        try:
            return self._moment(name)
        except PoisonError as error:
            self.notes.append(f"{name} left out: {error.message}")
            return None

    def _rules(self, start: Moment) -> tuple[tuple[Rule, ...], str]:
        if self.component.first("EXRULE"):
            self.notes.append("EXRULE is not understood: there may be dates that were excepted")
        zone = start.zone or self.zones.floating
        try:
            rules = [parse_rule(line.value, zone, floating=start.floating) for line in self.component.all("RRULE")]
        except PoisonError as error:
            return (), error.message
        if start.is_date and any(rule.freq in ("HOURLY", "MINUTELY", "SECONDLY") for rule in rules):
            return (), "the repetition rule is wrong: a whole day cannot repeat within the day"
        if start.is_date:
            rules = [replace(rule, by_hour=(), by_minute=(), by_second=()) for rule in rules]
        return tuple(rules[:4]), ""

    def _end(self, start: Moment, due: Moment | None) -> Moment | Length:
        """Never before the start; a date lasts at least one day. A to-do's DUE is a deadline and stays as it is."""
        if due is not None:
            return due
        end = self._tolerated("DTEND")
        if end is not None:
            return self._fitting(start, end)
        length = self._length()
        return Length(days=max(1, -(-length.span // _DAY))) if start.is_date else length

    def _is_whole_day(self, start: Moment, end: Moment | Length) -> bool:
        """Outlook writes whole days as wall times from midnight to midnight, with a mark."""
        is_marked = self.component.value("X-MICROSOFT-CDO-ALLDAYEVENT").upper() == "TRUE"
        length = _wall_length(start, end)
        return (
            is_marked
            and start.zone is not None
            and start.wall.time() == time()
            and length >= _DAY
            and not length % _DAY
        )

    def _length(self) -> Length:
        try:
            length = parse_length(self.component.value("DURATION") or "PT0S")
        except PoisonError as error:
            self.notes.append(f"DURATION left out: {error.message}")
            return Length()
        if length.span < timedelta(0):
            self.notes.append("the duration is negative: taken as none")
            return Length()
        return length

    def _fitting(self, start: Moment, end: Moment) -> Moment | Length:
        if end.wall - start.wall > _CENTURY:
            self.notes.append("longer than a century: cut")
            return Length(days=_CENTURY.days)
        if start.is_date:
            return Length(days=max(1, -(-(end.wall - start.wall) // _DAY)))
        if end.is_date or (end.floating and not start.floating):
            end = start.at(end.wall)
        if end.instant(self.zones.floating) >= start.instant(self.zones.floating):
            return end
        if end.zone != start.zone or end.wall < start.wall:  # otherwise the clock change has eaten it
            self.notes.append("the end is before the start: taken as the start")
        return Length()

    def _extra(self, line: Line, text: str) -> Extra:
        first, _, last = text.partition("/")
        start = self._parse(line, first)
        if not last or start.is_date:
            return Extra(start)
        end = parse_length(last).after(start) if last[0] in "Pp+-" else self._parse(line, last)
        return Extra(start, end if end.instant(self.zones.floating) > start.instant(self.zones.floating) else start)

    def _listed(self, name: str, read: Callable[[Line, str], T]) -> Iterator[T]:
        """The items of a list that can be read; the others are noted."""
        texts = [(line, text.strip()) for line in self.component.all(name) for text in line.value.split(",") if text]
        for line, text in texts[:DATES_CAP]:
            try:
                yield read(line, text)
            except PoisonError as error:
                self.notes.append(f"{name} left out: {error.message}")


def _wall_length(start: Moment, end: Moment | Length) -> timedelta:
    return end.span if isinstance(end, Length) else end.wall - start.wall


def sequence_of(component: Component) -> int:
    """0 where there is none, or none that is a number."""
    try:
        return max(-1, min(int(component.value("SEQUENCE")[:12]), 2**31 - 1))
    except ValueError:
        return 0
