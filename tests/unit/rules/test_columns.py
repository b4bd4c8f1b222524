"""Learned values are kept as rows, and nobody outside can tell: entries are texts, as if a dict held them."""

from __future__ import annotations

import json
from array import array
from base64 import b64encode
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rules.columns import KEPT
from rules.state import RuleState

KEYS = [half + rest for half in ("00" * 8, "7f" * 8, "ff" * 8) for rest in ("00" * 8, "01" + "00" * 7, "ff" * 8)]
"""Of which three each begin alike: what is found by its first half must be told apart by the second."""
rules, keys = st.sampled_from(["one", "two"]), st.sampled_from(KEYS)
steps = st.lists(
    st.tuples(st.just("learn"), rules, keys, st.integers(1, 400))
    | st.tuples(st.sampled_from(["delete", "list", "odd"]), rules, keys, st.integers(1, 400))
    | st.tuples(st.sampled_from(["take", "reload"]), rules, keys, st.just(0)),
    max_size=60,
)


def text(day: int, values: list[float]) -> str:
    return f"{day} {b64encode(array('f', values).tobytes()).decode()}"


@settings(max_examples=300, deadline=None)
@given(steps)
def test_a_row_is_an_entry_like_any_other(given_steps: list[tuple[str, str, str, int]]) -> None:
    state = RuleState()
    known: dict[str, list[float]] = {}
    entries: dict[str, Any] = {}
    stored: dict[str, Any] = {}
    for what, rule, key, number in given_steps:
        name = f"base/{rule}/{key}"
        if what == "learn":
            assert state.learn(rule, bytes.fromhex(key), 739_000 + number, number / 8).tolist() == known.get(name, [])
            known[name] = [*known.get(name, []), number / 8][-KEPT:]
            entries[name] = text(739_000 + number, known[name])
        elif what == "delete":
            state.delete(name)
            known.pop(name, None)
            entries.pop(name, None)
        elif what in ("list", "odd"):
            known.pop(name, None)
            entries[name] = [number, "x"] if what == "list" else f"{number} no row"
            state.put(name, entries[name])
        else:
            stored |= json.loads(json.dumps(state.take_changes()))
            if what == "reload":
                state = RuleState()
                state.load(stored)
        assert dict(state.items()) == entries
        assert list(dict(state.items("base/one/"))) == sorted(name for name in entries if name.startswith("base/one/"))
        assert (state.get(name), len(state)) == (entries.get(name), len(entries))
    stored |= state.take_changes()
    assert {name: value for name, value in stored.items() if value is not None} == entries


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=3 * KEPT))
def test_the_newest_values_are_kept_to_the_last_bit(values: list[float]) -> None:
    state = RuleState()
    for value in values:
        state.learn("rule", bytes(16), 739_000, value)
    again = RuleState()
    again.load(state.take_changes())
    assert again.learn("rule", bytes(16), 739_000, 0.0).tolist() == values[-KEPT:]
    assert state.take_changes() == {}


def test_texts_that_no_row_can_hold_are_kept_as_they_are() -> None:
    key = "00" * 16
    odd = {
        "base/r/" + key.upper().replace("0", "A"): text(739_000, [1.0]),
        f"base/r/{key[:-2]}": text(739_000, [1.0]),
        f"base/r/{key}": text(739_000, [1.0] * (KEPT + 1)),
        f"base/a/{key}": f"0{text(739_000, [1.0])}",
        f"base/b/{key}": text(739_000, [1.0]) + "\n",
        f"base/c/{key}": "٣ AACAPw==",
        f"base/d/{key}": "739000 AACAP",
        f"base/e/{key}": text(99_999_999, [1.0]),
        "base/f": text(739_000, [1.0]),
    }
    state = RuleState()
    state.load(odd)
    assert dict(state.items()) == odd
    assert all(state.get(name) == value for name, value in odd.items())
    for name in odd:
        state.delete(name)
    assert state.take_changes() == dict.fromkeys(sorted(odd))
