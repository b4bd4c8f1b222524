"""Rule files that want to do harm are refused at their place, or bounded: by what is counted, never by a clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import baseline, blueprints, case, checking, windows
from rules.cel.parser import MAX_TREE
from rules.checking import MOST_ERRORS
from rules.loader import RuleErrors, load
from rules.moment import MOST_FIRED
from rules.ruleset import RuleSet
from rules.tally import KEPT
from rules.testing import Player, make_event
from schemas.event import Event
from schemas.model import Json
from tests.scale import scaled
from tests.unit.rules.drawing import STREAMS, Stream, events_of, instant, made, rule_lists

Make = Callable[..., Player]
BERLIN = ZoneInfo("Europe/Berlin")
RULE = """\
rules:
  - id: a
    title: A
    when: {kind: bank.posted}
    propose: {title: x}
"""


def loaded(text: str, folder: Path) -> RuleSet:
    path = folder / "f.yaml"
    path.write_text(text, encoding="utf-8")
    return load([path], zone=BERLIN)


def refused(text: str, folder: Path) -> list[str]:
    with pytest.raises(RuleErrors) as caught:
        loaded(text, folder)
    return [str(error).replace(f"{folder}/", "") for error in caught.value.errors]


def where(expression: str) -> str:
    return RULE.replace("{kind: bank.posted}", f"\n      kind: bank.posted\n      where: {json.dumps(expression)}")


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        ("key: &a [account]\n    inhibit: *a", "6:10: anchors and aliases are not allowed in rule files"),
        ("<<: {enabled: false}", "6:5: unknown key '<<'"),
        ("description: !!python/object/apply:os.system [ls]", "6:18: tags are not allowed in rule files"),
        ("examples: " + "[" * 40 + "]" * 40, "6:28: nested deeper than 16 levels"),
        ("key:\n" + "      - account\n" * 11, "7:7: key has more than 10 items; make several rules of it"),
        ("key: '" + "{{" * 4000 + "'", "6:10: key is longer than 200 characters; shorten it"),
        ("inhibit: [" + "b, " * 100 + "]", "6:14: inhibit has more than 50 items"),
        ("deadline: {at: " + "due_at or " * 100 + "due_at, lead: 1d}", "6:20: at is longer than 200 characters"),
        ("deadline: {at: due_at, lead: 99999999999999999999d}", "6:34: not a duration"),
        ("deadline: {at: due_at, lead: [9999w]}", "6:35: too long: '9999w'; the longest duration is 3660d"),
        ("unless: {kind: bank.posted, within: 9999d9999d}", "6:41: too long: '9999d9999d'"),
        ("cooldown: -1d", "6:15: not a duration: '-1d'"),
        ("count: {over: 999d, at_least: 1}", "6:19: not a window: '999d'"),
        ("count: {over: every 0s, at_least: 1}", "6:19: not a window: 'every 0s'"),
        ("count: {over: 1d, at_least: 101}", "6:12: a sliding window counts to 100 at most"),
        ("threshold: {value: amount, above: nan}", "6:39: above: input should be a finite number"),
        ("threshold: {value: amount, above: '1e999'}", "6:39: above: input should be a finite number"),
        ("spike: {over: day, times: .inf}", "6:31: 'times' cannot be '.inf'; write a number"),
        ("anomaly: {value: amount, min_history: 100000}", "6:43: min_history: input should be less than"),
        ("change: {value: 'amount * 99999999999999999999'}", "6:31: this number does not fit in 64 bits"),
        ("group: {wait: 9999w}", "6:19: too long: '9999w'"),
        ("schedule: {quiet: [" + "{}, " * 20 + "]}", "6:23: quiet has more than 10 items"),
        ("examples: {fires: [{events: [" + "{kind: bank.posted}, " * 61 + "]}]}", "6:33: events has more than 60"),
        ("propose: {title: '{{ title.__class__ }}'}", "6:5: the key 'propose' is here twice"),
        ("key: '{{ title.__class__ }}'", "6:11: unknown field 'title.__class__'"),
        ("key: __class__", "6:10: unknown field '__class__'"),
        ("change: {value: payload.__class__.__name__}", "6:21: unknown field 'payload.__class__.__name__'"),
        ("change: {value: first.amount}", "6:21: unknown field 'first.amount'"),
    ],
)  # fmt: skip
def test_a_hostile_setting_is_refused_at_its_place(tmp_path: Path, addition: str, message: str) -> None:
    found = refused(f"{RULE}    {addition}\n", tmp_path)
    assert any(error.startswith(f"f.yaml:{message}") for error in found), found


@pytest.mark.parametrize(
    ("expression", "column", "message"),
    [
        ("title.__class__ == 'x'", 15, "unknown field 'title.__class__'"),
        ("payload.__dict__ != 'x'", 15, "unknown field 'payload.__dict__'"),
        ("trigger.amount == amount", 15, "unknown field 'trigger.amount'"),
        ("step2.amount == amount", 15, "unknown field 'step2.amount'"),
        ("__import__('os').system('ls') == 0", 15, "unknown function 'system'"),
        ("open('/etc/passwd').size() > 0", 15, "unknown function 'open'"),
        ("eval('1') == 1", 15, "unknown function 'eval'"),
        ("title.format(payload) == 'x'", 15, "unknown function 'format'"),
        ("parties.all(p, p.name == 'x')", 23, "'all' is not supported; rules have no loops"),
        ("{'a': 1} == 1", 15, "unexpected '{'; maps are not supported"),
        ("for x in y", 15, "'for' cannot be used here"),
        ("title == 'a'; title == 'b'", 27, "unexpected ';'"),
        ("(" * 60 + "true" + ")" * 60, 55, "nested deeper than 40 levels"),
        ("true" + "||true" * 500, 615, "more than 100 operations, each on the result of the one before it"),
        ("1" + "+1" * 500 + " == 501", 215, "more than 100 operations"),
        ("payload.flags" + "[0]" * 500 + " == 1", 326, "more than 100 operations"),
        ("title" + ".lower()" * 300 + " == 'x'", 15, "more than 100 operations"),
        ("title.matches('(a{99}){99}')", 29, "the pattern '(a{99}){99}' is not supported"),
        ("title.matches(text)", 29, "matches() needs a text written out here"),
        ("occurred_at + duration('9999999999w') > observed_at", 38, "too long: '9999999999w'"),
    ],
)  # fmt: skip
def test_a_hostile_expression_is_refused_at_its_place(
    tmp_path: Path, expression: str, column: int, message: str
) -> None:
    found = refused(where(expression), tmp_path)
    assert any(error.startswith(f"f.yaml:6:{column}: {message}") for error in found), found


@pytest.mark.parametrize(
    "expression",
    [
        "true" + " || true" * (MAX_TREE - 2),
        "true" + " && title == 'x'" * (MAX_TREE - 2),
        "1" + " + 1" * (MAX_TREE - 3) + " == 98",
        "payload.flags" + "[0]" * (MAX_TREE - 3) + " == 1",
        "title" + ".lower()" * (MAX_TREE - 3) + " == 'x'",
        "abs(" * 38 + "1" + " - 1" * (MAX_TREE - 42) + ")" * 38 + " == 1",
        "(" * 39 + "true" + ")" * 39,
        "!" * 39 + "true",
        "title in [" + ", ".join(["'a'"] * 780) + "]",
        "[" * 39 + "1" + "]" * 39 + " == [1]",
    ],
)
def test_the_deepest_expression_that_is_allowed_is_evaluated(tmp_path: Path, expression: str) -> None:
    kinds = "mail.received" if "flags" in expression else "bank.posted"
    rules = loaded(where(expression).replace("bank.posted", kinds), tmp_path)
    Player(rules, BERLIN).play([make_event({"kind": kinds}, 0, BERLIN)])


def test_a_blueprint_cannot_use_another_nor_itself(tmp_path: Path) -> None:
    text = "blueprints: [{id: b, inputs: {}, rule: {use: {blueprint: b}}}]\nrules: [{id: a, use: {blueprint: b}}]\n"
    assert refused(text, tmp_path) == [
        "f.yaml:1:41: a blueprint's rule has no 'use'; remove it",
        "f.yaml:2:34: unknown blueprint 'b'; mend the blueprint first",
    ]


def test_a_blueprint_cannot_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a megabyte would become two gigabytes."""
    written = 0

    def counted(self: Any, *arguments: Any) -> Any:
        nonlocal written
        filled = fill(self, *arguments)
        written += len(filled) if isinstance(filled, str) else 0
        return filled

    fill = blueprints._Filling._text
    monkeypatch.setattr(blueprints._Filling, "_text", counted)
    lines = "".join(f"      - '{'$(x)' * 2400}'\n" for _ in range(40))
    made_of = f"blueprints:\n- id: b\n  inputs: {{x: text}}\n  rule:\n    title: t\n    key:\n{lines}"
    uses = "".join(f"  - {{id: r{n}, use: {{blueprint: b, inputs: {{x: {'y' * 500}}}}}}}\n" for n in range(40))
    found = refused(f"{made_of}rules:\n{uses}", tmp_path)
    assert "more than 5,000,000 characters when expanded; split the file" in found[-1]
    assert written <= blueprints.MOST_TEXT


def test_mistakes_without_end_are_told_two_hundred_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def counted(*arguments: Any) -> str:
        nonlocal asked
        asked += 1
        return ""

    monkeypatch.setattr(checking, "did_you_mean", counted)
    for what in ("when: {kind: bank.posted}, inhibit: x%d", "when: {kind: bank.posted}, x%d: 1", "when: {kind: x%d}"):
        asked = 0
        rules = "".join(f"  - {{id: r{n}, title: t, {what % n}, propose: {{title: x}}}}\n" for n in range(300))
        assert len(refused(f"rules:\n{rules}", tmp_path)) == MOST_ERRORS
        assert asked <= MOST_ERRORS


# --- what is bounded -------------------------------------------------------------------------------------------------


def charge(number: int, at: str, **more: Json) -> Event:
    return make_event({"kind": "bank.posted", "at": at, "amount": "-5.00 EUR"} | more, number, BERLIN)


def test_windows_of_seconds_are_not_walked_through_one_by_one(player: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0

    def counted(*arguments: Any) -> Any:
        nonlocal looked_at
        looked_at += 1
        return aligned(*arguments)

    aligned = windows.aligned
    monkeypatch.setattr(windows, "aligned", counted)
    spike = {"over": "every 1s", "lateness": "3660d", "min_history": 3}
    played = player("Europe/Berlin", {"when": {"kind": "bank.posted"}, "spike": spike})
    played.play([charge(0, "-300d"), charge(1, "-200d"), charge(2, "-100d")])
    looked_at = 0
    played.play([charge(3, "0d")])
    assert looked_at <= 4 * (KEPT + 2)


def test_a_key_that_is_another_for_each_event_has_so_many_cases(player: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case, "MOST_CASES", 100)
    played = player("Europe/Berlin", {"when": {"kind": "bank.posted"}, "key": "{{ title }}{{ title }}", "unless": {
        "kind": "mail.sent", "where": "matter == trigger.matter", "within": "3660d"}})  # fmt: skip
    played.play([charge(n, f"+{n}m", title=f"{n} {'x' * 400}") for n in range(250)])
    cases = [name for name, _ in played.state.items("case/")]
    assert 90 <= len(cases) <= 100
    assert len([name for name, _ in played.state.items("timer/")]) == len(cases)
    assert len(played.triggers()) == 250
    assert max(len(trigger.key) for trigger in played.triggers()) <= 500


def test_what_is_learned_of_keys_without_end_is_forgotten_with_the_month(
    player: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baseline, "MOST_KEYS", 50)
    learns = {"when": {"kind": "bank.posted"}, "threshold": {"value": "amount", "below": -100, "by": "{{ title }}"}}
    played = player("Europe/Berlin", learns).play([charge(n, f"+{n}h", title=f"t{n}") for n in range(120)])
    played.evaluate(make_event({"kind": "clock.day", "at": "2026-04-01"}, 200, BERLIN))
    assert len(list(played.state.items("base/"))) == 50


def test_a_case_remembers_its_newest_triggers(player: Make) -> None:
    rule = {"when": {"kind": "bank.posted"}, "key": "account"}
    played = player("Europe/Berlin", rule).play([charge(n, f"+{n}m") for n in range(MOST_FIRED + 50)])
    (kept,) = (entry for _, entry in played.state.items("case/"))
    assert isinstance(kept, dict)
    assert [fired["occurrence"] for fired in kept["fired"]] == [f"example-{n}-" for n in range(50, MOST_FIRED + 50)]


def test_numbers_without_end_are_no_values(player: Make) -> None:
    value = "amount" + " * 1e300" * 40
    for detector in (
        {"change": {"value": value, "by": ["account"]}}, {"threshold": {"value": value, "above": 1}},
        {"new_value": {"value": value}}, {"sum": {"value": value, "over": "day", "above": 1}},
        {"anomaly": {"value": value}}, {"spike": {"value": value, "over": "day"}},
    ):  # fmt: skip
        played = player("Europe/Berlin", {"when": {"kind": "bank.posted"}} | detector)
        played.play([charge(0, "0d"), charge(1, "+1d")])
        assert [one.reason for one in played.explanations] == ["no_value", "no_value"]


YEARS = st.sampled_from([date(1, 1, 1), date(1899, 12, 31), date(3000, 1, 1), date(9999, 12, 31)])


@settings(max_examples=scaled(60, 2000), deadline=None)
@given(rule_lists(2), STREAMS, st.data())
def test_dates_beyond_all_calendars_do_no_harm(rules: Any, stream: Stream, data: st.DataObject) -> None:
    played = Player(made(rules, BERLIN), BERLIN)
    for event in events_of(stream, BERLIN):
        played.play([_far_away(event, data)])
    played.run_to(instant("+90d", BERLIN))


def _far_away(event: Event, data: st.DataObject) -> Event:
    """With some of its times moved to where there are no days."""
    names = [name for name in ("occurred_at", "starts_at", "ends_at", "due_at") if getattr(event, name) is not None]
    moved = {
        name: datetime.combine(data.draw(YEARS), datetime.min.time(), tzinfo=UTC)
        for name in names
        if data.draw(st.integers(0, 3)) == 0
    }
    facts = tuple(
        fact.model_copy(update={name: data.draw(YEARS) for name in ("on", "due") if getattr(fact, name, None)})
        for fact in event.facts
    )
    return event.model_copy(update=moved | {"facts": facts})
