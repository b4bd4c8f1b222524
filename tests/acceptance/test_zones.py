"""The same household in four zones over the clock changes: every local day and hour is right."""

import asyncio
from datetime import date, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from forewatch.demo import Play, run, settings_of
from forewatch.wiring import open_settings_log
from rules.library import library_paths
from rules.loader import load
from schemas.clock import local_day, start_of_day
from schemas.event import Event
from schemas.trigger import SIGNALS, Trigger
from streams import topics
from streams.codec import decode
from streams.work import Log
from tests.scale import THOROUGH

START, DAYS = (date(2026, 1, 1), 365) if THOROUGH else (date(2026, 9, 20), 60)
"""In autumn: Lord Howe half an hour forward on 4 October, Berlin back on 25 October, Los Angeles on 1 November."""
DEADLINES = {rule.id: rule.model.deadline for rule in load(library_paths(), zone=ZoneInfo("UTC"))}


async def values(log: Log, topic: str) -> list[bytes]:
    found: list[bytes] = []
    place = 0
    while entries := await log.read(topic, 0, place, 1_000):
        found += [entry.value for entry in entries if entry.value is not None]
        place = entries[-1].offset + 1
    return found


async def written(play: Play) -> tuple[list[Event], list[Trigger]]:
    log = await open_settings_log(settings_of(play))
    events = [decode(Event, value) for value in await values(log, topics.EVENTS)]
    signals = [SIGNALS.validate_json(value) for value in await values(log, topics.TRIGGERS)]
    await log.close()
    return events, [signal for signal in signals if isinstance(signal, Trigger)]


@pytest.mark.parametrize("name", ["America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"])
def test_a_household_keeps_its_local_days_over_clock_changes(tmp_path: Path, name: str) -> None:
    zone = ZoneInfo(name)
    play = Play(tmp_path, seed=3, zone=name, start=START, days=DAYS)
    asyncio.run(run(play))
    events, triggers = asyncio.run(written(play))

    days = [event for event in events if event.kind == "clock.day"]
    assert [event.version for event in days] == [str(START + timedelta(days=n)) for n in range(DAYS + 1)]
    assert all(e.observed_at == start_of_day(date.fromisoformat(e.version), zone) for e in days)

    at_nine = [
        trigger for trigger in triggers if trigger.explanation.reason == "lead_reached" and not arrived_late(trigger)
    ]
    assert at_nine
    for trigger in at_nine:
        local = trigger.fired_at.astimezone(zone)
        assert (local.hour, local.minute) == (9, 0), trigger.title
        assert trigger.deadline_at is not None
        ahead = (local_day(trigger.deadline_at, zone) - local.date()).days
        deadline = DEADLINES[trigger.rule]
        assert deadline is not None
        assert ahead in {*(lead.days for lead in deadline.lead), *(-later.days for later in deadline.after)}, (
            trigger.title
        )

    for event in events:
        if event.all_day and event.starts_at is not None and event.wall_start is not None:
            assert local_day(event.starts_at, zone) == date.fromisoformat(event.wall_start[:10])


def arrived_late(trigger: Trigger) -> bool:
    """Told at once, because its mail came after the first lead had passed."""
    return any(trigger.fired_at - item.occurred_at < timedelta(hours=14) for item in trigger.evidence)
