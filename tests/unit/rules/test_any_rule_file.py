"""Any rule file is refused with places, or its rules are valid and bounded: by what is counted, never by a clock."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import event as note
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.library import library_paths
from rules.lint import lint
from rules.loader import RuleErrors, load, read_files
from rules.moment import Evaluation
from rules.ruleset import RuleSet
from rules.testing import Player, run_examples
from schemas.errors import RuleError
from tests.scale import scaled
from tests.unit.rules.drawing import STREAMS, Stream, events_of, rule_lists

BERLIN = ZoneInfo("Europe/Berlin")
LIBRARY: list[Any] = [document.data for document in read_files(library_paths()).documents]
NASTY = st.sampled_from([
    "", "x", "nan", "1e999", "9999w", "3660d", "0s", "every 1s", "session 1s", "366d", "{{ title }}" * 20, "$(x)",
    "__class__", "payload.__class__", "amount" + " * 1e300" * 30, "title + title + title", "a or b", "trigger.amount",
    "first.amount", "bank.posted", "clock.tick", "record.x", "title.matches('(a+)+$')", "subject", "text",
    "occurred_at + duration('99999w')", "../../etc/passwd", "9999-12-31", "+9999w", "-9999w", "22:00-22:01", "true",
    "[]", "\u202e", 0, -1, 1, 10**17, -(10**17), 1e99, -1e-9, True, None, [], {}, [[]], {"kind": "bank.posted"},
    [1, "a", None],
])  # fmt: skip
"""What a file may say anywhere."""
SPARE = st.sampled_from([
    "unless", "key", "for", "cooldown", "group", "inhibit", "schedule", "max_age", "deadline", "rate", "count", "sum",
    "spike", "sequence", "match", "where", "by", "lateness", "include", "overrides", "use", "__class__",
])  # fmt: skip
MARKS = "{}[]:,&*!|>'#%@-? \n\tax" + '"'
MOST_STEPS = 20_000
"""Calls for one event or tick under one rule."""
MOST_ENTRIES = 10
"""Entries of the state for one event under one rule."""


def _places(data: Any, trail: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*trail, key)
        yield from _places(value, (*trail, key))


def _at(data: Any, trail: tuple[Any, ...]) -> Any:
    for step in trail:
        data = data[step]
    return data


def _copy(data: Any) -> Any:
    return json.loads(json.dumps(data))


@st.composite
def files(draw: st.DrawFn) -> str:
    """A rule of the library, or some that were drawn, with a few parts replaced, removed, moved or added."""
    if draw(st.booleans()):
        file = draw(st.sampled_from(LIBRARY))
        rule = draw(st.sampled_from(file["rules"]))
        data = _copy({name: file[name] for name in file if name == "blueprints"} | {"rules": [rule]})
    else:
        data = _copy({"rules": draw(rule_lists(2))})
    for _ in range(draw(st.integers(0, 4))):
        places = list(_places(data))
        if not places:
            break
        trail = draw(st.sampled_from(places))
        holder, key = _at(data, trail[:-1]), trail[-1]
        change = draw(st.integers(0, 4))
        if change <= 1:
            holder[key] = _copy(draw(NASTY))
        elif change == 2:
            del holder[key]
        elif change == 3:
            holder[key] = _copy(_at(data, draw(st.sampled_from(places))))
        elif isinstance(holder, dict):
            holder[draw(SPARE)] = _copy(holder[key] if draw(st.booleans()) else draw(NASTY))
    text = json.dumps(data, indent=1)
    if draw(st.integers(0, 5)) == 0:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.text(MARKS, max_size=3)) + text[at + 1 :]
    return text


class Counting(Player):
    """Counts the calls of functions, Python's own included, of each evaluation."""

    most = 0

    def evaluate(self, event: Any) -> Evaluation:
        count = 0

        def profile(frame: Any, what: str, argument: Any) -> None:
            nonlocal count
            count += what in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(profile)
        try:
            return super().evaluate(event)
        finally:
            sys.setprofile(before)
            self.most = max(self.most, count)


def taken(text: str, folder: Any) -> RuleSet | tuple[RuleError, ...]:
    path = folder / "any.yaml"
    path.write_text(text, encoding="utf-8")
    try:
        return load([path], zone=BERLIN)
    except RuleErrors as error:
        return error.errors


@settings(max_examples=scaled(150, 5000), deadline=None)
@given(files(), STREAMS)
def test_any_file_is_refused_with_places_or_its_rules_are_bounded(
    tmp_path_factory: pytest.TempPathFactory, text: str, stream: Stream
) -> None:
    found = taken(text, tmp_path_factory.getbasetemp())
    note("taken" if isinstance(found, RuleSet) else "refused")
    if not isinstance(found, RuleSet):
        assert found
        for error in found:
            assert error.message
            assert 1 <= error.location.line <= text.count("\n") + 1
        return
    assert all(warning.message for warning in lint(found))
    assert all(isinstance(result.why, str) for rule in found for result in run_examples(rule))
    played = Counting(found, BERLIN).play(events_of(stream, BERLIN))
    assert played.most <= MOST_STEPS * max(1, len(found))
    assert len(played.state) <= MOST_ENTRIES * (1 + len(stream)) * max(1, len(found))
