"""The short form of examples, and that the runner of examples tells a true one from a false one."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules import shorthand
from rules.ruleset import RuleSet
from rules.schema import json_schema
from rules.shorthand import ExampleError
from rules.testing import make_event, run_examples
from schemas.model import Json
from schemas.rule import Rule

BERLIN = ZoneInfo("Europe/Berlin")


def test_an_event_in_short_form_has_all_that_it_says() -> None:
    event = make_event(
        {
            "kind": "mail.received", "at": "+1d 09:30", "from": "ACME <Billing@acme.example>", "to": "me@home.example",
            "title": "Invoice", "amount": "-49.90 EUR", "due": "+30d 18:00", "payload": {"bulk": True},
            "facts": {
                "invoice": {"number": "7", "amount": "49.90 EUR", "due": "+30d"}, "due": "2026-04-01", "question": True,
            },
        },
        3,
        BERLIN,
    )  # fmt: skip
    assert event.observed_at.isoformat() == event.occurred_at.isoformat() == "2026-03-03T08:30:00+00:00"
    assert event.due_at is not None
    assert event.due_at.isoformat() == "2026-04-01T16:00:00+00:00", "after the clocks have changed"
    assert [(p.role, p.name, p.address, p.domain) for p in event.parties] == [
        ("from", "ACME", "billing@acme.example", "acme.example"), ("to", "", "me@home.example", "home.example"),
    ]  # fmt: skip
    assert event.amount is not None
    assert event.amount.amount == Decimal("-49.90")
    assert [fact.kind for fact in event.facts] == ["invoice", "due", "question"]
    assert event.facts[0].due == date(2026, 4, 1)  # type: ignore[union-attr]  # it is the invoice
    assert (event.trust, event.account, event.subject) == ("outside", "mail", "subject-3")


def test_an_entry_can_stand_for_a_series() -> None:
    short: dict[str, Json] = {
        "kind": "bank.posted", "at": "2026-01-31", "amount": ["1.00 EUR", "2.00 EUR"],
        "repeat": {"times": 3, "every": "month"},
    }  # fmt: skip
    found = list(shorthand.events(short, 0, "me", BERLIN))
    assert [event.observed_at.astimezone(BERLIN).date().isoformat() for event in found] == [
        "2026-01-31", "2026-02-28", "2026-03-31",
    ]  # fmt: skip
    assert [str(event.amount) for event in found] == ["1.00 EUR", "2.00 EUR", "1.00 EUR"]
    assert len({event.id for event in found}) == 3


@pytest.mark.parametrize(
    ("short", "message"),
    [
        ({"kind": "mail.recieved"}, "unknown kind 'mail.recieved'; did you mean 'mail.received'?"),
        ({"kind": "mail.sent", "titel": "x"}, "unknown key 'titel'; did you mean 'title'?"),
        ({"kind": "mail.sent", "at": "tomorrow"}, "not a time: 'tomorrow'"),
        ({"kind": "mail.sent", "amount": "50"}, "not an amount: '50'"),
        ({"kind": "mail.sent", "facts": {"deu": "+1d"}}, "unknown kind of fact 'deu'; did you mean 'due'?"),
        ({"kind": "mail.sent", "facts": {"invoice": {"numbr": "7"}}}, "fact invoice: numbr"),
        ({"kind": "mail.sent", "facts": ["due"]}, "a mapping is needed"),
        ({"kind": "mail.sent", "payload": {"bluk": True}}, "payload.mail.bluk"),
        ({"kind": "mail.sent", "repeat": {"times": 0}}, "repeat.times must be 1 to 60"),
        ({"kind": "mail.sent", "repeat": {"times": 2, "every": "moon"}}, "repeat.every: 'moon'"),
    ],
)
def test_a_mistake_in_an_example_is_told(short: dict[str, Json], message: str) -> None:
    with pytest.raises(ExampleError) as caught:
        list(shorthand.events(short, 0, "me", BERLIN))
    assert message in str(caught.value)


CHARGE = {"kind": "bank.posted", "amount": "-50.00 EUR", "payload": {"merchant": "acme"}}


@pytest.mark.parametrize(
    ("group", "example", "why"),
    [
        ("fires", {"events": [CHARGE]}, ""),
        ("fires", {"events": [CHARGE], "says": "acme took -50.00 EUR", "triggers": 1}, ""),
        ("fires", {"events": [CHARGE | {"amount": "5.00 EUR"}]}, "must fire, but did not match"),
        ("fires", {"events": [CHARGE], "triggers": 2}, "must fire 2 times, but fired 1 times"),
        ("fires", {"events": [CHARGE], "retracted": True}, "the last trigger must be withdrawn"),
        ("fires", {"events": [CHARGE], "says": "x"}, "must say 'x', but says 'acme took -50.00 EUR'"),
        ("fires", {"events": [CHARGE | {"occurred": "-99d"}]}, "must fire, but was silent (suppressed: stale)"),
        ("fires", {"events": [CHARGE, CHARGE | {"at": "soon"}]}, "events[1]: not a time: 'soon'; write such as"),
        ("silent", {"events": [CHARGE | {"amount": "5.00 EUR"}]}, ""),
        ("silent", {"events": [CHARGE]}, "must be silent, but fired 1 times: 'acme took -50.00 EUR'"),
    ],
)
def test_an_example_holds_or_says_why_not(group: str, example: dict[str, Any], why: str) -> None:
    rule = Rule.model_validate(
        {
            "id": "a-rule", "title": "A rule", "when": {"kind": "bank.posted", "where": "amount < 0"},
            "propose": {"title": "{{ merchant }} took {{ amount }}"}, "examples": {group: [example]},
        }
    )  # fmt: skip
    (prepared,) = RuleSet.of([rule], zone=BERLIN)
    (result,) = run_examples(prepared)
    assert result.passed is (why == "")
    assert result.why.startswith(why)


def test_the_published_schema_describes_every_key_of_a_rule() -> None:
    schema = json_schema()
    names = {field.alias or name for name, field in Rule.model_fields.items()}
    assert set(schema["$defs"]["Rule"]["properties"]) == names
    assert schema["$defs"]["Rule"]["additionalProperties"] is False
    assert schema["$defs"]["Deadline"]["properties"]["tolerance"]["default"] == "2h"
    single = schema["$defs"]["Rule"]["properties"]["when"]["anyOf"]
    assert [form.get("type", "one") for form in single] == ["one", "array"]
    assert "mail.received" in schema["$defs"]["Condition"]["properties"]["kind"]["examples"]
