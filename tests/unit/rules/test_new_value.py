"""New values: what a key never had, against a set that forgets nothing, with restarts and deliveries that repeat."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.engine import Engine
from rules.language import ConditionErrors
from rules.new_value import KEPT, SHARDS
from rules.state import RuleState
from rules.testing import Player, make_event, tick
from schemas.event import Event
from schemas.model import Json
from tests.scale import scaled

Make = Callable[..., Player]
BERLIN = ZoneInfo("Europe/Berlin")

MERCHANT: dict[str, Any] = {
    "when": {"kind": "bank.posted", "where": "amount < 0"},
    "new_value": {"value": "payload.merchant", "min_history": 3},
    "says": "{{ new_value.value }} is new after {{ new_value.known }}",
}


def charge(number: int, merchant: str, **more: Json) -> Event:
    short: dict[str, Json] = {
        "kind": "bank.posted",
        "at": f"+{number}h",
        "amount": "-9.00 EUR",
        "payload": {"merchant": merchant},
    }
    return make_event(short | more, number, BERLIN)


def play(player: Make, merchants: str, rule: dict[str, Any] = MERCHANT) -> Player:
    return player("Europe/Berlin", rule).play([charge(n, merchant) for n, merchant in enumerate(merchants)])


def kinds(played: Player) -> list[str]:
    return [signal.type for signal in played.signals]


def test_a_merchant_that_the_account_never_had_is_told_once(player: Make) -> None:
    played = play(player, "abacca")
    assert [trigger.title for trigger in played.triggers()] == ["c is new after 3"]
    assert played.triggers()[0].explanation.reason == "new_value"
    assert played.triggers()[0].explanation.values[-1].condition == "never seen before, in 3 events in 0 days"
    assert [explanation.reason for explanation in played.explanations[-2:]] == ["known_value", "known_value"]


def test_it_is_quiet_until_enough_is_known(player: Make) -> None:
    assert play(player, "abc").explanations[-1].reason == "no_history"
    rule = MERCHANT | {"new_value": MERCHANT["new_value"] | {"learn": "30d"}}
    assert kinds(play(player, "aaabc", rule)) == []
    played = play(player, "aaab", rule)
    played.evaluate(charge(24 * 31, "c"))
    assert kinds(played) == ["trigger"]


def test_a_first_sync_teaches_in_silence(player: Make) -> None:
    history = [charge(n, chr(97 + n % 26), at="+90d", occurred=f"+{n}d") for n in range(60)]
    played = player("Europe/Berlin", MERCHANT).play(history)
    assert kinds(played) == []
    played.evaluate(charge(24 * 91, "new"))
    assert kinds(played) == ["trigger"]


def test_another_account_knows_its_own_merchants(player: Make) -> None:
    played = play(player, "aaab")
    played.play([charge(10 + n, merchant, account="card") for n, merchant in enumerate("aaab")])
    assert [trigger.evidence[0].account for trigger in played.triggers()] == ["bank", "card"]


def test_a_row_that_the_bank_takes_back_has_taught_nothing(player: Make) -> None:
    played = play(player, "aaa")
    played.evaluate(charge(3, "b", subject="odd"))
    played.evaluate(charge(4, "b", subject="odd", kind="bank.removed"))
    played.evaluate(charge(5, "b"))
    assert kinds(played) == ["trigger", "retraction", "trigger"]


def test_a_corrected_row_withdraws_what_was_said(player: Make) -> None:
    played = play(player, "aaa")
    played.evaluate(charge(3, "b", subject="odd", version="1"))
    played.evaluate(charge(4, "b", subject="odd", version="2"))
    played.evaluate(charge(5, "a", subject="odd", version="3"))
    assert kinds(played) == ["trigger", "retraction"]
    played.evaluate(charge(6, "b"))
    assert kinds(played) == ["trigger", "retraction", "trigger"], "b was never paid"


def test_what_is_not_told_teaches_all_the_same(player: Make) -> None:
    rule = MERCHANT | {"new_value": MERCHANT["new_value"] | {"tell": "amount < -100"}}
    played = play(player, "aaab", rule)
    assert played.explanations[-1].reason == "below_floor"
    played.play([charge(4, "b", amount="-500.00 EUR"), charge(5, "c", amount="-500.00 EUR")])
    assert [trigger.values["new_value.value"].v for trigger in played.triggers()] == ["c"]
    with pytest.raises(ConditionErrors, match="true or false"):
        player("UTC", MERCHANT | {"new_value": {"value": "merchant", "tell": "amount"}})


def test_a_payee_with_a_new_iban_is_told(player: Make) -> None:
    rule = MERCHANT | {
        "new_value": {"value": "payload.counterparty_iban", "by": ["payload.merchant"], "min_history": 2}
    }
    played = player("Europe/Berlin", rule)
    for number, iban in enumerate(["DE1", "DE1", None, "DE2", "DE2", "DE1"]):
        played.evaluate(charge(number, "m", payload={"merchant": "m", "counterparty_iban": iban}))
    assert [trigger.values["new_value.value"].v for trigger in played.triggers()] == ["DE2"]


def test_the_memory_of_a_key_is_bounded_and_keeps_what_was_seen_last(player: Make) -> None:
    played = player("Europe/Berlin", MERCHANT)
    for number in range(1800):
        played.evaluate(charge(number, f"m{number}", at=f"+{number // 20}d", occurred="-60d"))
        if number % 10 == 0:
            played.evaluate(charge(90_000 + number, "often", at=f"+{number // 20}d", occurred="-60d"))
    entries = [entry for _, entry in played.state.items("base/")]
    assert len(entries) == SHARDS + 1
    assert max(len(json.dumps(entry)) for entry in entries) < 20 * KEPT
    played.play([charge(24 * 100, "often"), charge(24 * 100 + 1, "m0")])
    assert [trigger.values["new_value.value"].v for trigger in played.triggers()] == ["m0"]


def test_a_key_that_is_not_used_for_two_years_is_forgotten(player: Make) -> None:
    played = play(player, "aaab")
    midnight = make_event({"kind": "clock.day", "at": "2029-01-01 00:00"}, 1, BERLIN).observed_at
    played.evaluate(tick(midnight, played.owner, played.zone, "clock.day"))
    assert not list(played.state.items("base/"))


@pytest.mark.parametrize("setting", [{"value": "merchnat"}, {"value": "merchant", "by": ["acount"]}])
def test_an_unknown_field_is_refused(player: Make, setting: dict[str, Any]) -> None:
    with pytest.raises(ConditionErrors, match="unknown"):
        player("UTC", {"when": {"kind": "bank.posted"}, "new_value": setting})


@settings(max_examples=scaled(60, 2000), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["bank", "card"]), st.sampled_from("abcdefgh")), max_size=40), st.data())
def test_it_agrees_with_a_set_that_forgets_nothing(player: Make, stream: list[tuple[str, str]], data: Any) -> None:
    rules = player("Europe/Berlin", MERCHANT).rules
    state, stored, said, expected = RuleState(), {}, [], []
    earlier: dict[str, list[str]] = {"bank": [], "card": []}
    for number, (account, merchant) in enumerate(stream):
        if merchant not in earlier[account] and len(earlier[account]) >= 3:
            expected.append(number)
        earlier[account].append(merchant)
        event = charge(number, merchant, account=account)
        if data.draw(st.booleans()):
            stored.update(json.loads(json.dumps(state.take_changes())))
            state = RuleState()
            state.load({name: value for name, value in stored.items() if value is not None})
        engine = Engine(rules, "me", BERLIN)
        said += [number for _ in engine.evaluate(event, state, event.observed_at).signals]
        assert engine.evaluate(event, state, event.observed_at).signals == []
    assert said == expected
