"""Why and why not: what each rule did with an event, and what would have made it fire."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.explain import Told, why
from rules.ruleset import RuleSet
from rules.testing import OWNER, make_event
from schemas.event import Event
from schemas.model import Json
from schemas.rule import Rule

BERLIN = ZoneInfo("Europe/Berlin")


def rules(**given: dict[str, Any]) -> RuleSet:
    propose = {"title": "t"}
    return RuleSet.of(
        [
            Rule.model_validate({"id": name, "title": "A rule", "propose": propose, **rule})
            for name, rule in given.items()
        ],
        zone=BERLIN,
    )


def explained(rule_set: RuleSet, *events: Event, rule: str | None = None) -> list[Told]:
    return why(rule_set, events, owner=OWNER, zone=BERLIN, rule=rule)


def row(number: int = 0, **more: Json) -> Event:
    short: dict[str, Json] = {"kind": "bank.posted", "at": f"+{number}d", "amount": "-12.50 EUR", "title": "ACME"}
    return make_event(short | more, number, BERLIN)


@pytest.mark.parametrize(
    ("rule", "reason", "nearest"),
    [
        ({"kind": "bank.posted", "where": "amount < -40"}, "where_false", "amount < -40 (it is -12.50 EUR)"),
        ({"kind": "bank.posted", "match": {"amount": {"below": -40}}}, "match_false",
         "amount < -40 (it is -12.50 EUR)"),
        ({"kind": "bank.posted", "where": "fact.due < observed_at"}, "missing_field",
         "fact.due < observed_at"),
        ({"kind": "bank.posted", "where": "has(fact.due)"}, "where_false", "has(fact.due) (fact.due is missing)"),
        ({"kind": "mail.sent"}, "kind_differs", "the event were mail.sent"),
        ({"kind": "bank.posted", "match": {"title": {"words": ["rent"]}}}, "match_false",
         "title has one of rent (it is ACME)"),
        ({"kind": "bank.posted", "where": "amount < -40 && title == 'ACME' && title.size() > 9"}, "where_false",
         "amount < -40 (it is -12.50 EUR); title.size() > 9 (it is ACME)"),
        ({"kind": "bank.posted", "match": {"account": ["card", "cash"]}}, "match_false",
         "account is card or cash (it is bank)"),
    ],
)  # fmt: skip
def test_a_rule_that_did_not_match_says_what_was_missing(rule: dict[str, Any], reason: str, nearest: str) -> None:
    (explanation,) = explained(rules(one={"when": rule}), row(), rule="one")
    assert (explanation.outcome, explanation.reason, explanation.nearest) == ("not_matched", reason, nearest)


def test_of_several_conditions_the_one_it_came_nearest_to_is_told() -> None:
    when = [
        {"kind": "bank.posted", "where": "amount < -40 && title == 'x'"},
        {"kind": "bank.posted", "where": "amount < -13 && title == 'ACME'"},
    ]
    (explanation,) = explained(rules(one={"when": when}), row())
    assert explanation.nearest == "amount < -13 (it is -12.50 EUR)"
    assert [value.holds for value in explanation.values] == [False, True]


def test_rules_that_did_something_come_first_and_rules_for_other_kinds_are_left_out() -> None:
    rule_set = rules(
        far={"when": {"kind": "bank.posted", "where": "amount < -40 && title == 'x'"}},
        fires={"when": {"kind": "bank.posted", "where": "amount < 0"}},
        near={"when": {"kind": "bank.posted", "where": "amount < -40"}},
        other={"when": {"kind": "mail.sent"}},
    )
    found = explained(rule_set, row())
    assert [(item.rule, item.outcome) for item in found] == [
        ("fires", "fired"), ("near", "not_matched"), ("far", "not_matched"),
    ]  # fmt: skip


def test_what_came_before_counts() -> None:
    rule = {"when": {"kind": "bank.posted", "where": "amount < 0"}, "anomaly": {"value": "-amount"}}
    rule_set = rules(odd=rule)
    (early,) = explained(rule_set, *(row(n) for n in range(3)))
    assert (early.outcome, early.reason, early.nearest) == ("skipped", "no_history", "2 earlier values: >= 6 (it is 2)")
    (usual,) = explained(rule_set, *(row(n) for n in range(9)))
    assert (usual.outcome, usual.reason) == ("skipped", "usual")
    assert usual.nearest.startswith("1.0 times the median of 8 earlier values: score >= 4")
    (odd,) = explained(rule_set, *(row(n) for n in range(9)), row(9, amount="-99.00 EUR"))
    assert (odd.outcome, odd.reason) == ("fired", "anomalous")


def test_a_suppression_names_what_settled_it() -> None:
    rule = {
        "when": {"kind": "mail.received", "where": "has(fact.invoice)"},
        "unless": {"kind": "bank.posted", "where": "amount == -trigger.fact.invoice.amount"},
    }
    bill = make_event({"kind": "mail.received", "at": "+1h", "facts": {"invoice": {"amount": "12.50 EUR"}}}, 5, BERLIN)
    (explanation,) = explained(rules(paid=rule), row(), bill)
    assert (explanation.outcome, explanation.reason) == ("suppressed", "unless")
    assert explanation.nearest == "Settled by bank posted: ACME."


def test_a_rule_that_is_off_says_so() -> None:
    (explanation,) = explained(rules(off={"when": {"kind": "bank.posted"}, "enabled": False}), row())
    assert (explanation.reason, explanation.nearest) == ("disabled", "the rule were enabled")


def test_an_event_that_the_source_withdraws_does_not_match() -> None:
    (explanation,) = explained(rules(one={"when": {"kind": "bank.posted"}}), row(op="retract"))
    assert (explanation.outcome, explanation.reason) == ("not_matched", "withdrawn")


SETTLED = {"when": {"kind": "mail.received"}, "unless": {"kind": "bank.posted", "before": "3d"}}
FOLLOWED = {
    "when": {"kind": "bank.posted"},
    "sequence": {"then": {"kind": "mail.received", "where": "title == 'Thanks'"}, "within": "3d"},
}


def rows(many: int) -> list[Event]:
    return [row(at=f"+{number}m", subject=f"r{number}", version=f"{number}") for number in range(many)]


@pytest.mark.parametrize("rule", [SETTLED, FOLLOWED], ids=["unless", "sequence"])
@pytest.mark.parametrize(
    ("many", "at", "is_told"),
    [(300, "+400m", False), (301, "+400m", True), (301, "+30d", False)],
    ids=["all are kept", "some went", "they were too old by then"],
)
def test_that_not_all_could_be_kept_which_might_settle_it_is_told(
    rule: dict[str, Any], many: int, at: str, is_told: bool
) -> None:
    seen = rows(many)
    mail = make_event({"kind": "mail.received", "at": at, "title": "Hello"}, 1000, BERLIN)
    (told,) = explained(rules(one=rule), *seen, mail, rule="one")
    newest_gone = f"{seen[74].occurred_at.astimezone(BERLIN):%Y-%m-%d %H:%M}"  # a quarter goes at once
    says = f"only the newest 300 for each condition are kept: none up to {newest_gone} counts any more"
    assert told.bound.partition(", or be a step of it, ")[2] == (says if is_told else "")
