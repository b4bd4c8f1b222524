"""Agenda: the occurrences of several files in one window, each UID expanded once wherever its entries stand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from extractors.calendar.details import Person
from extractors.calendar.entry import Entry
from extractors.calendar.moment import Moment, Zone
from extractors.calendar.occurrence import Attendee, Occurrence, native_id
from extractors.calendar.recurrence import Budget
from extractors.calendar.series import Dated, Window, expand
from extractors.connector import Rejected

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
class Agenda:
    """``placed`` is in order of the start. ``cut``: series (``native_id`` without recurrence) that have more.
    ``rejected``: series whose rule is so much work that not one date in the window was reached."""

    placed: tuple[Placed, ...]
    cut: frozenset[str] = frozenset()
    rejected: tuple[Rejected, ...] = ()

    def nearest(self, limit: int, now: datetime, owner: Zone) -> Agenda:
        """Only that many occurrences, the nearest to ``now``; the series of the others are cut."""
        if len(self.placed) <= limit:
            return self
        by_distance = sorted(self.placed, key=lambda item: abs(_start(item, owner) - now))
        dropped = {native_id(item.occurrence.kind, item.occurrence.uid, None) for item in by_distance[limit:]}
        return Agenda(_in_order(by_distance[:limit], owner), self.cut | dropped, self.rejected)


def agenda(
    entries: Iterable[Entry], window: Window, ownership: Ownership, by_source: Mapping[str, Ownership] | None = None
) -> Agenda:
    """``by_source``: whose the entries of some files are, where that differs from ``ownership``."""
    owners = by_source or {}
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(native_id(entry.kind, entry.uid, None), []).append(entry)
    budget = Budget(TOTAL_STEPS)
    placed: list[Placed] = []
    cut: set[str] = set()
    rejected: list[Rejected] = []
    for series, members in groups.items():
        expanded = expand(members, window, budget)
        for dated in expanded.dated:
            source = dated.entry.origin.source
            placed.append(Placed(source, _occurrence(dated, owners.get(source, ownership))))
        if expanded.is_cut:
            cut.add(series)
            rejected += [] if expanded.dated else [_endless(members[0])]
    return Agenda(_in_order(placed, window.owner), frozenset(cut), tuple(rejected))


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


def _occurrence(dated: Dated, ownership: Ownership) -> Occurrence:
    entry, details = dated.entry, dated.entry.details
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
