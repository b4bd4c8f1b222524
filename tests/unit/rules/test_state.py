"""RuleState: a mapping with dirty tracking, and timers that are found by when they are due."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rules.seen import Seen
from rules.state import RuleState
from schemas.model import Json

START = datetime(2026, 1, 1, tzinfo=UTC)
names = st.sampled_from(["timer/a", "timer/b", "timer/c", "case/a", "case/b"])
steps = st.lists(
    st.tuples(st.just("put"), names, st.integers(0, 50))
    | st.tuples(st.just("delete"), names, st.just(0))
    | st.tuples(st.sampled_from(["take", "reload"]), st.just(""), st.just(0)),
    max_size=40,
)


def entry(name: str, number: int) -> Json:
    due = (START + timedelta(hours=number)).isoformat()
    return {"due": due, "number": number} if name.startswith("timer/") else {"number": number}


@settings(max_examples=200)
@given(steps)
def test_it_is_a_mapping_whose_changes_rebuild_it(given_steps: list[tuple[str, str, int]]) -> None:
    state, model, stored = RuleState(), {}, {}
    for what, name, number in given_steps:
        if what == "put":
            state.put(name, entry(name, number))
            model[name] = entry(name, number)
        elif what == "delete":
            state.delete(name)
            model.pop(name, None)
        else:
            changes = json.loads(json.dumps(state.take_changes()))
            stored.update(changes)
            if what == "reload":
                state = RuleState()
                state.load(stored)
        assert dict(state.items()) == model
        dues = sorted(value["due"] for name, value in model.items() if name.startswith("timer/"))
        first = state.next_timer()
        assert (first.isoformat() if first else None) == (dues[0] if dues else None)
        middle = START + timedelta(hours=25)
        due = [name for _, name in state.due_timers(middle)]
        assert due == sorted((n for n in model if n.startswith("timer/") and model[n]["number"] <= 25),
                             key=lambda n: (model[n]["number"], n))  # fmt: skip
    stored.update(state.take_changes())
    assert {name: value for name, value in stored.items() if value is not None} == model
    assert state.take_changes() == {}


def test_deleting_what_is_not_there_is_no_change() -> None:
    state = RuleState()
    state.delete("case/a")
    assert state.take_changes() == {}


class _Event:
    def __init__(self, name: str, month: int) -> None:
        self.id = name
        self.occurred_at = datetime(2026, month, 1, tzinfo=UTC)


def test_an_event_is_new_once_also_after_a_restart() -> None:
    state = RuleState()
    seen = Seen(state)
    uuid = "6f0f3c1e-6a4c-5b5e-9d0a-f03e3a7c4b11"
    assert [seen.add(_Event(uuid, 1)), seen.add(_Event(uuid, 1)), seen.add(_Event("other", 1))] == [True, False, True]
    again = RuleState()
    again.load(state.take_changes())
    assert not Seen(again).add(_Event(uuid, 1))


def test_the_oldest_months_are_forgotten_when_there_are_too_many(monkeypatch: Any) -> None:
    monkeypatch.setattr("rules.seen.CAP", 100)
    state = RuleState()
    seen = Seen(state)
    for number in range(400):
        seen.add(_Event(f"event-{number}", 1 + number // 50))
    kept = [name for _, ids in state.items("seen/") for name in str(ids).split()]
    assert len(kept) <= 150
    assert "event-399" in kept
    assert "event-0" not in kept
    before = copy.deepcopy(dict(state.items()))
    assert not seen.add(_Event("event-399", 8))
    assert dict(state.items()) == before
