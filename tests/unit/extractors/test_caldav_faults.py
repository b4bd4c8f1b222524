"""The caldav connector on a stand-in with the habits of several servers: the laws of connectors, and faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from extractors.caldav import Caldav
from extractors.caldav.config import CaldavConfig
from extractors.caldav.poll import Sizes
from extractors.calendar.testing import vcalendar, vevent
from extractors.testing import ConnectorContract, Key
from extractors.testing.faults import fault_machine
from schemas.model import Json
from tests.standins.caldav import PASSWORD, USER, CaldavStandIn, Calendar

FIRST = datetime(2026, 3, 10, 9)  # noqa: DTZ001 - a wall time


class Source:
    """Meetings on consecutive days, in two calendars by turns. Each has one that stays: a list that is suddenly empty
    is not believed at once (test_caldav_habits.py), so the truth would be known one poll later."""

    def __init__(self, **habits: Any) -> None:
        self.server = CaldavStandIn()
        for name, value in habits.items():
            assert hasattr(self.server, name)
            setattr(self.server, name, value)
        self.server.calendars = {"work": Calendar("Work"), "home": Calendar("Home")}
        for name, calendar in self.server.calendars.items():
            calendar.put("stays.ics", vcalendar(vevent(f"stays-{name}", f":{FIRST:%Y%m%dT%H%M%SZ}")))
        self.server.start()
        self.config = CaldavConfig(url=self.server.url, username=USER, allow_private=True)
        self.key = Key({"password": PASSWORD})
        self.there: list[int] = []
        self.added = 0

    def calendar(self, number: int) -> Calendar:
        return self.server.calendars["home" if number % 3 == 2 else "work"]

    def put(self, number: int, title: str) -> None:
        start = FIRST + timedelta(days=number)
        event = vevent(
            f"meeting-{number}@example.org", f";TZID=Europe/Berlin:{start:%Y%m%dT%H%M%S}", f"SUMMARY:{title}"
        )
        self.calendar(number).put(f"{number} ü.ics", vcalendar(event))

    def add(self) -> None:
        self.put(self.added, f"Meeting {self.added}")
        self.there.append(self.added)
        self.added += 1

    def change(self) -> None:
        self.added += 1
        self.put(self.there[0], f"Renamed {self.added}")

    def remove(self) -> None:
        number = self.there.pop(0)
        self.calendar(number).delete(f"{number} ü.ics")

    def poison(self) -> None:
        self.server.calendars["work"].put("poison.ics", b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:x\r\n")

    def breakages(self) -> Mapping[str, Callable[[], object]]:
        return {
            "down": self.server.stop,
            "html": lambda: [self.server.arm("html", after) for after in range(9)],
            "revoked": lambda: self.server.arm("revoked"),
            "unmounted": self.server.calendars.clear,
        }

    def fingerprint(self) -> Json:
        return [[name, calendar.title, calendar.clock] for name, calendar in self.server.calendars.items()]

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return self.server.faults()

    def heal(self) -> None:
        self.server.heal()

    def lose_cursors(self) -> None:
        self.server.lose_cursors()

    def close(self) -> None:
        self.server.stop()


class TestStandIn(ConnectorContract):
    connector = Caldav(Sizes(objects=3, items=2))

    @pytest.fixture(autouse=True)
    def _close(self) -> Iterator[None]:
        self.sources: list[Source] = []
        yield
        for source in self.sources:
            source.close()

    def source(self, folder: Path) -> Source:
        self.sources.append(Source())
        return self.sources[-1]


CONNECTOR = Caldav(Sizes(objects=2, items=2))

TestFaults = fault_machine(Source, CONNECTOR, examples=6).TestCase
TestFaultsWhereAnswersAreCut = fault_machine(
    lambda: Source(cut=1, dead=412, buries=True), CONNECTOR, examples=6
).TestCase
TestFaultsWhereAnswersAreCutInSilence = fault_machine(
    lambda: Source(cut=2, says_so=False, has_marks=False), CONNECTOR, examples=6
).TestCase
TestFaultsWithoutSyncCollection = fault_machine(lambda: Source(syncs=False), CONNECTOR, examples=6).TestCase
TestFaultsWithoutAnything = fault_machine(lambda: Source(syncs=False, has_marks=False), CONNECTOR, examples=6).TestCase
