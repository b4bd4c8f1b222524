"""A backtest says what live evaluation said, and for a new rule what it would have said."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from rules import shorthand
from rules.backtest import Report, backtest
from rules.library import library_paths
from rules.loader import load
from rules.replay import replay
from rules.ruleset import RuleSet
from rules.shorthand import BASE_DAY
from rules.testing import make_event
from schemas.clock import at_local
from schemas.event import Event
from schemas.model import Json
from schemas.rule import Rule
from tests.scale import scaled
from tests.unit.rules.living import Live, said

ZONE = ZoneInfo("Europe/Berlin")
RULES = load(library_paths(), zone=ZONE)
START = at_local(BASE_DAY, shorthand.BASE_TIME, ZONE)

days = st.integers(1, 40).map("+{}d".format)
facts: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {},
    optional={
        "invoice": st.fixed_dictionaries(
            {"number": st.sampled_from("12"), "amount": st.just("50.00 EUR"), "due": days}
        ),
        "due": st.fixed_dictionaries(
            {"on": days, "what": st.sampled_from(["return", "answer"])}
        ),
        "question": st.just(True),
        "resolution": st.sampled_from(["paid", "cancelled"]),
    },
)  # fmt: skip
mails: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {"kind": st.just("mail.received"), "from": st.just("ACME <billing@acme.example>"), "facts": facts,
     "matter": st.sampled_from(["t1", "t2"])}
)  # fmt: skip
rows: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {"kind": st.just("bank.posted"), "subject": st.sampled_from("pqrs"),
     "amount": st.sampled_from(["-50.00 EUR", "-5.00 EUR", "900.00 EUR"]),
     "payload": st.just({"merchant": "acme", "counterparty": "ACME"})}
)  # fmt: skip
streams = st.lists(st.tuples(st.integers(0, 30 * 24), mails | rows), max_size=12)
stops = st.lists(st.tuples(st.integers(0, 50 * 24), st.integers(1, 72)), max_size=4)


def events_of(stream: list[tuple[int, dict[str, Json]]]) -> list[Event]:
    return [make_event(short | {"at": f"+{hour}h", "version": str(n)}, n, ZONE, "me") for n, (hour, short) in
            enumerate(stream)]  # fmt: skip


def only(rule: str) -> RuleSet:
    return RuleSet([RULES.by_id[rule]], ZONE)


@settings(max_examples=scaled(50, 1000), deadline=None)
@given(streams, stops)
def test_a_backtest_of_all_rules_says_what_they_said_live(
    stream: list[tuple[int, dict[str, Json]]], stopped: list[tuple[int, int]]
) -> None:
    live = Live(RULES, stopped).play(events_of(stream))
    assert said(replay(RULES, live.log, owner="me", zone=ZONE)) == live.said()


@settings(max_examples=scaled(50, 1000), deadline=None)
@given(streams, stops, st.sampled_from(["invoice-unpaid", "due-soon", "mail-unanswered"]))
def test_a_backtest_of_one_rule_says_what_it_said_among_all(
    stream: list[tuple[int, dict[str, Json]]], stopped: list[tuple[int, int]], rule: str
) -> None:
    live = Live(RULES, stopped).play(events_of(stream))
    assert said(replay(only(rule), live.log, owner="me", zone=ZONE)) == live.said(rule)


@settings(max_examples=scaled(50, 1000), deadline=None)
@given(streams, st.sampled_from(["invoice-unpaid", "due-soon", "mail-unanswered"]))
def test_a_rule_that_was_not_in_use_says_what_it_would_have_said(
    stream: list[tuple[int, dict[str, Json]]], rule: str
) -> None:
    without = Live(RuleSet([], ZONE), []).play(events_of(stream))
    with_it = Live(only(rule), []).play(events_of(stream))
    assert said(replay(only(rule), without.log, owner="me", zone=ZONE)) == with_it.said()


# --- the report ----------------------------------------------------------------------------------------------------


def charges(*amounts: int) -> list[Event]:
    shorts: list[dict[str, Json]] = [
        {"kind": "bank.posted", "at": f"+{7 * n}d", "amount": f"-{amount} EUR", "payload": {"merchant": f"shop-{n}"}}
        for n, amount in enumerate(amounts)
    ]
    return [make_event(short, number, ZONE, "me") for number, short in enumerate(shorts)]


def charge_rule(above: int) -> RuleSet:
    given: dict[str, Any] = {
        "id": "big",
        "title": "Big",
        "when": {"kind": "bank.posted", "where": f"amount < -{above}"},
        "key": "merchant",
        "propose": {"title": "{{ merchant }} took {{ amount | abs | money }}"},
    }
    return RuleSet.of([Rule.model_validate(given)], zone=ZONE)


def report(above: int = 100, **options: Any) -> Report:
    return backtest(charge_rule(above), {"me": charges(150, 20, 120, 300)}, zone=ZONE, **options)


def test_the_report_counts_and_shows_the_first_and_the_last() -> None:
    (rule,) = report(shown=1).rules
    assert (rule.triggers, rule.retractions, rule.per_week) == (3, 0, round(3 * 7 / 22, 2))
    assert [sample.title for sample in rule.first] == ["shop-0 took 150.00 EUR"]
    assert [sample.title for sample in rule.last] == ["shop-3 took 300.00 EUR"]


def test_what_was_said_before_the_time_asked_for_does_not_count() -> None:
    found = report(since=START + timedelta(days=10))
    assert (found.events, found.days) == (4, 12)
    assert [sample.key for sample in found.rules[0].first] == ["shop-2", "shop-3"]


def test_precision_is_the_share_of_approved_answers_whatever_the_revision() -> None:
    occurrences = {sample.key: sample.occurrence for sample in report().rules[0].first}
    answers = {("big", key, occurrences[key]): key != "shop-2" for key in ("shop-0", "shop-2")}
    (rule,) = report(90, answers=answers).rules
    assert (rule.answered, rule.right, rule.precision) == (2, 1, 0.5)
    assert report().rules[0].precision is None


def test_two_versions_of_a_rule_are_compared_by_what_they_say() -> None:
    (rule,) = report(110, against=charge_rule(200)).rules
    assert rule.difference is not None
    assert rule.difference.both == 1
    assert [sample.key for sample in rule.difference.only_here] == ["shop-0", "shop-2"]
    assert rule.difference.only_there == ()


def test_without_events_there_is_an_empty_report() -> None:
    found = backtest(charge_rule(1), {}, zone=ZONE)
    assert (found.since, found.events, found.rules[0].triggers) == (None, 0, 0)


def test_what_inhibits_a_rule_plays_along_and_is_not_reported() -> None:
    big = charge_rule(100).rules[0].model
    small = big.model_copy(update={"id": "small", "when": charge_rule(10).rules[0].model.when, "inhibit": ("big",)})
    third = big.model_copy(update={"id": "third"})
    played = RuleSet.of([third, small, big], zone=ZONE).with_inhibitors(["small"])
    assert [rule.id for rule in played] == ["small", "big"]
    found = backtest(played, {"me": charges(150, 20, 120)}, zone=ZONE, only="small")
    assert [(rule.rule, [sample.key for sample in rule.first]) for rule in found.rules] == [("small", ["shop-1"])]
