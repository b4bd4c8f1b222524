"""A look at some objects: what they change in what was told. Pure.

An object is to a calendar what a file is to a folder of the ics connector: one that is broken says nothing about what
was in it, so that stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from extractors.calendar.agenda import Agenda, Ownership, Placed, agenda
from extractors.calendar.ledger import Changes, Ledger, Look, compare, starts_at
from extractors.calendar.reading import Reading, read_calendar
from extractors.calendar.series import Window
from extractors.connector import Context, Rejected

_ROOM = 0.9
"""What is left after the horizon was shortened, so that it is not shortened again by the next entry."""


@dataclass(frozen=True, slots=True)
class Object:
    """``source``: its name in the ledger; ``label``: for people. ``title``: that of its calendar."""

    source: str
    label: str
    raw: bytes
    title: str
    ownership: Ownership


@dataclass(frozen=True, slots=True)
class Seen:
    """``twins``: groups of objects that share a UID and were not looked at together: those of them that are among the
    objects of this look are ``postponed``."""

    changes: Changes
    window: Window
    rejected: tuple[Rejected, ...] = ()
    warnings: tuple[str, ...] = ()
    twins: tuple[frozenset[str], ...] = ()
    postponed: frozenset[str] = frozenset()


def look(
    objects: Sequence[Object],
    gone: Set[str],
    ledger: Ledger,
    limit: int,
    window: Window,
    context: Context,
    *,
    moving: Set[str] = frozenset(),
    together: bool = False,
) -> Seen:
    """``gone``: sources that are no more; ``moving``: those that will be so by the end of the poll. ``together``:
    these objects are all that share their UIDs."""
    readings = {one.source: read_calendar(one.raw, one.source, window.owner, title=one.title) for one in objects}
    twins = () if together else tuple(_twins(readings, moving, ledger))
    postponed = frozenset(source for group in twins for source in group) & readings.keys()
    sound = [one for source, one in readings.items() if not one.fault and source not in postponed]
    owners = {one.source: one.ownership for one in objects}
    sources = {one.source for one in sound} | gone
    shown = _agenda(sound, window, owners)
    others = [item.when for source, _, item in ledger.items() if source not in sources and not item.is_gone]
    warnings: list[str] = []
    if len(others) + len(shown.placed) > limit:
        window = _shortened([*others, *map(_when, shown.placed)], limit, window, context)
        shown = _agenda(sound, window, owners)
        days = (window.high - context.now).days
        warnings.append(f"more than {limit} entries: only those of the next {days} days are watched")
    around = Look(sources, window.low, window.high, context.now, context.zone, prunes=False)
    changes = compare(ledger, shown, around)
    labels = {one.source: one.label for one in objects}
    read = [one for source, one in readings.items() if source not in postponed]
    rejected = [_named(item, labels) for item in (*(item for one in read for item in one.rejected), *shown.rejected)]
    warnings += [f"{name}: more repeats than can be watched" for name in sorted(shown.cut)]
    warnings += [_renamed(warning, labels) for one in sound for warning in one.warnings]
    return Seen(changes, window, tuple(rejected), tuple(warnings), twins, postponed)


def _agenda(sound: Sequence[Reading], window: Window, owners: Mapping[str, Ownership]) -> Agenda:
    return agenda((entry for reading in sound for entry in reading.entries), window, Ownership(), owners)


def _twins(readings: Mapping[str, Reading], moving: Set[str], ledger: Ledger) -> list[frozenset[str]]:
    """Objects of this look with the UIDs of others that are still there. An object that was moved is no twin."""
    holders: dict[tuple[str, str], set[str]] = {}
    for source, (kind, uid, _), _ in ledger.items():
        if source not in moving:
            holders.setdefault((kind, uid), set()).add(source)
    groups = []
    for source, reading in readings.items():
        for name in {(entry.kind, entry.uid) for entry in reading.entries}:
            if others := holders.get(name, set()) - readings.keys():
                groups.append(frozenset({source, *others}))
    return groups


def _shortened(starts: Sequence[str], limit: int, window: Window, context: Context) -> Window:
    distances = sorted(abs(starts_at(when, context.zone) - context.now) for when in starts)
    reach = distances[int(limit * _ROOM)] + timedelta(seconds=1)
    low, high = max(window.low, context.now - reach), min(window.high, context.now + reach)
    return Window(_whole(low), _whole(high), window.owner)


def _whole(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


def _when(placed: Placed) -> str:
    occurrence = placed.occurrence
    if occurrence.starts_at is None:
        return occurrence.start.replace("-", "")[:8]
    return f"{occurrence.starts_at:%Y%m%dT%H%M%SZ}"


def _named(item: Rejected, labels: Mapping[str, str]) -> Rejected:
    return replace(item, where=_renamed(item.where, labels), reason=_renamed(item.reason, labels))


def _renamed(text: str, labels: Mapping[str, str]) -> str:
    source, colon, rest = text.partition(":")
    return f"{labels[source]}{colon}{rest}" if source in labels else text
