"""Other rules between two events: what stayed is untouched, what is new knows the past, what went withdraws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import permutations
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.changeover import Difference, change_over, difference
from rules.library import library_paths
from rules.loader import load
from rules.prepared import PreparedRule, Shared
from rules.replay import Replay, Stops
from rules.ruleset import RuleSet
from rules.state import RuleState
from rules.testing import Player, make_event, tick
from schemas.event import Event
from schemas.rule import Rule
from schemas.trigger import Retraction, Trigger
from streams.rulebook import model_of
from tests.scale import scaled
from tests.unit.rules.drawing import DETECTORS, STREAMS, Stream, made
from tests.unit.rules.drawing import events_of as drawn_events
from tests.unit.rules.drawing import rules as drawn

ZONE = ZoneInfo("Europe/Berlin")
END = datetime(2026, 4, 20, tzinfo=ZONE)
PAID: dict[str, Any] = {"kind": "bank.posted", "where": "amount < 0"}
INVOICE = {"kind": "mail.received", "where": "has(fact.invoice)"}
GIVEN: dict[str, dict[str, Any]] = {
    "charge": {"when": {"kind": "bank.posted", "where": "amount < -40"}},
    "later": {"when": {"kind": "bank.posted", "where": "amount < -40"}, "for": "6h"},
    "together": {"when": PAID, "group": {"by": "account", "wait": "5h"}},
    "often": {"when": PAID, "count": {"over": "2d", "at_least": 3}},
    "weekly": {"when": PAID, "sum": {"value": "-amount", "over": "week", "above": 100}},
    "stranger": {"when": PAID, "new_value": {"value": "payload.merchant", "min_history": 2}},
    "odd": {"when": PAID, "anomaly": {"value": "-amount", "min_history": 3}},
    "dearer": {"when": PAID, "change": {"value": "-amount", "by": ["payload.merchant"], "direction": "up"}},
    "big": {"when": PAID, "threshold": {"value": "-amount", "above": 60}},
    "silence": {"when": PAID, "flatline": {"after": "3d"}, "key": "account"},
    "invoice": {
        "when": INVOICE,
        "deadline": {"at": "fact.due", "lead": ["3d", "1d"]},
        "unless": {"kind": "bank.posted", "where": "amount == -trigger.fact.invoice.amount"},
    },
    "answer": {"when": INVOICE, "absence": {"within": "2d", "of": {"kind": "mail.sent"}}},
    "then": {"when": INVOICE, "sequence": {"then": {"kind": "bank.posted"}, "within": "4d"}},
}
OTHERS: dict[str, dict[str, Any]] = {
    "charge": {"when": {"kind": "bank.posted", "where": "amount < -15"}},
    "later": {"for": "2h"},
    "together": {"group": {"by": "account", "wait": "2h"}},
    "often": {"count": {"over": "3d", "at_least": 2}},
    "weekly": {"sum": {"value": "-amount", "over": "day", "above": 50}},
    "stranger": {"new_value": {"value": "payload.merchant", "min_history": 1}},
    "odd": {"anomaly": {"value": "-amount", "min_history": 4, "threshold": 2}},
    "dearer": {"change": {"value": "-amount", "by": ["payload.merchant"], "direction": "down"}},
    "big": {"threshold": {"value": "-amount", "above": 30}},
    "silence": {"flatline": {"after": "2d"}},
    "invoice": {"deadline": {"at": "fact.due", "lead": "2d"}},
    "answer": {"absence": {"within": "1d", "of": {"kind": "mail.sent"}}},
    "then": {"count": {"over": "5d", "at_least": 2}, "sequence": None},
}
"""What each rule says instead, once it was changed; the last becomes another detector."""


def rule(name: str, *, other: bool = False, **more: Any) -> Rule:
    propose = {"title": "{{ title or amount }}"}
    given = {"id": name, "title": name, "propose": propose, **GIVEN[name], **(OTHERS[name] if other else {}), **more}
    return Rule.model_validate(given)


def rules(names: Iterable[str], others: Iterable[str] = ()) -> RuleSet:
    return RuleSet.of([rule(name, other=name in set(others)) for name in names], zone=ZONE)


class Service:
    """What the evaluate agent does, with a clock that ticks whenever a timer is due."""

    def __init__(self, first: RuleSet) -> None:
        self.player = Player(first, ZONE)

    def change(self, new: RuleSet) -> None:
        player, old = self.player, self.player.rules
        at = player.log[-1].observed_at if player.log else datetime(2026, 3, 1, tzinfo=ZONE)
        event = tick(at, player.owner, ZONE)
        player.evaluate(event)
        found = difference(old, new)
        replay = Replay(new.with_inhibitors(found.begun), player.owner, ZONE, Stops(player.log))
        replay.play(player.log)
        said = change_over(event, event.observed_at, player.state, old, new, replay.state, owner=player.owner)
        player.signals += said.signals
        later = Player(new, ZONE, state=player.state, signals=player.signals, log=player.log)
        self.player = later

    def play(self, events: Sequence[Event], *, until: datetime | None = None) -> None:
        self.player.play(events, until=until)


def by_rule(signals: Iterable[Any], name: str) -> list[str]:
    return [signal.model_dump_json() for signal in signals if signal.rule == name]


def triggers(signals: Iterable[Any]) -> list[tuple[str, str, str, datetime, str]]:
    return [(one.rule, one.key, one.occurrence, one.fired_at, one.title) for one in signals if isinstance(one, Trigger)]


rows = st.fixed_dictionaries(
    {"kind": st.just("bank.posted"), "subject": st.sampled_from("pqrstu"), "account": st.sampled_from(["a", "b"]),
     "amount": st.sampled_from(["-50.00 EUR", "-5.00 EUR", "-70.00 EUR", "-20.00 EUR"]),
     "payload": st.sampled_from(["acme", "shop", "rail"]).map(lambda name: {"merchant": name})}
)  # fmt: skip
mails = st.builds(
    lambda kind, number, due: (
        {"kind": kind, "subject": f"m{number}"}
        | (
            {"facts": {"invoice": {"number": number, "amount": "50.00 EUR"}, "due": {"on": due}}}
            if "rec" in kind
            else {}
        )
    ),
    st.sampled_from(["mail.received", "mail.received", "mail.sent"]),
    st.sampled_from("123"),
    st.integers(1, 20).map(lambda day: f"+{day}d"),
)
streams = st.lists(st.tuples(st.integers(0, 15 * 24), rows | rows | mails), min_size=2, max_size=20)


def events_of(stream: Iterable[tuple[int, dict[str, Any]]]) -> list[Event]:
    made = [make_event(x | {"at": f"+{hour}h", "version": str(n)}, n, ZONE) for n, (hour, x) in enumerate(stream)]
    return sorted(made, key=lambda event: event.observed_at)


names = st.lists(st.sampled_from(sorted(GIVEN)), unique=True)


@settings(max_examples=40, deadline=None)
@given(streams, st.integers(0, 25), names, names)
def test_a_rule_that_stays_says_what_it_says_without_any_change(
    stream: list[tuple[int, dict[str, Any]]], cut: int, gone: list[str], changed: list[str]
) -> None:
    events = events_of(stream)
    unbroken = Player(rules(GIVEN), ZONE).play(events, until=END)
    service = Service(rules(GIVEN))
    service.play(events[:cut])
    service.change(rules([name for name in GIVEN if name not in gone], changed))
    service.play(events[cut:], until=END)
    for name in set(GIVEN) - {*gone, *changed}:
        assert by_rule(service.player.signals, name) == by_rule(unbroken.signals, name)


@settings(max_examples=40, deadline=None)
@given(streams, st.integers(1, 25), names)
def test_a_new_or_changed_rule_goes_on_as_if_it_had_always_been_in_use(
    stream: list[tuple[int, dict[str, Any]]], cut: int, others: list[str]
) -> None:
    events, new = events_of(stream), rules(GIVEN, others)
    always = Player(new, ZONE).play(events[:cut])
    before = len(always.signals)
    always.play(events[cut:], until=END)
    for first in (rules([]), rules(GIVEN)):
        service = Service(first)
        service.play(events[:cut])
        service.change(new)
        said = len(service.player.signals)
        service.play(events[cut:], until=END)
        assert triggers(service.player.signals[said:]) == triggers(always.signals[before:])


@settings(max_examples=scaled(120, 5000), deadline=None)
@given(st.sampled_from(list(permutations(DETECTORS, 2))), STREAMS, st.integers(1, 40), st.booleans(), st.data())
def test_any_detector_may_become_any_other_whatever_it_was_waiting_for(
    pair: tuple[str, str], stream: Stream, cut: int, modified: bool, data: st.DataObject
) -> None:
    """With the same modifiers or others; without any, the second says what it would have said from the beginning."""
    first, second = (made([data.draw(drawn("r", detectors=[one], modified=modified))], ZONE) for one in pair)
    events = drawn_events(stream, ZONE)
    always = Player(second, ZONE).play(events[:cut])
    before = len(always.signals)
    always.play(events[cut:], until=END)
    service = Service(first)
    service.play(events[:cut])
    service.change(second)
    said = len(service.player.signals)
    service.play(events[cut:], until=END)
    ids = [signal.id for signal in service.player.signals]
    assert len(ids) == len(set(ids))
    if not modified:
        assert triggers(service.player.signals[said:]) == triggers(always.signals[before:])


@settings(max_examples=30, deadline=None)
@given(streams, st.integers(1, 25), names)
def test_nothing_is_withdrawn_twice_or_without_having_been_said(
    stream: list[tuple[int, dict[str, Any]]], cut: int, others: list[str]
) -> None:
    events = events_of(stream)
    service = Service(rules(GIVEN))
    service.play(events[:cut])
    service.change(rules(GIVEN, others))
    service.play(events[cut : cut + 3])
    service.change(rules([]))
    assert not [name for name, _ in service.player.state.items() if name.split("/")[0] != "seen"]
    signals = service.player.signals
    said = [signal.id for signal in signals if isinstance(signal, Trigger)]
    withdrawn = [signal.trigger for signal in signals if isinstance(signal, Retraction)]
    assert len(set(withdrawn)) == len(withdrawn)
    assert set(withdrawn) <= set(said)


def row(number: int, hour: int, amount: str, merchant: str = "acme") -> Event:
    short = {"kind": "bank.posted", "subject": f"r{number}", "at": f"+{hour}h", "amount": amount}
    return make_event(short | {"payload": {"merchant": merchant}}, number, ZONE)


def reasons(service: Service) -> list[tuple[str, str]]:
    return [(one.reason, one.says) for one in service.player.signals if isinstance(one, Retraction)]


def test_what_a_removed_rule_said_is_withdrawn() -> None:
    service = Service(rules(["charge"]))
    service.play([row(1, 1, "-50 EUR")])
    service.change(rules([]))
    assert reasons(service) == [("rule_removed", "The rule 'charge' is not in use any more.")]


def test_what_both_revisions_say_stands_under_its_name_and_can_be_withdrawn_later() -> None:
    service = Service(rules(["charge"]))
    service.play([row(1, 1, "-50 EUR"), row(2, 2, "-20 EUR")])
    service.change(rules(["charge"], ["charge"]))
    assert not reasons(service)
    (said,) = service.player.triggers()
    service.play([make_event({"kind": "bank.removed", "subject": "r1", "op": "retract", "at": "+5h"}, 7, ZONE)])
    (taken,) = [one for one in service.player.signals if isinstance(one, Retraction)]
    assert (taken.trigger, taken.reason) == (said.id, "removed")
    service.play([make_event({"kind": "bank.removed", "subject": "r2", "op": "retract", "at": "+6h"}, 8, ZONE)])
    assert len(reasons(service)) == 1, "what was never said is not withdrawn"


def test_what_the_new_revision_does_not_say_is_withdrawn() -> None:
    service = Service(rules(["charge"], ["charge"]))
    service.play([row(1, 1, "-50 EUR"), row(2, 2, "-20 EUR")])
    service.change(rules(["charge"]))
    assert reasons(service) == [("rule_changed", "The rule 'charge' was changed and does not say this any more.")]


def test_a_new_rule_knows_what_came_before_it() -> None:
    service = Service(rules([]))
    service.play([row(n, n, "-5 EUR", f"shop{n % 2}") for n in range(1, 5)])
    service.change(rules(["stranger"]))
    service.play([row(7, 30, "-5 EUR", "shop1"), row(8, 31, "-5 EUR", "elsewhere")])
    assert [trigger.key for trigger in service.player.triggers()] == ["r8"]


def test_a_cooldown_counts_from_what_was_said() -> None:
    cool = rule("charge", cooldown="5d", key="account")
    service = Service(rules([]))
    service.play([row(1, 1, "-50 EUR")])
    service.change(RuleSet.of([cool], zone=ZONE))
    service.play([row(2, 10, "-60 EUR"), row(3, 20, "-70 EUR")])
    assert [trigger.occurrence for trigger in service.player.triggers()] == [service.player.log[2].id]


def test_what_was_never_said_inhibits_nothing() -> None:
    other = rule("together", inhibit=["charge"], key="account", group=None)
    service = Service(rules([]))
    service.play([row(1, 1, "-50 EUR")])
    service.change(RuleSet.of([rule("charge", key="account"), other], zone=ZONE))
    service.play([row(2, 10, "-35 EUR")])
    assert [trigger.rule for trigger in service.player.triggers()] == ["together"]


def test_the_difference_of_two_sets_is_told_by_name() -> None:
    found = difference(rules(["charge", "often", "odd"]), rules(["odd", "often", "big"], ["often"]))
    assert found == Difference(added=("big",), changed=("often",), removed=("charge",))
    assert str(found) == "1 added, 1 changed, 1 removed"
    assert not difference(rules(["charge"]), rules(["charge"]))


def test_a_rule_that_is_off_is_not_in_use() -> None:
    both = rules(["charge", "often"])
    assert difference(both, both.without(["often"])).removed == ("often",)


@pytest.mark.parametrize("path", library_paths(), ids=lambda path: path.stem)
def test_a_revision_is_read_back_from_the_log_as_it_was(path: Any) -> None:
    for one in load([path], zone=ZONE):
        again = PreparedRule(Rule.model_validate(model_of(one.model)), Shared(ZONE))
        assert again.revision == one.revision


def test_state_is_untouched_where_nothing_changed() -> None:
    service = Service(rules(GIVEN))
    service.play([row(n, n * 5, "-50 EUR") for n in range(6)])
    before = dict(service.player.state.items())
    service.change(rules(GIVEN))
    after = dict(service.player.state.items())
    assert {name for name in before.keys() ^ after.keys() if not name.startswith("seen/")} == set()
    assert {name for name in before if before[name] != after.get(name)} <= {
        name for name in before if name.startswith("seen/")
    }
    reloaded = RuleState()
    reloaded.load(before)
    assert service.player.state.next_timer() == reloaded.next_timer()
