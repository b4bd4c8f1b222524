"""What rests on an account, by its events, by what was concluded from them, and by the names they gave to matters."""

from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from rules.ruleset import RuleSet
from rules.testing import Player, make_event
from schemas.event import Event
from streams import topics
from streams.codec import encode
from streams.erase import Lineage
from streams.rewriting import Written

ZONE = ZoneInfo("Europe/Berlin")
IBAN = "DE02120300000000202051"
INVOICE = {"number": "A-7781", "amount": "49.90 EUR", "due": "+14d", "iban": IBAN}
BILL: dict[str, Any] = {
    "kind": "mail.received", "account": "mail", "subject": "m1", "title": "Your invoice",
    "from": "Hillside Energy <billing@hillside.example>", "facts": {"invoice": INVOICE},
    "matter": "invoice:hillside.example:A-7781", "payload": {"thread": "<t1@hillside.example>"},
}  # fmt: skip
ROW: dict[str, Any] = {
    "kind": "bank.posted", "at": "+9d", "account": "bank", "subject": "r1", "amount": "-49.90 EUR", "title": "H E Ltd",
    "matter": "bank:r1", "payload": {"counterparty": "H E Ltd", "counterparty_iban": IBAN},
}  # fmt: skip
WORD = {"first_event": "example-0-", "second_event": "example-1-", "first": BILL["matter"], "second": "bank:r1"}


def written(topic: str, *documents: Any) -> list[Written]:
    return [Written(n, topic, b"me", encode(document)) for n, document in enumerate(documents)]


def erased(account: str, *shorts: dict[str, Any]) -> tuple[list[Event], list[bytes]]:
    """The events, and what is left of them and of what their matters led to."""
    events = [make_event(short, number, ZONE) for number, short in enumerate(shorts)]
    merges = Player(RuleSet([], ZONE), ZONE).play(events).merges
    lineage = Lineage(account)
    records, signals = written(topics.EVENTS, *events), written(topics.TRIGGERS, *merges)
    lineage.trace_events(records)
    lineage.trace_signals(signals)
    assert merges
    return events, [left for record in (*records, *signals) if (left := lineage.verdict(record)) is not None]


def test_nothing_is_called_any_more_by_a_name_that_an_erased_event_brought() -> None:
    word = {"kind": "matter.split", "at": "+10d", "account": "forewatch", "payload": WORD}
    _, left = erased("mail", BILL, ROW, word)
    assert [msgspec.json.decode(document)["kind"] for document in left] == ["bank.posted"]
    assert b"hillside" not in b"".join(left)


def test_a_name_that_another_account_gave_too_stays() -> None:
    copy = BILL | {"account": "work", "subject": "m2"}
    events, left = erased("mail", BILL, copy, ROW)
    assert [msgspec.json.decode(document)["id"] for document in left][:2] == [events[1].id, events[2].id]
