"""A series that is as it was is not expanded again, and nobody can tell from what is said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extractors.calendar import agenda
from extractors.calendar.horizon import months
from extractors.calendar.testing import component, vcalendar
from extractors.connector import Context
from extractors.ics.config import IcsConfig
from extractors.ics.look import Seen, look
from extractors.ics.memory import Memory, remembered
from extractors.ics.source import File
from schemas.ids import content_hash

NOW = datetime(2026, 3, 20, 8, tzinfo=UTC)
RULES = (
    "FREQ=WEEKLY",
    "FREQ=WEEKLY;COUNT=9",
    "FREQ=WEEKLY;INTERVAL=2;UNTIL=20260501T120000Z",
    "FREQ=MONTHLY;BYDAY=-1SU",
    "FREQ=DAILY;COUNT=40",
    "FREQ=YEARLY",
    "FREQ=MINUTELY",
    "",
)
STARTS = (
    ";TZID=Europe/Berlin:20260215T023000",
    ";TZID=America/New_York:20260301T023000",
    ";TZID=Own:20260301T093000",
    ":20260322T013000Z",
    ":20260210T180000",
    ";VALUE=DATE:20260329",
)
INSTEAD = ("", "moved", "cancelled", "from then on")


def zone_block(offset: str) -> str:
    lines = ("DTSTART:19700101T000000", f"TZOFFSETFROM:{offset}", f"TZOFFSETTO:{offset}")
    return component("VTIMEZONE", "TZID:Own", component("STANDARD", *lines))


@dataclass(frozen=True)
class Series:
    """``place``: the file. ``skipped``, ``instead``: what became of the third week."""

    place: int
    start: str
    rule: str
    title: str = "Choir"
    status: str = "CONFIRMED"
    skipped: bool = False
    instead: str = ""
    stamp: int = 1
    method_of_two: bool = False

    def blocks(self, number: int) -> Mapping[int, list[str]]:
        uid = f"UID:{number}@example.org"
        stamp = f"DTSTAMP:202601{self.stamp:02}T000000Z"
        head, _, wall = self.start.rpartition(":")
        third = datetime.strptime(wall[:8], "%Y%m%d") + timedelta(days=14)  # noqa: DTZ007 - a wall time
        then = f"{head}:{third:%Y%m%d}{wall[8:]}"
        more = [f"RRULE:{self.rule}"] if self.rule else []
        more += [f"EXDATE{then}"] if self.skipped else []
        main = [uid, stamp, f"DTSTART{self.start}", f"SUMMARY:{self.title}", f"STATUS:{self.status}", *more]
        found = {self.place: [component("VEVENT", *main)]}
        if self.instead:
            ranged = ";RANGE=THISANDFUTURE" if self.instead == "from then on" else ""
            later = f"{head}:{third + timedelta(days=1):%Y%m%d}{wall[8:]}"
            other = [uid, stamp, f"DTSTART{later}", f"RECURRENCE-ID{ranged}{then}"]
            other += ["STATUS:CANCELLED"] if self.instead == "cancelled" else ["SUMMARY:Elsewhere"]
            found.setdefault(1 - self.place if self.method_of_two else self.place, []).append(
                component("VEVENT", *other)
            )
        return found


@dataclass(frozen=True)
class World:
    """What a look finds, and who looks."""

    series: tuple[Series, ...]
    broken: int = -1
    days: int = 0
    offset: str = "+0300"
    owner: str = "Europe/Berlin"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def files(self) -> list[File]:
        found = []
        for place in (0, 1):
            blocks = [text for number, one in enumerate(self.series) for text in one.blocks(number).get(place, ())]
            raw = vcalendar(zone_block(self.offset), *blocks)
            raw = raw[:-30] if place == self.broken else raw
            found.append(File(f"{place}.ics", raw, content_hash(raw)[:16]))
        return found

    def look(self, memory: Memory) -> Seen:
        context = Context("nora", "calendar", ZoneInfo(self.owner), NOW + timedelta(days=self.days))
        config = IcsConfig(path=Path("calendars"), **self.settings)
        return look(self.files(), memory, config, context, months(31, 60, context))


any_series = st.builds(
    Series,
    place=st.integers(0, 1),
    start=st.sampled_from(STARTS),
    rule=st.sampled_from(RULES),
    title=st.sampled_from(("Choir", "Band")),
    status=st.sampled_from(("CONFIRMED", "CONFIRMED", "CANCELLED")),
    skipped=st.booleans(),
    instead=st.sampled_from(INSTEAD),
    stamp=st.integers(1, 3),
    method_of_two=st.booleans(),
)


@st.composite
def worlds(draw: st.DrawFn) -> list[World]:
    """One after the other; most of each is as it was before."""
    world = World(tuple(draw(st.lists(any_series, min_size=1, max_size=4))))
    found = [world]
    for _ in range(draw(st.integers(1, 5))):
        match draw(
            st.sampled_from(("series", "stamp", "gone", "broken", "days", "offset", "owner", "settings", "none"))
        ):
            case "series":
                at = draw(st.integers(0, len(world.series)))
                world = replace(world, series=(*world.series[:at], draw(any_series), *world.series[at + 1 :]))
            case "stamp":
                stamp = draw(st.integers(1, 3))
                world = replace(world, series=tuple(replace(one, stamp=stamp) for one in world.series))
            case "gone":
                world = replace(world, series=world.series[1:])
            case "broken":
                world = replace(world, broken=draw(st.integers(-1, 1)))
            case "days":
                world = replace(world, days=world.days + draw(st.sampled_from((1, 20, 45))))
            case "offset":
                world = replace(world, offset=draw(st.sampled_from(("+0300", "-0500"))))
            case "owner":
                world = replace(world, owner=draw(st.sampled_from(("Europe/Berlin", "Pacific/Auckland"))))
            case "settings":
                chosen = st.sampled_from(({}, {"mine": False}, {"transparent": True}, {"max_occurrences": 12}))
                world = replace(world, settings=draw(chosen))
        found.append(world)
    return found


def stored(memory: Memory) -> Memory:
    return remembered(json.loads(json.dumps(memory.to_json())))


def told(seen: Seen) -> tuple[object, ...]:
    changes, memory = seen.changes, replace(seen.memory, marks={})
    return changes.upserts, changes.deletes, memory.to_json(), seen.rejected, seen.warnings, seen.faults


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(worlds(), st.sampled_from((agenda.TOTAL_STEPS, agenda.TOTAL_STEPS, 300)))
def test_what_is_said_is_what_expanding_everything_says(story: list[World], steps: int) -> None:
    memory = Memory()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agenda, "TOTAL_STEPS", steps)
        for world in story:
            seen, plain = world.look(memory), world.look(replace(memory, marks={}))
            assert told(seen) == told(plain)
            memory = stored(seen.memory)


@pytest.mark.parametrize("later", [{"stamp": 3}, {"stamp": 1}])
def test_a_series_that_is_as_it_was_is_not_expanded_again(
    later: Mapping[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where the file says that it was written just now."""
    choir = Series(0, STARTS[0], "FREQ=WEEKLY", instead="moved")
    band = Series(0, STARTS[0], "FREQ=WEEKLY", title="Band")
    memory = stored(World((choir, band)).look(Memory()).memory)
    expanded: list[str] = []
    whole = agenda.expand

    def noted(entries: Any, *rest: Any) -> Any:
        expanded.append(entries[0].details.summary)
        return whole(entries, *rest)

    monkeypatch.setattr(agenda, "expand", noted)
    world = World((replace(choir, **later), replace(band, title="Trio")))
    assert {change.native_id[0] for change in world.look(memory).changes.upserts} == {"1"}
    assert expanded == ["Trio"]


def test_what_another_file_had_of_an_unchanged_series_is_withdrawn_when_that_file_is_whole_again() -> None:
    """An override of a date that the rule does not give stands alone in its file."""
    choir = Series(0, STARTS[3], "FREQ=YEARLY", instead="moved", method_of_two=True)
    band = Series(1, STARTS[3], "")
    with_it, without = World((choir, band)), World((replace(choir, instead=""), band))
    memory = stored(with_it.look(Memory()).memory)
    memory = stored(replace(with_it, broken=1).look(memory).memory)
    (gone,) = without.look(memory).changes.deletes
    assert gone.meta["when"] == "20260406T013000Z"
