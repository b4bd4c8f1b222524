"""The Google Calendar connector against the laws of connectors, and under faults, on a calendar that keeps Google's
contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from extractors.google_calendar import GoogleCalendarConnector
from extractors.google_calendar.config import GoogleCalendarConfig
from extractors.testing import START, ConnectorContract, Key
from extractors.testing.faults import fault_machine
from schemas.model import Json
from tests.standins.google import ADDRESS, FakeCalendar

CONNECTOR = GoogleCalendarConnector(page_items=2, calls_per_s=10_000)


def at(day: int, hour: int) -> dict[str, str]:
    moment = START.replace(hour=hour) + timedelta(days=day)
    return {"dateTime": moment.isoformat(), "timeZone": "Europe/Berlin"}


class CalendarSource:
    """A calendar that a person keeps: single meetings, and each third one a series of three."""

    def __init__(self) -> None:
        self.fake = FakeCalendar()
        self.fake.start()
        self.config = GoogleCalendarConfig(base_url=self.fake.url, allow_private=True)
        self.key = Key(tokens=lambda refused: "token-1")
        self.added = 0
        self.changed = 0

    def add(self) -> None:
        number = self.added
        self.added += 1
        more: dict[str, Any] = {"recurrence": ["RRULE:FREQ=WEEKLY;COUNT=3"]} if number % 3 == 2 else {}
        self._put(number, f"Meeting {number}", **more)

    def change(self) -> None:
        self.changed += 1
        event = self.fake.calendars[ADDRESS].events[self._first()]
        if event.get("recurrence") and self.changed % 2:
            self._move_second_date(event)
        else:
            self.fake.put({**event, "summary": f"Renamed {self.changed}"})

    def remove(self) -> None:
        self.fake.remove(self._first())

    def poison(self) -> None:
        self.fake.put({"id": "poison", "summary": "No date at all"})

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "down": self.fake.stop,
            "html": lambda: self.fake.arm("html"),
            "revoked": lambda: self.fake.arm("revoked"),
            "empty": self._empty,
        }

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return self.fake.faults()

    def heal(self) -> None:
        self.fake.heal()

    def lose_cursors(self) -> None:
        self.fake.forget()

    def close(self) -> None:
        self.fake.stop()
        assert self.fake.violations == []

    def fingerprint(self) -> Json:
        return [[name, event["etag"]] for name, event in self.fake.calendars[ADDRESS].events.items()]

    def _put(self, number: int, title: str, **more: Any) -> None:
        self.fake.put(
            {"id": f"meeting{number}", "summary": title, "start": at(number, 9), "end": at(number, 10), **more}
        )

    def _move_second_date(self, series: Mapping[str, Any]) -> None:
        original = _later(series["start"], timedelta(days=7))
        moved = {
            "id": f"{series['id']}_second",
            "summary": f"Moved {self.changed}",
            "recurringEventId": series["id"],
            "originalStartTime": original,
            "start": _later(original, timedelta(hours=self.changed % 5)),
            "end": _later(original, timedelta(hours=self.changed % 5 + 1)),
        }
        self.fake.put(moved)

    def _first(self) -> str:
        events = self.fake.calendars[ADDRESS].events
        live = (name for name, event in events.items() if event["status"] != "cancelled" and "_" not in name)
        return min(live, key=_number)

    def _empty(self) -> None:
        self.fake.forget()
        self.fake.blind = True


def _later(moment: Mapping[str, str], by: timedelta) -> dict[str, str]:
    return {**moment, "dateTime": (datetime.fromisoformat(moment["dateTime"]) + by).isoformat()}


def _number(name: str) -> int:
    return int(name.removeprefix("meeting")) if name.startswith("meeting") else 1_000


class TestGoogleCalendar(ConnectorContract):
    connector = CONNECTOR

    @pytest.fixture(autouse=True)
    def _closing(self) -> Iterator[None]:
        self.opened: list[CalendarSource] = []
        yield
        for source in self.opened:
            source.close()

    def source(self, folder: Path) -> CalendarSource:
        self.opened.append(CalendarSource())
        return self.opened[-1]


TestFaults = fault_machine(CalendarSource, CONNECTOR).TestCase
