"""Lint: rules that load and yet cannot do what their author wants."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.library import library_paths
from rules.lint import lint
from rules.loader import load
from rules.ruleset import RuleSet
from schemas.rule import Rule

UTC = ZoneInfo("UTC")
EXAMPLES = {"fires": [{"events": [{"kind": "bank.posted"}]}], "silent": [{"events": [{"kind": "bank.posted"}]}]}


def codes(*rules: dict[str, Any]) -> list[str]:
    made = [
        Rule.model_validate(
            {"id": f"rule-{n}", "title": "A rule", "propose": {"title": "t"}, "examples": EXAMPLES, **rule}
        )
        for n, rule in enumerate(rules)
    ]
    return [warning.code for warning in lint(RuleSet.of(made, zone=UTC))]


def bank(where: str = "", **more: Any) -> dict[str, Any]:
    return {"when": {"kind": "bank.posted", "where": where}, **more}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (bank("amount < 0"), []),
        (bank("false"), ["cannot_fire"]),
        (bank("amount < -40 && amount > 10"), ["cannot_fire"]),
        (bank("amount > -40 && amount < 10"), []),
        (bank("10 > amount && 20 < amount"), ["cannot_fire"]),
        (bank("account == 'a' && account == 'b'"), ["cannot_fire"]),
        (bank("account == 'a' && account in ['b', 'c']"), ["cannot_fire"]),
        (bank("account == 'a' || account == 'b'"), []),
        ({"when": {"kind": "bank.posted", "match": {"account": "a"}, "where": "account == 'b'"}}, ["cannot_fire"]),
        ({"when": {"kind": ["bank.posted", "mail.sent"], "where": "merchant == 'x'"}}, ["field_of_other_kind"]),
        ({"when": {"kind": ["bank.posted", "mail.sent"], "where": "amount < 0"}}, []),
        (bank(unless={"kind": "mail.sent", "where": "subject == trigger.subject && 'a' == account && account == 'b'"}),
         ["unless_never_holds"]),
        (bank(unless={"kind": "mail.sent", "where": "subject == trigger.subject", "within": "0d", "before": "0d"}),
         ["unless_never_holds"]),
        (bank(unless={"kind": "mail.sent", "where": "title == 'x'"}), ["unless_unlinked"]),
        (bank(unless={"kind": "mail.sent", "where": "subject == trigger.subject"}), []),
        (bank(deadline={"at": "due_at", "lead": "500d"}), ["lead_too_long"]),
        (bank(deadline={"at": "due_at", "lead": ["5d", "5d"]}), ["lead_twice"]),
        ({"when": {"kind": "calendar.scheduled"}, "conflict": {}, "key": "account"}, ["unused_key"]),
        (bank(cooldown="3d"), ["unused_cooldown"]),
        (bank(cooldown="3d", key="account"), []),
        (bank(sequence={"then": {"kind": "bank.posted", "where": "amount == first.amount"}, "within": "1d"}), []),
        (bank(sequence={"then": {"kind": "bank.posted"}, "within": "1d"}), ["step_unlinked"]),
        (bank(sequence={"then": {"kind": "bank.posted", "where": "false"}, "within": "1d"}), ["step_never_holds"]),
        (bank(inhibit="rule-0"), ["inhibits_itself"]),
        (bank(schedule={"quiet": {"hours": "22:00-07:00"}}), []),
        (bank(schedule={"quiet": {}}), ["always_quiet"]),
        (bank(schedule={"quiet": [{"hours": "22:00-07:00"}, {"hours": "07:00-22:00"}]}), ["always_quiet"]),
        (bank(examples={"fires": EXAMPLES["fires"]}), ["no_examples"]),
    ],
)  # fmt: skip
def test_a_rule_is_warned_of(rule: dict[str, Any], expected: list[str]) -> None:
    assert codes(rule) == expected


def test_rules_that_say_the_same_are_told_apart() -> None:
    assert codes(bank("amount < 0"), bank("amount < 0")) == ["duplicate"]
    assert codes(bank("amount < 0"), bank("amount < 0 && account == 'a'")) == ["shadowed"]
    assert codes(bank("amount < 0 && account == 'a'"), bank("amount < 0")) == ["shadowed"]
    assert codes(bank("amount < 0"), bank("account == 'a'")) == []
    assert codes(bank("amount < 0"), bank("amount < 0", key="account")) == []


def test_rules_that_inhibit_one_another_are_a_circle() -> None:
    first, second, third = (bank(f"amount < -{n}") for n in (1, 2, 3))
    circle = [first | {"inhibit": "rule-1"}, second | {"inhibit": "rule-2"}, third | {"inhibit": "rule-0"}]
    assert codes(*circle).count("inhibit_circle") == 3
    assert codes(first | {"inhibit": "rule-1"}, second | {"inhibit": "rule-2"}, third).count("inhibit_circle") == 0


def test_no_rules_at_all_is_worth_a_warning() -> None:
    assert codes() == ["no_rules"]


def test_the_library_has_no_warnings() -> None:
    assert [str(warning) for warning in lint(load(library_paths(), zone=UTC))] == []


def test_a_warning_names_its_place_and_rule(tmp_path: Any) -> None:
    path = tmp_path / "r.yaml"
    path.write_text("rules:\n  - {id: a, title: A, when: {kind: mail.sent, where: 'false'}, propose: {title: t}}\n")
    first = lint(load([path], zone=UTC))[0]
    assert str(first) == f"{path}:2:5: a: it can never fire: 'false' is false"
