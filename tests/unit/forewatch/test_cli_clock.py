"""What a person reads is by the owner's clock; JSON keeps the instant."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from actions.isolation.egress import EgressEntry
from actions.memory.remembering import STREAM
from actions.proposal.book import Book
from forewatch.cli import memory, proposals
from forewatch.client import Client
from forewatch.matters import output
from forewatch.memories import documents
from forewatch.plugins.ledger import FileLedger
from forewatch.settings import Settings
from forewatch.wiring import open_settings_log
from rules.testing import make_event
from schemas.account import CursorState
from schemas.memory import Basis, Memory
from streams import topics
from streams.codec import encode
from streams.work import Output

Forewatch = Callable[..., Any]

STATUS = {
    "owner": "me",
    "now": "2026-07-01T22:30:00.123456+00:00",
    "next_due": "2026-07-01T23:05:00+00:00",
    "rules_problem": "",
    "canary": {"sent_at": "2026-07-01T22:00:01+00:00", "seen_at": "2026-07-01T22:00:02+00:00", "is_lost": False},
}
POLLED_AT = datetime(2026, 12, 31, 23, 30, tzinfo=UTC)


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a running service answers."""
    status: dict[str, Any] = dict(STATUS)
    monkeypatch.setattr(Client, "get", lambda *_: status)
    return status


def rows(said: Any) -> dict[str, str]:
    return dict(line.split("\t")[::2] if line.count("\t") > 1 else line.split("\t") for line in said.out.splitlines())


def put(*outputs: Output) -> None:
    async def write() -> None:
        log = await open_settings_log(Settings.load(None))
        try:
            await log.append(list(outputs))
        finally:
            await log.close()

    asyncio.run(write())


def test_the_status_is_told_by_the_owners_clock(forewatch: Forewatch, serving: dict[str, Any]) -> None:
    shown = rows(forewatch("status"))
    assert (shown["now"], shown["next_due"]) == ("2026-07-02 00:30", "2026-07-02 01:05")
    assert shown["canary"] == "seen 2026-07-02 00:00"
    assert forewatch("status", "--json").json == STATUS
    serving["canary"] = None
    assert rows(forewatch("status"))["canary"] == "none was sent"


def test_doctor_tells_of_the_canary_by_the_owners_clock(forewatch: Forewatch, serving: dict[str, Any]) -> None:
    assert rows(forewatch("doctor"))["canary"] == "seen 2026-07-02 00:00"
    serving["canary"] = {**STATUS["canary"], "seen_at": None, "is_lost": True}  # type: ignore[dict-item]
    assert rows(forewatch("doctor"))["canary"].startswith("that of 2026-07-02 00:00 did not come")


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({}, "last polled 2027-01-01 00:30"),
        ({"failures": 1, "error": "no route", "retry_at": POLLED_AT}, "no route"),
        ({"silent": True, "arrivals": (POLLED_AT,)}, "silent since 2027-01-01 00:30"),
    ],
)
def test_doctor_tells_of_an_account_by_the_owners_clock(
    forewatch: Forewatch, tmp_path: Path, state: dict[str, Any], says: str
) -> None:
    (tmp_path / "family.ics").write_text("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nEND:VCALENDAR\r\n")
    forewatch("accounts", "add", "ics", tmp_path / "family.ics", "--name", "family")
    place = CursorState.model_validate({"account": "family", "polled_at": POLLED_AT} | state)
    put(Output(topics.CURSORS, b"family", encode(place)))
    (line,) = (line for line in forewatch("doctor").out.splitlines() if line.startswith("account family"))
    assert says in line
    assert "2027-01-01 00:30" in line
    assert "2026-12-31" not in line


def test_what_plugins_asked_for_is_told_by_the_owners_clock(forewatch: Forewatch, home: Path) -> None:
    forewatch("init")
    asked = {"id": "1", "at": POLLED_AT, "plugin": "words", "version": "1", "phase": "ended", "method": "GET"}
    FileLedger(home).note(EgressEntry.model_validate(asked | {"host": "words.example", "port": 443}))
    assert forewatch("plugins", "egress").out.startswith("2027-01-01 00:30\twords\tGET")


def test_the_days_of_a_matter_are_the_owners(forewatch: Forewatch) -> None:
    forewatch("init")
    zone = ZoneInfo("Europe/Berlin")
    short = {"kind": "bank.posted", "at": "2026-03-15 00:30", "amount": "-3.00 EUR", "matter": "bank:r1"}
    made = [make_event(short | {"subject": name}, n, zone, "me") for n, name in enumerate("ab")]
    put(*map(output, made))
    lines = forewatch("matters", "show", "bank:r1").out.splitlines()
    assert {line.split()[0] for line in lines[1:3]} == {"2026-03-15"}  # 23:30 of the day before in UTC


@pytest.mark.parametrize(
    ("until", "instant", "says"),
    [
        ("2026-03-28T02:30", "2026-03-28T01:30:00+00:00", "until 2026-03-28 02:30"),
        ("2026-03-29T02:30", "2026-03-29T01:30:00+00:00", "until 2026-03-29 03:30; there is no 02:30 on that day"),
        ("2026-10-25T02:30", "2026-10-25T00:30:00+00:00", "until 2026-10-25 02:30, the first of two on that day"),
        ("2026-10-25T02:30+01:00", "2026-10-25T01:30:00+00:00", "until 2026-10-25 02:30"),
    ],
)
def test_a_snooze_says_which_instant_was_taken_where_the_clocks_change(
    forewatch: Forewatch, monkeypatch: pytest.MonkeyPatch, until: str, instant: str, says: str
) -> None:
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(proposals, "find_card", lambda _: {"id": "p1", "title": "Pay", "digest": "d"})
    monkeypatch.setattr(Client, "post", lambda _, path, body: told.append(body))
    said = forewatch("proposals", "snooze", "p1", until)
    assert told[0]["args"] == {"until": instant}
    assert said.err.startswith(f"Pay: asleep {says}")
    assert ("on that day" in said.err) == ("on that day" in says)


def test_the_second_of_two_is_named_as_it_is_to_be_written(
    forewatch: Forewatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "find_card", lambda _: {"id": "p1", "title": "Pay", "digest": "d"})
    monkeypatch.setattr(Client, "post", lambda *_: {})
    assert "the second is 2026-10-25T02:30+01:00" in forewatch("proposals", "snooze", "p1", "2026-10-25T02:30").err


def test_what_is_remembered_is_told_by_the_owners_clock(forewatch: Forewatch, monkeypatch: pytest.MonkeyPatch) -> None:
    forewatch("init")
    basis = Basis(entry="e", stream=STREAM, at=POLLED_AT)
    note = Memory(id="m1", kind="note", code="note", text="x", first=POLLED_AT, last=POLLED_AT, basis=(basis,))
    found = documents(Book("me"), [note], ZoneInfo("Europe/Berlin"))
    monkeypatch.setattr(memory, "with_log", lambda _: found)
    assert forewatch("memory", "list").out.split("\t")[4] == "2027-01-01 00:30"
    shown = forewatch("memory", "show", "m1").out
    assert "first on 2027-01-01 00:30, last on 2027-01-01 00:30" in shown
    assert "because: 2027-01-01 00:30  you told it so" in shown
    assert forewatch("memory", "show", "m1", "--json").json["last"] == "2026-12-31T23:30:00Z"
