"""The caldav connector against the laws of connectors, on a real Radicale."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from extractors.caldav import Caldav
from extractors.caldav.config import CaldavConfig
from extractors.caldav.poll import Sizes
from extractors.calendar.testing import vcalendar, vevent
from extractors.testing import ConnectorContract, Key
from schemas.model import Json
from tests.peers import caldav
from tests.peers.process import provided

FIRST = datetime(2026, 3, 10, 9)  # noqa: DTZ001 - a wall time


@pytest.fixture(scope="module")
def radicale(tmp_path_factory: pytest.TempPathFactory) -> Iterator[caldav.Server]:
    yield from provided(caldav.radicale, tmp_path_factory.mktemp("radicale"))


class _Calendar:
    """Meetings on consecutive days in one calendar."""

    def __init__(self, server: caldav.Server, desk: caldav.Desk) -> None:
        self.server, self.desk = server, desk
        self.config = CaldavConfig(url=server.url, username=caldav.USER, allow_private=True)
        self.key = Key({"password": caldav.PASSWORD})
        self.path = ""
        self.there: list[int] = []
        self.added = 0

    def put(self, number: int, title: str) -> None:
        start = FIRST + timedelta(days=number)
        event = vevent(
            f"meeting-{number}@example.org",
            f";TZID=Europe/Berlin:{start:%Y%m%dT%H%M%S}",
            "DURATION:PT1H",
            f"SUMMARY:{title}",
        )
        self.desk.put(f"{self.path}{number}.ics", vcalendar(event))

    def add(self) -> None:
        self.path = self.path or self.desk.make("work", "Work")
        self.put(self.added, f"Meeting {self.added}")
        self.there.append(self.added)
        self.added += 1

    def change(self) -> None:
        self.put(self.there[0], "Renamed")

    def remove(self) -> None:
        self.desk.delete(f"{self.path}{self.there.pop(0)}.ics")

    def poison(self) -> None:
        event = vevent("poison", ":20260310T090000Z")
        self.desk.put(f"{self.path}poison.ics", vcalendar("CALSCALE:JULIAN", event))

    def breakages(self) -> Mapping[str, Callable[[], object]]:
        return {
            "revoked": lambda: self.server.let_in(allowed=False),
            "unmounted": lambda: self.server.folder.rename(self.server.folder.with_name("elsewhere")),
        }

    def fingerprint(self) -> Json:
        """Without what Radicale keeps for itself, such as the sync tokens that it gave."""
        return [
            [str(path), path.lstat().st_mtime_ns, path.read_bytes().hex() if path.is_file() else ""]
            for path in sorted(self.server.folder.rglob("*"))
            if ".Radicale.cache" not in str(path) and path.suffix == ".ics"
        ]


class TestRadicale(ConnectorContract):
    connector = Caldav(Sizes(objects=2, items=1))
    items = 4

    @pytest.fixture(autouse=True)
    def _serve(self, radicale: caldav.Server) -> Iterator[None]:
        self.server = radicale
        self.desk = caldav.Desk(radicale)
        yield
        self._mend()
        self.desk.close()

    def _mend(self) -> None:
        self.server.let_in(allowed=True)
        if (elsewhere := self.server.folder.with_name("elsewhere")).exists():
            if self.server.folder.exists():
                self.server.folder.rename(elsewhere / "made-meanwhile")
            elsewhere.rename(self.server.folder)

    def source(self, folder: Path) -> _Calendar:
        self._mend()
        self.desk.clear()
        return _Calendar(self.server, self.desk)
