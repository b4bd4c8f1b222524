"""Series: the entries that share a UID, and the occurrences that they make together in a window.

EXDATE, RECURRENCE-ID and UNTIL name instants and are compared as instants, whatever zone they are written in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta

from extractors.calendar.entry import Entry
from extractors.calendar.moment import FIRST_YEAR, Length, Moment, Zone
from extractors.calendar.recurrence import Budget, repeats
from extractors.calendar.rule import Rule

SERIES_CAP = 1_500
"""Occurrences of one series in a window: twice a day for two years still fit."""
DENSE_CAP = 200
"""The same for what repeats by the minute or second: no person's meeting does."""
STEPS_CAP = 30_000
"""Steps of work for one series (``recurrence.Budget``)."""

_MARGIN = timedelta(hours=3)
"""More than a clock change moves a wall time."""
_SHIFT_CAP = timedelta(days=3_660)
_DAWN = datetime(FIRST_YEAR, 1, 1)  # noqa: DTZ001 - a wall time


@dataclass(frozen=True, slots=True)
class Window:
    """Instants; ``high`` is exclusive. ``owner``: whose days the dates are."""

    low: datetime
    high: datetime
    owner: Zone

    def holds(self, start: Moment, end: Moment) -> bool:
        first, last = start.instant(self.owner), end.instant(self.owner)
        return first < self.high and (last > self.low or (last <= first and first >= self.low))


@dataclass(frozen=True, slots=True)
class Dated:
    """An entry on a date. ``recurrence_id`` is None where nothing repeats."""

    entry: Entry
    start: Moment
    end: Moment
    recurrence_id: str | None
    recurring: bool
    is_cancelled: bool


@dataclass(frozen=True, slots=True)
class Expanded:
    """``is_cut``: a bound was reached, so there may be more."""

    dated: tuple[Dated, ...]
    is_cut: bool = False


def expand(entries: Sequence[Entry], window: Window, total: Budget) -> Expanded:
    """The occurrences that touch the window, in order of their start, cancelled ones among them.

    Of two versions of the master, or of one override, the higher SEQUENCE wins, then the later DTSTAMP, then the
    later in ``entries``. ``total`` is the budget that all series of a poll share.
    """
    budget = Budget(min(STEPS_CAP, max(0, total.left)))
    series = _Series(entries, window)
    found: list[Dated] = []
    for dated in series.dated(budget):
        if len(found) == series.cap:
            budget.is_spent = True
            break
        found.append(dated)
    total.spend(min(STEPS_CAP, max(0, total.left)) - max(0, budget.left))
    found.sort(key=lambda dated: dated.start.instant(window.owner))
    return Expanded(tuple(found), budget.is_spent)


class _Series:
    def __init__(self, entries: Sequence[Entry], window: Window) -> None:
        self.window = window
        self.master = _master(entries)
        self.overrides: dict[str, Entry] = {}
        for entry in sorted(entries, key=lambda entry: entry.rank):
            if entry.recurrence is not None:
                self.overrides[self._identity(entry.recurrence)] = entry
        exceptions = self.master.exceptions if self.master else ()
        self.excluded = {self._identity(moment) for moment in exceptions}
        self.excluded_days = {moment.day for moment in exceptions if moment.is_date}

    @property
    def cap(self) -> int:
        rules = self.master.rules if self.master else ()
        return DENSE_CAP if any(rule.freq in ("MINUTELY", "SECONDLY") for rule in rules) else SERIES_CAP

    def dated(self, budget: Budget) -> Iterator[Dated]:
        for key, entry in self.overrides.items():
            if not self._is_excluded(key, entry.recurrence):
                yield from self._held(entry, entry.start, _end(entry, entry.start), key)
        if self.master is not None:
            yield from self._regular(self.master, budget)

    def _regular(self, master: Entry, budget: Budget) -> Iterator[Dated]:
        lasting = self._lasting(master)
        seen = set(self.overrides)
        for original, given_end in self._originals(master, lasting, budget):
            key = self._identity(original)
            if key not in seen and not self._is_excluded(key, original):
                seen.add(key)
                entry, start = _in_force(master, lasting, original)
                yield from self._held(entry, start, given_end or _end(entry, start), key if _repeats(master) else None)

    def _held(self, entry: Entry, start: Moment, end: Moment, key: str | None) -> Iterator[Dated]:
        if self.window.holds(start, end):
            is_cancelled = self._is_cancelled(entry)
            yield Dated(self._titled(entry) if is_cancelled else entry, start, end, key, key is not None, is_cancelled)

    def _is_cancelled(self, entry: Entry) -> bool:
        master = self.master
        withdrawn = master is not None and master.details.status == "cancelled" and entry.rank <= master.rank
        return withdrawn or entry.details.status == "cancelled"

    def _titled(self, entry: Entry) -> Entry:
        """A cancellation often says no more than which date it means."""
        if entry.details.summary or self.master is None:
            return entry
        return replace(entry, details=replace(entry.details, summary=self.master.details.summary))

    def _is_excluded(self, key: str, original: Moment | None) -> bool:
        return key in self.excluded or (original is not None and original.day in self.excluded_days)

    def _identity(self, moment: Moment) -> str:
        """Equal for all ways to name one occurrence."""
        reference = self.master.start if self.master else moment
        if reference.zone is None:
            return f"{moment.wall:%Y%m%d}"
        wall = _wall(moment, reference)
        if reference.floating:
            return f"{wall:%Y%m%dT%H%M%S}"
        return f"{reference.zone.instant(wall):%Y%m%dT%H%M%SZ}"

    def _lasting(self, master: Entry) -> list[tuple[datetime, Entry]]:
        """The overrides that hold from an occurrence on, with its original wall time; the last first."""
        held = [
            (_wall(entry.recurrence, master.start), entry)
            for entry in self.overrides.values()
            if entry.and_future and entry.recurrence is not None
        ]
        near = [(wall, entry) for wall, entry in held if abs(entry.start.wall - wall) <= _SHIFT_CAP]
        return sorted(near, key=lambda pair: pair[0], reverse=True)

    def _originals(
        self, master: Entry, lasting: list[tuple[datetime, Entry]], budget: Budget
    ) -> Iterator[tuple[Moment, Moment | None]]:
        """Starts before any override, as DTSTART, RRULE and RDATE give them; with the end of an RDATE that has one."""
        low, high = self._reach(master, lasting)
        for rule in master.rules:
            for wall in repeats(rule, master.start.wall, low, high, budget):
                original = master.start.at(wall)
                if not _is_within(rule, original, self.window.owner):
                    break
                yield original, None
        if not master.rules:
            yield master.start, None
        for extra in master.extras:
            yield master.start.at(_wall(extra.start, master.start)), None if master.start.is_date else extra.end

    def _reach(self, master: Entry, lasting: list[tuple[datetime, Entry]]) -> tuple[datetime, datetime]:
        """Wall times between which an occurrence may start and still touch the window."""
        zone = master.start.zone or self.window.owner
        shifts = [entry.start.wall - wall for wall, entry in lasting]
        lengths = [_end(entry, entry.start).wall - entry.start.wall for entry in (master, *(e for _, e in lasting))]
        back = max([timedelta(0), *shifts]) + max([timedelta(0), *lengths]) + _MARGIN
        ahead = max([timedelta(0), *(-shift for shift in shifts)]) + _MARGIN
        return max(zone.wall(self.window.low) - back, _DAWN), zone.wall(self.window.high) + ahead


def _master(entries: Sequence[Entry]) -> Entry | None:
    """A cancellation of the whole series often comes without its rule: the dates are those that it had."""
    masters = sorted((entry for entry in entries if entry.recurrence is None), key=lambda entry: entry.rank)
    if not masters:
        return None
    best = masters[-1]
    if best.details.status == "cancelled" and not _repeats(best):
        shape = next((entry for entry in reversed(masters) if _repeats(entry)), best)
        return replace(shape, details=best.details, rank=best.rank)
    return best


def _repeats(entry: Entry) -> bool:
    return bool(entry.rules or entry.extras or entry.broken_rule)


def _in_force(master: Entry, lasting: list[tuple[datetime, Entry]], original: Moment) -> tuple[Entry, Moment]:
    """What holds on that date, and when it starts there."""
    for wall, entry in lasting:
        if wall <= original.wall:
            return entry, entry.start.at(entry.start.wall + (original.wall - wall))
    return master, original


def _end(entry: Entry, start: Moment) -> Moment:
    """The wall clock decides: a night shift ends at six whatever DST does. Where DST leaves nothing of it, its length
    does."""
    if isinstance(entry.end, Length):
        return entry.end.after(start)
    end = entry.end.at(entry.end.wall + (start.wall - entry.start.wall))
    if start == entry.start or start.zone is None or end.zone is None:
        return end
    first = start.zone.instant(start.wall)
    if end.zone.instant(end.wall) > first or entry.has_due or entry.start.zone is None or entry.end.zone is None:
        return end
    length = entry.end.zone.instant(entry.end.wall) - entry.start.zone.instant(entry.start.wall)
    return end.at(end.zone.wall(first + max(length, timedelta(0))))


def _wall(moment: Moment, reference: Moment) -> datetime:
    """The wall time in the zone of ``reference``; a date means the time of day that ``reference`` has."""
    if reference.zone is None:
        return datetime.combine(moment.day, time())
    if moment.zone is None:
        return datetime.combine(moment.day, reference.wall.time())
    return moment.wall if moment.zone == reference.zone else reference.zone.wall(moment.zone.instant(moment.wall))


def _is_within(rule: Rule, start: Moment, owner: Zone) -> bool:
    """UNTIL is inclusive. A date includes its whole day; for a floating series so does the wall time of a Z."""
    until = rule.until
    if until is None:
        return True
    if start.is_date or until.is_date:
        return start.day <= until.day
    if start.floating:
        return start.wall <= until.wall
    return start.instant(owner) <= until.instant(owner)
