"""What a trigger carries: evidence that can be shown, and values that say where they came from (laws L4, L5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.fields import fields_of, kept_fields
from rules.testing import Player, make_event
from schemas.event import Event
from schemas.fact import InvoiceFact, Span
from schemas.model import Json
from schemas.money import Money
from schemas.trigger import Trigger

Make = Callable[..., Player]
BERLIN = ZoneInfo("Europe/Berlin")
RULE: dict[str, Any] = {
    "when": {"kind": ["mail.received", "bank.posted", "calendar.scheduled"]},
    "says": "{{ title }} {{ fact.invoice.amount or amount }}",
}


def fired(player: Make, event: Event, rule: dict[str, Any] = RULE) -> Trigger:
    (trigger,) = player("Europe/Berlin", rule).play([event]).triggers()
    return trigger


def invoice() -> Event:
    short: dict[str, Json] = {
        "kind": "mail.received",
        "from": "ACME <billing@acme.example>",
        "title": "Invoice 7",
        "text": "Please pay 49.90 EUR for invoice 7.",
        "due": "2026-03-29 18:00",
        "payload": {"message_id": "m1", "thread": "t1", "references": ["m0"]},
    }
    span = Span(part="text", start=11, end=20, quote="49.90 EUR")
    fact = InvoiceFact(
        origin="text",
        certainty=0.8,
        span=span,
        number="7",
        amount=Money.of("49.90", "EUR"),
        iban="DE02120300000000202051",
    )
    return make_event(short, 0, BERLIN).model_copy(update={"facts": (fact,)})


@pytest.mark.parametrize(
    ("short", "level"),
    [
        ({"kind": "mail.received", "trust": "outside"}, "untrusted"),
        ({"kind": "bank.posted", "trust": "service"}, "known"),
        ({"kind": "calendar.scheduled", "trust": "self"}, "user"),
    ],
)
def test_a_value_is_trusted_as_its_event_is(player: Make, short: dict[str, Json], level: str) -> None:
    trigger = fired(player, make_event(short | {"title": "x", "amount": "-1.00 EUR"}, 0, BERLIN))
    assert trigger.values["title"].integrity == trigger.values["amount"].integrity == level
    assert trigger.values["account"].integrity == "system"
    assert trigger.values["title"].sources == ("example-0-",)


def test_values_have_the_nominal_types_that_plans_need(player: Make) -> None:
    values = fired(player, invoice()).values
    types = {name: (value.type, value.v) for name, value in values.items()}
    assert types["fact.invoice.amount"] == ("Money", {"amount": "49.90", "currency": "EUR"})
    assert types["fact.invoice.iban"] == ("Iban", "DE02120300000000202051")
    assert types["fact.invoice"] == types["fact.invoice.number"] == ("Text", "7")
    assert types["due_at"] == ("DateTime", "2026-03-29T16:00:00+00:00")
    assert types["party.address"] == ("Email", "billing@acme.example")
    assert types["payload.message_id"] == ("MessageId", "m1")
    assert types["id"] == ("EventId", "example-0-")
    assert types["account"] == ("AccountId", "mail")
    assert "text" not in types
    assert "payload.references" not in types


def test_a_value_from_a_fact_keeps_its_span(player: Make) -> None:
    span = fired(player, invoice()).values["fact.invoice.amount"].span
    assert span is not None
    assert span.quote == "49.90 EUR"


def test_evidence_quotes_the_facts_that_the_rule_reads(player: Make) -> None:
    rule = RULE | {"when": {"kind": "mail.received", "where": "has(fact.invoice)"}}
    trigger = fired(player, invoice(), rule)
    (item,) = trigger.evidence
    assert (item.event, item.quote, item.trust) == ("example-0-", "49.90 EUR", "outside")
    assert trigger.certainty == 0.8


def test_without_a_fact_the_evidence_is_the_beginning_of_the_event(player: Make) -> None:
    rule = {"when": {"kind": "mail.received"}}
    (item,) = fired(player, invoice(), rule).evidence
    assert item.quote == "Please pay 49.90 EUR for invoice 7."
    bank = make_event(
        {"kind": "bank.posted", "amount": "-9.00 EUR", "payee": "ACME", "payload": {"purpose": "thanks"}}, 1, BERLIN
    )
    (item,) = fired(player, bank, {"when": {"kind": "bank.posted"}}).evidence
    assert item.quote == "-9.00 EUR ACME thanks"


def test_a_trigger_explains_each_condition_with_its_value(player: Make) -> None:
    rule = {
        "when": {
            "kind": "mail.received",
            "match": {"title": {"words": ["invoice"]}},
            "where": "fact.invoice.amount > 5",
        }
    }
    explanation = fired(player, invoice(), rule).explanation
    said = [(value.condition, value.value, value.wanted, value.holds) for value in explanation.values]
    assert said == [
        ("title has one of invoice", "Invoice 7", None, True),
        ("fact.invoice.amount > 5", {"amount": "49.90", "currency": "EUR"}, "> 5", True),
    ]
    assert (explanation.outcome, explanation.reason) == ("fired", "matched")


def test_ids_depend_on_rule_revision_owner_key_and_occurrence(player: Make) -> None:
    event = make_event({"kind": "bank.posted"}, 0, BERLIN)
    one = player("Europe/Berlin", {"when": {"kind": "bank.posted"}})
    same = player("Europe/Berlin", {"when": {"kind": "bank.posted"}, "description": "said otherwise"})
    revised = player("Europe/Berlin", {"when": {"kind": "bank.posted"}, "says": "another title"})
    other = player("Europe/Berlin", {"when": {"kind": "bank.posted"}})
    other.owner = "somebody"
    other.__post_init__()
    ids = [played.play([event]).triggers()[0].id for played in (one, same, revised, other)]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 3


def test_every_kind_of_payload_has_fields_and_what_titles_use_is_kept() -> None:
    for tag in ("mail", "calendar", "bank", "balance", "record", "account", "run", "clock"):
        assert len(fields_of(tag)) > 100
    kept = {field.name for field in kept_fields("bank")}
    assert {"amount", "payload.merchant", "party.name", "fact.due", "fact.invoice.amount", "matter", "subject"} <= kept
    assert "text" not in kept


def test_a_key_that_this_kind_of_event_does_not_have_is_its_subject(player: Make) -> None:
    rule = {"when": {"kind": ["bank.posted", "mail.received"]}, "key": "payload.merchant"}
    mail = make_event({"kind": "mail.received", "subject": "s1"}, 0, BERLIN)
    bank = make_event({"kind": "bank.posted", "payload": {"merchant": "acme"}}, 1, BERLIN)
    assert fired(player, mail, rule).key == "s1"
    assert fired(player, bank, rule).key == "acme"
