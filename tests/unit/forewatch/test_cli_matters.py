"""``forewatch matters``: what belongs together, why, and a person's word on it."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from forewatch.matters import output
from forewatch.settings import Settings
from forewatch.wiring import open_settings_log
from rules.testing import make_event
from schemas.event import Event

Forewatch = Callable[..., Any]
Short = dict[str, Any]
ZONE = ZoneInfo("Europe/Berlin")
IBAN = "DE02120300000000202051"
INVOICE = {"number": "A-7781", "amount": "49.90 EUR", "due": "+14d", "iban": IBAN}
BILL: Short = {
    "kind": "mail.received", "from": "Hillside Energy <billing@hillside.example>", "title": "Your invoice",
    "facts": {"invoice": INVOICE}, "matter": "invoice:hillside.example:A-7781", "subject": "m1",
}  # fmt: skip
ROW: Short = {
    "kind": "bank.posted", "at": "+9d", "amount": "-49.90 EUR", "title": "H E Ltd", "matter": "bank:r1",
    "subject": "r1", "payload": {"counterparty": "H E Ltd", "counterparty_iban": IBAN},
}  # fmt: skip
OTHER: Short = ROW | {
    "amount": "-3.00 EUR",
    "title": "Kiosk",
    "matter": "bank:r2",
    "subject": "r2",
    "payload": {},
}
NOTICE: Short = {"kind": "account.silent", "subject": "a"}


@pytest.fixture
def events(forewatch: Forewatch, home: Path) -> list[Event]:
    """A bill, the row that pays it, another row and something without a matter, in the log of a home."""
    forewatch("init")
    made = [make_event(short, number, ZONE, "me") for number, short in enumerate((BILL, ROW, OTHER, NOTICE))]
    asyncio.run(append(made))
    return made


async def append(events: Iterable[Event]) -> None:
    log = await open_settings_log(Settings.load(None))
    try:
        await log.append([output(event) for event in events])
    finally:
        await log.close()


def test_what_belongs_together_is_listed_and_shown_with_what_ties_it(forewatch: Forewatch, events: list[Event]) -> None:
    (matter,) = forewatch("matters", "list", "--json").json
    assert matter["matter"] == "invoice:hillside.example:A-7781"
    assert [thing["event"] for thing in matter["things"]] == [events[0].id, events[1].id]
    (tie,) = matter["ties"]
    assert (tie["how"], tie["score"], sorted(tie["events"])) == ("iban", 1.0, [events[0].id, events[1].id])
    assert forewatch("matters", "show", events[1].id, "--json").json == matter
    shown = forewatch("matters", "show", matter["matter"]).out
    assert "tie iban (1): bank:r1 = invoice:hillside.example:A-7781" in shown
    assert f"+ iban: {IBAN}" in shown


def test_what_is_parted_and_joined_by_a_word_stays_so(forewatch: Forewatch, events: list[Event]) -> None:
    bill, row, other, _ = (event.id for event in events)
    said = forewatch("matters", "split", bill, row)
    assert said.code == 0
    assert "parted, for good; it counts when the service runs" in said.err
    assert forewatch("matters", "list", "--json").json == []
    told = forewatch("matters", "join", bill, other, "--json").json
    assert (told["kind"], told["trust"], told["payload"]["second"]) == ("matter.joined", "self", "bank:r2")
    (matter,) = forewatch("matters", "list", "--json").json
    assert [tie["how"] for tie in matter["ties"]] == ["told"]
    forewatch("matters", "split", other, bill)
    assert forewatch("matters", "list").out.strip() in ("", "no two events belong together")


def test_a_mistake_says_what_to_do(forewatch: Forewatch, events: list[Event]) -> None:
    bill, _, _, notice = (event.id for event in events)
    unknown = forewatch("matters", "split", bill, "nothing-like-it")
    assert (unknown.code, "there is no event 'nothing-like-it'" in unknown.err) == (3, True)
    assert forewatch("matters", "show", "nothing-like-it").code == 3
    assert forewatch("matters", "split", "example-", bill).code == 3
    bare = forewatch("matters", "join", bill, notice)
    assert "belongs to no matter" in bare.err
    same = forewatch("matters", "split", bill, bill)
    assert "nothing can part them" in same.err
    assert {bare.code, same.code} == {7}
