"""Health: rules that the world keeps from speaking."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

from rules.health import examine
from rules.ruleset import RuleSet
from rules.shorthand import events
from schemas.event import Event
from schemas.rule import Rule

UTC = ZoneInfo("UTC")


def ruled(**more: Any) -> RuleSet:
    given = {"id": "mine", "title": "A rule", "when": {"kind": "bank.posted"}, "propose": {"title": "t"}, **more}
    return RuleSet.of([Rule.model_validate(given)], zone=UTC)


def month(account: str = "bank") -> list[Event]:
    """A charge a day, for thirty days."""
    short = {"kind": "bank.posted", "account": account, "amount": "-9 EUR", "repeat": {"times": 30, "every": "1d"}}
    return list(events(short, len(account), "me", UTC))


def found(rules: RuleSet, came: list[Event], **more: Any) -> list[tuple[str, str]]:
    return [(item.rule, item.code) for item in examine(rules, came, owner="me", zone=UTC, **more)]


def test_a_rule_that_sees_what_it_waits_for_is_well() -> None:
    assert found(ruled(), month()) == []


def test_a_rule_of_ones_own_without_anything_to_look_at_is_told_of() -> None:
    rules = ruled(when={"kind": "mail.received"})
    assert found(rules, month()) == [("mine", "never_evaluated")]
    assert found(rules, month(), shipped={"mine"}) == []


def test_too_little_has_come_to_say_anything() -> None:
    assert found(ruled(when={"kind": "mail.received"}), month()[:10]) == []
    assert found(ruled(when={"kind": "mail.received"}), []) == []


def test_a_rule_is_blind_when_all_of_its_sources_are_dead() -> None:
    both = sorted([*month(), *month(account="other")], key=lambda event: event.observed_at)
    assert found(ruled(), both, dead={"bank"}) == []
    assert found(ruled(), both, dead={"bank", "other", "mail"}) == [("mine", "dead_source")]


def test_a_baseline_that_is_split_too_finely_never_gets_a_history() -> None:
    anomaly = {"value": "-amount", "by": ["subject"], "min_history": 6}
    assert found(ruled(anomaly=anomaly), month()) == [("mine", "empty_baseline")]
    assert found(ruled(anomaly={**anomaly, "by": ["account"]}), month()) == []


def test_what_is_about_forewatch_itself_may_never_happen() -> None:
    assert found(ruled(when={"kind": ["run.failed", "account.silent"]}), month()) == []


def test_a_rule_that_is_not_enabled_is_nobodys_worry() -> None:
    assert found(ruled(when={"kind": "mail.received"}, enabled=False), month()) == []
