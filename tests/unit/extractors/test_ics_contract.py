"""The ics connector against the laws of connectors: as one file, and as a folder of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path

from extractors.calendar.testing import vcalendar, vevent
from extractors.ics import Ics
from extractors.ics.config import IcsConfig
from extractors.testing import ConnectorContract
from extractors.testing.faults import FaultyFiles, fault_machine
from extractors.testing.standin import Asked, Reply, StandIn
from schemas.model import Json

FIRST = datetime(2026, 3, 10, 9)  # noqa: DTZ001 - a wall time


class _Calendar:
    """Meetings on consecutive days, in memory; subclasses say how they lie on disk."""

    def __init__(self) -> None:
        self.events: dict[int, str] = {}
        self.added = 0

    def put(self, number: int, title: str) -> None:
        start = FIRST + timedelta(days=number)
        self.events[number] = vevent(
            f"meeting-{number}@example.org",
            f";TZID=Europe/Berlin:{start:%Y%m%dT%H%M%S}",
            "DURATION:PT1H",
            f"SUMMARY:{title}",
        )

    def add(self) -> None:
        self.put(self.added, f"Meeting {self.added}")
        self.added += 1
        self.write()

    def change(self) -> None:
        self.put(min(self.events), "Renamed")
        self.write()

    def remove(self) -> None:
        del self.events[min(self.events)]
        self.write()

    def poison(self) -> None:
        self.events[1000] = "BEGIN:VEVENT\r\nUID:poison\r\nSUMMARY:No date at all\r\nEND:VEVENT"
        self.write()

    def write(self) -> None:
        raise NotImplementedError


def fingerprint(folder: Path) -> Json:
    return [
        [path.name, path.lstat().st_mtime_ns, path.read_bytes().hex() if path.is_file() else ""]
        for path in sorted(folder.rglob("*"))
    ]


class _OneFile(_Calendar):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "family.ics"
        self.config = IcsConfig(path=self.path)

    def write(self) -> None:
        self.path.write_bytes(vcalendar(*self.events.values()))

    def breakages(self) -> Mapping[str, Callable[[], object]]:
        return {
            "empty": lambda: self.path.write_bytes(b""),
            "truncated": lambda: self.path.write_bytes(self.path.read_bytes()[:-40]),
            "html": lambda: self.path.write_bytes(b"<!DOCTYPE html><html><title>Sign in</title></html>"),
            "unreadable": self._loop,
            "unmounted": self.path.unlink,
        }

    def _loop(self) -> None:
        """Root may read whatever its mode is, but not follow a link to itself."""
        self.path.unlink()
        self.path.symlink_to(self.path)

    def fingerprint(self) -> Json:
        return fingerprint(self.path.parent)


class _Folder(_Calendar):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "calendars"
        self.config = IcsConfig(path=self.path)

    def write(self) -> None:
        self.path.mkdir(exist_ok=True)
        for old in self.path.iterdir():
            if int(old.stem) not in self.events:
                old.unlink()
        for number, event in self.events.items():
            (self.path / f"{number}.ics").write_bytes(vcalendar(event))

    def breakages(self) -> Mapping[str, Callable[[], object]]:
        return {
            "empty": self._clear,
            "truncated": lambda: self._first().write_bytes(self._first().read_bytes()[:-20]),
            "unreadable": self._loop,
            "unmounted": lambda: os.rename(self.path, self.path.with_name("elsewhere")),
        }

    def _clear(self) -> None:
        for file in self.path.iterdir():
            file.unlink()

    def _first(self) -> Path:
        return self.path / f"{min(self.events)}.ics"

    def _loop(self) -> None:
        self._first().unlink()
        self._first().symlink_to(self._first())

    def fingerprint(self) -> Json:
        return fingerprint(self.path)


class TestOneFile(ConnectorContract):
    connector = Ics(page_items=2)

    def source(self, folder: Path) -> _OneFile:
        return _OneFile(folder)


class TestFolder(ConnectorContract):
    connector = Ics(page_items=2)

    def source(self, folder: Path) -> _Folder:
        return _Folder(folder)


class _Published(_Calendar):
    """At a web address; the server gives it again only where it has changed."""

    def __init__(self) -> None:
        super().__init__()
        self.service = _Web()
        self.service.start()
        self.config = IcsConfig(url=f"{self.service.url}/family.ics", allow_private=True)
        self.key = None

    def write(self) -> None:
        self.service.calendar = vcalendar(*self.events.values())
        self.lose_cursors()

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        """A poll is one request."""
        return {name: lambda _, name=name: self.service.arm(name) for name in self.service.faults()}  # type: ignore[misc]

    def heal(self) -> None:
        self.service.heal()

    def lose_cursors(self) -> None:
        self.service.versions += 1

    def close(self) -> None:
        self.service.stop()


class _Web(StandIn):
    def __init__(self) -> None:
        super().__init__()
        self.calendar = b""
        self.versions = 0

    def answer(self, asked: Asked) -> Reply:
        tag = f'"{self.versions}"'
        if asked.headers.get("if-none-match") == tag:
            return Reply(304)
        return Reply(200, self.calendar, {"Content-Type": "text/calendar", "ETag": tag})


TestOneFileUnderFaults = fault_machine(lambda: FaultyFiles(_OneFile), Ics(page_items=2)).TestCase
TestFolderUnderFaults = fault_machine(lambda: FaultyFiles(_Folder), Ics(page_items=2)).TestCase
TestWebAddressUnderFaults = fault_machine(_Published, Ics(page_items=2)).TestCase
