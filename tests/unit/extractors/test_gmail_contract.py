"""The Gmail connector against the laws of connectors, and under faults, on a Gmail that keeps Google's contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from extractors.gmail import GmailConnector
from extractors.gmail.config import GmailConfig
from extractors.gmail.draft import Sizes
from extractors.testing import START, ConnectorContract, Key
from extractors.testing.faults import fault_machine
from schemas.model import Json
from tests.standins.google import FakeGmail

CONNECTOR = GmailConnector(sizes=Sizes(items=2, at_once=2), calls_per_s=10_000)


def letter(number: int) -> bytes:
    lines = (
        f"From: Shop {number} <shop{number}@example.com>",
        "To: Nora <nora@example.org>",
        f"Subject: Mail {number}",
        f"Date: Mon, 2 Mar 2026 09:{number % 60:02}:00 +0100",
        f"Message-ID: <{number}@example.com>",
        "",
        f"This is mail number {number}.",
    )
    return "\r\n".join(lines).encode()


class GmailSource:
    """A mailbox that a person uses: mail comes, is starred, goes to the bin or is deleted for good."""

    def __init__(self) -> None:
        self.fake = FakeGmail()
        self.fake.start()
        self.config = GmailConfig(base_url=self.fake.url, allow_private=True)
        self.key = Key(tokens=lambda refused: "token-1")
        self.removed = 0

    def add(self) -> None:
        labels = ("INBOX", "UNREAD", "CATEGORY_UPDATES")
        self.fake.add(letter(self.fake.made), labels, START + timedelta(minutes=self.fake.made))

    def change(self) -> None:
        name = self._first()
        if "STARRED" in self.fake.letters[name].labels:
            self.fake.label(name, remove=("STARRED",))
        else:
            self.fake.label(name, add=("STARRED", "IMPORTANT"))

    def remove(self) -> None:
        self.removed += 1
        if self.removed % 2:
            self.fake.label(self._first(), add=("TRASH",), remove=("INBOX",))
        else:
            self.fake.delete(self._first())

    def poison(self) -> None:
        self.fake.add(None, ("INBOX",), START + timedelta(minutes=self.fake.made))

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
        return [[name, sorted(each.labels), each.at.isoformat()] for name, each in self.fake.letters.items()]

    def _first(self) -> str:
        return next(name for name, each in self.fake.letters.items() if not each.labels & {"TRASH"})

    def _empty(self) -> None:
        self.fake.forget()
        self.fake.blind = True


class TestGmail(ConnectorContract):
    connector = CONNECTOR

    @pytest.fixture(autouse=True)
    def _closing(self) -> Iterator[None]:
        self.opened: list[GmailSource] = []
        yield
        for source in self.opened:
            source.close()

    def source(self, folder: Path) -> GmailSource:
        self.opened.append(GmailSource())
        return self.opened[-1]


TestFaults = fault_machine(GmailSource, CONNECTOR).TestCase
