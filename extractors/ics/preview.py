"""What would be made of one calendar file, without storing anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from extractors.calendar.agenda import Agenda, Ownership, agenda
from extractors.calendar.ledger import upsert_of
from extractors.calendar.moment import Zone
from extractors.calendar.occurrence import Occurrence
from extractors.calendar.reading import Reading, read_calendar
from extractors.calendar.series import Window
from extractors.connector import Context, Preview, PreviewOptions, Rejected
from extractors.ics.normalize import normalise
from extractors.ics.source import File, read_path
from schemas.clock import start_of_day
from schemas.errors import AuthError, TransientError
from schemas.event import Event
from schemas.ids import record_id
from schemas.record import Record

OCCURRENCES_CAP = 5_000
WARNINGS_CAP = 100
EARLIEST, LATEST = datetime(1600, 1, 1, tzinfo=UTC), datetime(8000, 1, 1, tzinfo=UTC)
PAST, FUTURE = timedelta(days=31), timedelta(days=400)


def show(path: Path, context: Context, options: PreviewOptions) -> Preview:
    """Never raises for what the file holds, nor for one that cannot be read."""
    window = _window(context, options)
    try:
        readings = [_reading(file, window.owner) for file in read_path(path)]
    except (AuthError, TransientError) as error:
        readings = [Reading(path.name, rejected=[Rejected(path.name, "unreadable", str(error))])]
    found = agenda((entry for reading in readings for entry in reading.entries), window, Ownership())
    occurrences = [placed.occurrence for placed in found.placed[:OCCURRENCES_CAP]]
    rejected = [*(item for reading in readings for item in _rejected(reading)), *found.rejected]
    warnings = list(dict.fromkeys(_warnings(readings, found, window)))[:WARNINGS_CAP]
    return Preview(
        kind="calendar",
        events=[event for occurrence in occurrences for event in _events(occurrence, context)],
        rejected=rejected,
        warnings=warnings,
        summary={
            "occurrences": _rows(one for one in occurrences if not one.is_over),
            "cancelled": _rows(one for one in occurrences if one.is_over),
            "method": next((reading.method for reading in readings if reading.method), None),
            "warnings": warnings,
            "rejected": [{"where": item.where, "code": item.code, "reason": item.reason} for item in rejected],
        },
    )


def _window(context: Context, options: PreviewOptions) -> Window:
    owner = Zone(str(context.zone), context.zone)
    if options.window is not None:
        low, high = options.window
        return Window(max(low, EARLIEST), min(high, LATEST), owner)
    today = context.now.astimezone(context.zone).date()
    return Window(start_of_day(today - PAST, context.zone), start_of_day(today + FUTURE, context.zone), owner)


def _reading(file: File, owner: Zone) -> Reading:
    if file.raw is None:
        return Reading(file.name, rejected=[Rejected(file.name, "unreadable", file.fault)])
    return read_calendar(file.raw, file.name, owner)


def _rejected(reading: Reading) -> Sequence[Rejected]:
    """A poll takes an empty calendar as it is; whoever asks what is in one wants to be told."""
    if reading.rejected or reading.has_content:
        return reading.rejected
    return [Rejected(reading.source, "no_entries", "there is no event and no to-do in it")]


def _warnings(readings: Sequence[Reading], found: Agenda, window: Window) -> Iterable[str]:
    for reading in readings:
        yield from reading.warnings
    for series in sorted(found.cut):
        yield f"{series}: it repeats more often than can be shown"
    if len(found.placed) > OCCURRENCES_CAP:
        yield f"only the first {OCCURRENCES_CAP} of {len(found.placed)} occurrences are shown"
    if not found.placed and any(reading.entries for reading in readings):
        yield f"nothing in it between {_day(window.low, window)} and {_day(window.high, window)}"


def _day(instant: datetime, window: Window) -> date:
    return window.owner.wall(instant).date()


def _events(occurrence: Occurrence, context: Context) -> Sequence[Event]:
    """By the same way as in a poll: an upsert, its record, the events of that."""
    upsert = upsert_of(occurrence, occurrence.content())
    record = Record(
        id=record_id(context.account, upsert.native_id, upsert.version),
        account=context.account,
        owner=context.owner,
        source="ics",
        native_id=upsert.native_id,
        version=upsert.version,
        fetched_at=context.now,
        content_type=upsert.content_type,
        raw=upsert.raw,
    )
    return normalise(record, context)


def _rows(occurrences: Iterable[Occurrence]) -> list[Mapping[str, Any]]:
    """Series by series, the earliest first."""
    series: dict[tuple[str, str], list[Occurrence]] = {}
    for occurrence in occurrences:
        series.setdefault((occurrence.kind, occurrence.uid), []).append(occurrence)
    return [_row(occurrence) for group in series.values() for occurrence in group]


def _row(occurrence: Occurrence) -> Mapping[str, Any]:
    return {
        "uid": occurrence.uid,
        "start": _moment(occurrence.start, occurrence.starts_at),
        "end": _moment(occurrence.end, occurrence.ends_at),
        "summary": occurrence.summary,
        "location": occurrence.location,
        "all_day": occurrence.all_day,
        "last_day": _last_day(occurrence) if occurrence.all_day else None,
        "floating": occurrence.floating,
        "zone": occurrence.zone,
        "status": occurrence.status,
        "due": _moment(occurrence.due, occurrence.due_at) if occurrence.due is not None else None,
    }


def _moment(wall: str, instant: datetime | None) -> str:
    return wall[:10] if instant is None else f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _last_day(occurrence: Occurrence) -> str:
    """An all-day end is exclusive; a to-do's due date is not."""
    if occurrence.due is not None:
        return occurrence.due[:10]
    end = date.fromisoformat(occurrence.end[:10])
    return max(date.fromisoformat(occurrence.start[:10]), end - timedelta(days=1)).isoformat()
