"""Agenda: the occurrences of several files in one window, each UID expanded once wherever its entries stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from extractors.calendar.details import Person
from extractors.calendar.entry import NO_RANK, Entry
from extractors.calendar.moment import Moment, Zone
from extractors.calendar.occurrence import Attendee, Occurrence, native_id
from extractors.calendar.recurrence import Budget
from extractors.calendar.series import STEPS_CAP, Dated, Window, expand
from extractors.connector import Rejected
from schemas.ids import content_hash

TOTAL_STEPS = 500_000
"""Steps of work for one poll (``recurrence.Budget``): a second or two, whatever the rules say."""


@dataclass(frozen=True, slots=True)
class Ownership:
    """``addresses``: the owner's mail addresses, in lower case. ``is_own``: no calendar that others publish."""

    addresses: frozenset[str] = frozenset()
    is_own: bool = True
    transparent: bool = False


@dataclass(frozen=True, slots=True)
class Placed:
    """An occurrence and the file that its true version stands in."""

    source: str
    occurrence: Occurrence


@dataclass(frozen=True, slots=True)
class Mark:
    """A repeating series that was expanded to its end. ``digest``: of all that its occurrences hang on; ``steps`` of
    work, ``count`` of occurrences, ``first``: when the first of them starts."""

    digest: str
    steps: int
    count: int
    first: datetime | None


@dataclass(frozen=True, slots=True)
class Agenda:
    """``placed`` is in order of the start. ``cut``: series (``native_id`` without recurrence) that have more.
    ``rejected``: series whose rule is so much work that not one date in the window was reached. ``unchanged``: series
    that are as they were marked, and so not in ``placed``, with the files that their entries stand in."""

    placed: tuple[Placed, ...]
    cut: frozenset[str] = frozenset()
    rejected: tuple[Rejected, ...] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict)
    unchanged: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Occurrences, those of unchanged series too."""
        return len(self.placed) + sum(self.marks[series].count for series in self.unchanged)

    def oldest(self, owner: ZoneInfo) -> datetime | None:
        """When the first of all occurrences starts."""
        starts = [item.occurrence.begins(owner) for item in self.placed]
        starts += [first for series in self.unchanged if (first := self.marks[series].first)]
        return min(starts, default=None)

    def nearest(self, limit: int, now: datetime, owner: Zone) -> Agenda:
        """Only that many occurrences, the nearest to ``now``; the series of the others are cut."""
        if len(self.placed) <= limit:
            return self
        by_distance = sorted(self.placed, key=lambda item: abs(_start(item, owner) - now))
        dropped = {native_id(item.occurrence.kind, item.occurrence.uid, None) for item in by_distance[limit:]}
        return Agenda(_in_order(by_distance[:limit], owner), self.cut | dropped, self.rejected)


def agenda(
    entries: Iterable[Entry],
    window: Window,
    ownership: Ownership,
    by_source: Mapping[str, Ownership] | None = None,
    marks: Mapping[str, Mark] | None = None,
) -> Agenda:
    """``by_source``: whose the entries of some files are, where that differs from ``ownership``. ``marks``: those of
    the last agenda; what is as it was then is not expanded again."""
    owners = by_source or {}
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(native_id(entry.kind, entry.uid, None), []).append(entry)
    budget = Budget(TOTAL_STEPS)
    placed: list[Placed] = []
    cut: set[str] = set()
    rejected: list[Rejected] = []
    known, fresh, unchanged = marks or {}, dict[str, Mark](), dict[str, frozenset[str]]()
    for series, members in groups.items():
        digest = _digest(members, window, ownership, owners) if _repeats(members) else ""
        mark = known.get(series)
        if mark is not None and mark.digest == digest and mark.steps <= min(STEPS_CAP, budget.left):
            budget.spend(mark.steps)
            fresh[series], unchanged[series] = mark, frozenset(entry.origin.source for entry in members)
            continue
        left = budget.left
        expanded = expand(members, window, budget)
        own = [Placed(dated.entry.origin.source, _occurrence(dated, owners, ownership)) for dated in expanded.dated]
        placed += own
        if expanded.is_cut:
            cut.add(series)
            rejected += [] if expanded.dated else [_endless(members[0])]
        elif digest:
            first = min((_start(item, window.owner) for item in own), default=None)
            fresh[series] = Mark(digest, left - budget.left, len(own), first)
    return Agenda(_in_order(placed, window.owner), frozenset(cut), tuple(rejected), fresh, unchanged)


def _repeats(entries: Iterable[Entry]) -> bool:
    return any(entry.rules or entry.extras for entry in entries)


def _digest(entries: Sequence[Entry], window: Window, ownership: Ownership, owners: Mapping[str, Ownership]) -> str:
    """Of all that the occurrences of a series hang on. Of ranks only the order counts: many calendars give every entry
    the time at which they were asked."""
    ranks = sorted({entry.rank for entry in entries})
    whose = [owners.get(entry.origin.source, ownership) for entry in entries]
    parts = [(replace(entry, line=0, rank=NO_RANK), entry.rank.sequence, ranks.index(entry.rank)) for entry in entries]
    owned = [(sorted(one.addresses), one.is_own, one.transparent) for one in whose]
    return content_hash(repr((window, parts, owned)))[:16]


def _endless(entry: Entry) -> Rejected:
    where = f"{entry.origin.source}:{entry.line}"
    return Rejected(
        where, "endless_rule", "its rule repeats too often to reach any date of interest", entry.uid.encode()
    )


def _in_order(placed: Sequence[Placed], owner: Zone) -> tuple[Placed, ...]:
    return tuple(sorted(placed, key=lambda item: (_start(item, owner), item.occurrence.native_id)))


def _start(item: Placed, owner: Zone) -> datetime:
    occurrence = item.occurrence
    return occurrence.starts_at or owner.instant(datetime.fromisoformat(occurrence.start))


def _occurrence(dated: Dated, owners: Mapping[str, Ownership], usual: Ownership) -> Occurrence:
    entry, details = dated.entry, dated.entry.details
    ownership = owners.get(entry.origin.source, usual)
    due = dated.end if entry.has_due else None
    return Occurrence(
        kind=entry.kind,
        uid=entry.uid,
        recurrence_id=dated.recurrence_id,
        recurring=dated.recurring,
        start=dated.start.iso(),
        end=_wall_end(dated),
        due=due.iso() if due else None,
        zone=_zone_name(dated.start),
        all_day=dated.start.is_date,
        floating=dated.start.floating,
        starts_at=_instant(dated.start),
        ends_at=_instant(dated.end),
        due_at=_instant(due) if due else None,
        sequence=max(0, entry.rank.sequence),
        status="cancelled" if dated.is_cancelled else details.status,
        summary=details.summary,
        location=details.location,
        description=details.description,
        organizer=_attendee(details.organizer) if details.organizer else None,
        attendees=tuple(map(_attendee, details.attendees)),
        answer=_answer(details.attendees, ownership.addresses),
        transparent=details.transparent or ownership.transparent,
        url=details.url,
        categories=details.categories,
        modified_at=details.modified_at,
        method=entry.origin.method,
        calendar=entry.origin.calendar,
        is_own=_is_own(entry, ownership),
        notes=entry.notes[:10],
    )


def _zone_name(moment: Moment) -> str | None:
    return None if moment.zone is None or moment.floating else moment.zone.name


def _instant(moment: Moment) -> datetime | None:
    return moment.zone.instant(moment.wall) if moment.zone else None


def _wall_end(dated: Dated) -> str:
    start, end = dated.start.zone, dated.end.zone
    if start is None or end is None or start == end:
        return dated.end.iso()
    return start.wall(end.instant(dated.end.wall)).isoformat(timespec="seconds")


def _attendee(person: Person) -> Attendee:
    return Attendee(address=person.address, name=person.name, answer=person.answer)


def _is_own(entry: Entry, ownership: Ownership) -> bool:
    organizer = entry.details.organizer
    is_ours = organizer is None or organizer.address in ownership.addresses
    return ownership.is_own and is_ours and entry.origin.method in ("", "PUBLISH")


def _answer(attendees: Sequence[Person], addresses: frozenset[str]) -> str:
    """PARTSTAT defaults to needs-action."""
    return next((person.answer or "needs-action" for person in attendees if person.address in addresses), "")
