"""One look at all files of an account: what changed, and what must not be believed yet.

When nothing is deleted. A file that is empty, truncated, a web page or unreadable says nothing about what was in it,
nor does one that is missing while no other file of the folder can be read: what was in them stays, with a warning. A
file that is well formed but has lost its last entry is believed only when a later poll finds it so again; the first
poll warns. A file that is gone from a folder whose other files can be read is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from extractors.calendar.agenda import Agenda, Mark, Ownership, agenda
from extractors.calendar.horizon import label
from extractors.calendar.ledger import Changes, Look, compare
from extractors.calendar.moment import Zone
from extractors.calendar.reading import Reading, read_calendar
from extractors.calendar.series import Window
from extractors.calendar.told import untold
from extractors.connector import Context, Rejected
from extractors.ics.config import IcsConfig
from extractors.ics.memory import Memory
from extractors.ics.source import File
from schemas.ids import content_hash

WARNINGS_CAP = 50


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look led to. ``faults``: why files could not be trusted."""

    changes: Changes
    faults: tuple[str, ...]
    rejected: tuple[Rejected, ...]
    warnings: tuple[str, ...]
    memory: Memory


def digest(files: Iterable[File]) -> str:
    return content_hash(*(part for file in files for part in (file.name, file.digest, file.fault)))[:16]


def look(files: Sequence[File], memory: Memory, config: IcsConfig, context: Context, window: Window) -> Seen:
    """Pure. Everything is read again, and expanded where it is not as it was; the ledger tells what of it is news."""
    readings = [_reading(file, config, window.owner) for file in files]
    sound = [reading for reading in readings if not reading.fault]
    verdict = _verdict(readings, memory)
    shown = _agenda(sound, config, context, window, memory.marks)
    around = Look(verdict.believed, window.low, window.high, context.now, context.zone)
    changes = compare(memory.ledger, shown, around)
    rejected = [item for reading in readings if reading.source not in verdict.doubted for item in reading.rejected]
    new, told = untold([*rejected, *shown.rejected], memory.told)
    warnings = [*verdict.warnings, *(f"{name}: more repeats than can be watched" for name in sorted(shown.cut))]
    warnings += [warning for reading in sound for warning in reading.warnings]
    fresh = Memory(
        look=label(window),
        digest=memory.digest if verdict.doubted else digest(files),
        stamp=files[0].stamp if len(files) == 1 else memory.stamp,
        told=told,
        emptied=verdict.emptied,
        ledger=changes.ledger,
        marks=shown.marks,
    )
    faults = tuple(reading.reason for reading in readings if reading.fault)
    return Seen(changes, faults, tuple(new), tuple(dict.fromkeys(warnings))[:WARNINGS_CAP], fresh)


def _reading(file: File, config: IcsConfig, owner: Zone) -> Reading:
    if file.raw is not None:
        return read_calendar(file.raw, file.name, owner, title=config.title)
    return Reading(file.name, fault="unreadable", rejected=[Rejected(file.name, "unreadable", file.fault)])


@dataclass(frozen=True, slots=True)
class _Verdict:
    """``believed``: files of which it is known what they lack. ``doubted``: files that had entries and now show a
    fault. ``emptied``: see ``Memory``."""

    believed: frozenset[str]
    doubted: frozenset[str]
    emptied: frozenset[str]
    warnings: tuple[str, ...]


def _verdict(readings: Sequence[Reading], memory: Memory) -> _Verdict:
    live = {source for source, _, item in memory.ledger.items() if not item.is_gone}
    believed: set[str] = set()
    doubted: set[str] = set()
    emptied: set[str] = set()
    warnings: list[str] = []
    for reading in readings:
        if reading.fault:
            if reading.source in live:
                doubted.add(reading.source)
                warnings.append(f"{reading.reason}; what was in it stays")
        elif not reading.has_content and reading.source in live and reading.source not in memory.emptied:
            emptied.add(reading.source)
            warnings.append(f"{reading.source}: suddenly without a single entry; believed if the next poll agrees")
        else:
            believed.add(reading.source)
    gone = live - {reading.source for reading in readings}
    if believed:
        believed |= gone
    elif gone:
        doubted |= gone
        warnings.append("no calendar file is left; what was in them stays")
    return _Verdict(frozenset(believed), frozenset(doubted), frozenset(emptied), tuple(warnings))


def _agenda(
    sound: Sequence[Reading], config: IcsConfig, context: Context, window: Window, marks: Mapping[str, Mark]
) -> Agenda:
    addresses = frozenset(address.strip().lower() for address in config.addresses)
    ownership = Ownership(addresses, config.mine, config.transparent)
    entries = [entry for reading in sound for entry in reading.entries]
    found = agenda(entries, window, ownership, marks=marks)
    if found.size <= config.max_occurrences:
        return found
    return agenda(entries, window, ownership).nearest(config.max_occurrences, context.now, window.owner)
