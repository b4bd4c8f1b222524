"""What counts, sums, rates, spikes and drops say, and what they keep; the definitions are in window_reference."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.ledger import MOST
from rules.lint import lint
from rules.loader import RuleErrors, load
from rules.testing import Player, make_event, run_examples
from schemas.event import Event
from schemas.model import Json

Make = Callable[..., Player]
ZONE = "Europe/Berlin"
BERLIN = ZoneInfo(ZONE)
PAGE = Path(__file__).parents[3] / "docs/reference/rules.md"


def rule(**more: Any) -> dict[str, Any]:
    return {"when": {"kind": "bank.posted"}, "says": "{{ window.count }}, {{ window.total }}"} | more


def charge(name: int, at: str, euros: float = 10, **more: Json) -> Event:
    short: dict[str, Json] = {"kind": "bank.posted", "at": at, "amount": f"{euros:.2f} EUR", "account": "a"}
    return make_event(short | more, name, BERLIN)


def charges(days: Iterable[int], euros: float = 10) -> list[Event]:
    return [charge(n, f"+{day}d", euros) for n, day in enumerate(days)]


def at(text: str) -> datetime:
    return make_event({"kind": "clock.tick", "at": text}, 0, BERLIN).observed_at


def said(played: Player) -> list[str]:
    return [signal.title if signal.type == "trigger" else signal.type for signal in played.signals]


def reasons(played: Player) -> list[str]:
    return [explanation.reason for explanation in played.explanations]


SUM = rule(sum={"value": "amount", "over": "month", "above": 25})


def test_a_sliding_count_fires_at_the_event_that_reaches_it(player: Make) -> None:
    played = player(ZONE, rule(count={"over": "7d", "at_least": 3})).play(charges((0, 5, 11, 12, 13)))
    (trigger,) = played.triggers()
    assert trigger.title == "3, 3"
    assert trigger.explanation.reason == "reached"
    assert [item.event for item in trigger.evidence] == [f"example-{n}-" for n in (2, 3, 4)]
    assert [value.value for value in trigger.explanation.values if value.condition == "count over 7d"] == [3]


def test_what_is_too_little_names_the_nearest_change(player: Make) -> None:
    played = player(ZONE, rule(count={"over": "7d", "at_least": 3})).play(charges((0,)))
    last = played.explanations[-1]
    assert (last.outcome, last.reason, last.nearest) == ("skipped", "not_reached", "2 more")


def test_a_withdrawn_thing_takes_the_trigger_back_and_another_brings_it_again(player: Make) -> None:
    played = player(ZONE, SUM).play(charges((0, 1, 2)))
    played.play([charge(1, "+3d", op="retract", version="2")])
    played.play([charge(7, "+4d", 9)])
    assert said(played) == ["3, 30.00 EUR", "retraction", "3, 29.00 EUR"]
    first, again = played.triggers()
    assert first.id != again.id
    (retraction,) = (signal for signal in played.signals if signal.type == "retraction")
    assert (retraction.trigger, retraction.reason) == (first.id, "removed")


def test_a_corrected_amount_counts_as_corrected(player: Make) -> None:
    played = player(ZONE, SUM).play(charges((0, 1, 2)))
    played.play([charge(1, "+3d", 4, version="2", occurred="+1d")])
    assert said(played) == ["3, 30.00 EUR", "retraction"]


def test_a_thing_that_moves_to_another_key_leaves_the_first(player: Make) -> None:
    played = player(ZONE, SUM).play(charges((0, 1, 2)))
    played.play([charge(1, "+3d", version="2", account="b")])
    assert said(played) == ["3, 30.00 EUR", "retraction"]
    played.play([charge(8, "+3d", 16, account="b")])
    assert said(played)[-1] == "2, 26.00 EUR"


def test_a_newer_version_that_the_rule_no_longer_matches_counts_no_more(player: Make) -> None:
    played = player(ZONE, SUM | {"when": {"kind": "bank.posted", "where": "amount > 5"}}).play(charges((0, 1, 2)))
    played.play([charge(1, "+3d", 1, version="2")])
    assert [signal.type for signal in played.signals] == ["trigger", "retraction"]


def test_currencies_are_added_up_apart(player: Make) -> None:
    played = player(ZONE, SUM).play([charge(0, "0d", 20), charge(1, "+1d", amount="20.00 CHF")])
    assert played.signals == []
    played.play([charge(2, "+2d", amount="6.00 CHF")])
    assert said(played) == ["2, 26.00 CHF"]


def test_what_is_seen_late_lands_in_its_window_until_that_closes(player: Make) -> None:
    day = rule(count={"over": "day", "at_least": 2})
    played = player(ZONE, day).play([charge(0, "0d"), charge(1, "+1d 20:00", occurred="+0d 20:00")])
    assert said(played) == ["2, 2"]
    assert played.triggers()[0].key.endswith("2026-03-01T23:00:00+00:00")
    played = player(ZONE, day).play([charge(0, "0d"), charge(1, "+2d 20:00", occurred="+0d 20:00")])
    assert (said(played), reasons(played)[-1]) == ([], "too_late")


def test_a_month_without_anything_is_told(player: Make) -> None:
    few = rule(count={"over": "month", "below": 1})
    played = player(ZONE, few).play([charge(0, "2026-03-09"), charge(1, "2026-04-09")], until=at("2026-08-01"))
    assert [(trigger.title, trigger.fired_at) for trigger in played.triggers()] == [("0, 0", at("2026-06-02 00:00"))]


def test_too_little_is_told_when_the_window_is_closed_and_silence_once(player: Make) -> None:
    few = rule(count={"over": "day", "below": 2})
    played = player(ZONE, few).play(charges((0, 1, 1, 2)), until=at("+20d"))
    assert [(trigger.title, trigger.fired_at) for trigger in played.triggers()] == [
        ("1, 1", at("+4d 00:00")), ("0, 0", at("+5d 00:00")),
    ]  # fmt: skip
    assert "scheduled" in reasons(played)


def test_too_little_of_a_month_is_told_although_its_things_are_long_past(player: Make) -> None:
    few = rule(count={"over": "month", "below": 2})
    played = player(ZONE, few).play([charge(0, "0d"), charge(1, "2026-04-02")], until=at("2026-05-10"))
    assert said(played) == ["1, 1"]


def test_after_a_stop_what_came_meanwhile_is_read_before_a_window_closes(player: Make) -> None:
    few = rule(count={"over": "day", "below": 2})
    played = player(ZONE, few).play(charges((0, 1)))
    played.evaluate(make_event({"kind": "clock.tick", "at": "+4d"}, 50, BERLIN))
    assert played.signals == []
    played.evaluate(charge(9, "+4d 10:10", occurred="+1d 12:00"))
    played.play([], until=at("+4d 12:00"))
    assert said(played) == ["0, 0"], "the day after it had nothing"
    assert played.triggers()[0].late


def test_one_session_is_one_firing(player: Make) -> None:
    played = player(ZONE, rule(count={"over": "session 2h", "at_least": 2}))
    played.play([charge(n, f"+{hour}h") for n, hour in enumerate((0, 1, 2, 3, 9, 10))])
    assert said(played) == ["2, 2", "2, 2"]
    assert reasons(played).count("reached") == 2


def test_a_rate_is_a_count_for_each_part_of_the_window(player: Make) -> None:
    fast = rule(rate={"over": "4h", "per": "1h", "above": 1.5})
    played = player(ZONE, fast).play([charge(n, f"+{30 * n}m") for n in range(8)])
    (trigger,) = played.triggers()
    assert trigger.title == "7, 7"
    assert trigger.explanation.values[-1].value == 1.75


def test_what_settles_a_window_withdraws_it_for_good(player: Make) -> None:
    settled = SUM | {"unless": {"kind": "mail.sent", "where": "trigger.account == 'a'", "within": "5d"}}
    played = player(ZONE, settled).play(charges((0, 1, 2)))
    played.play([make_event({"kind": "mail.sent", "at": "+3d"}, 60, BERLIN), charge(9, "+4d")])
    assert said(played) == ["3, 30.00 EUR", "retraction"]


def test_a_cooldown_holds_over_the_windows_of_a_key(player: Make) -> None:
    cool = rule(count={"over": "day", "at_least": 1}, cooldown="3d")
    played = player(ZONE, cool).play(charges((0, 1, 2, 3)))
    assert [signal.type for signal in played.signals] == ["trigger", "suppression", "suppression", "trigger"]


def test_a_count_that_must_last_is_silent_when_it_does_not(player: Make) -> None:
    lasting = rule(count={"over": "day", "at_least": 2}) | {"for": "3h"}
    played = player(ZONE, lasting).play([charge(0, "0d"), charge(1, "+1h")], until=at("+6h"))
    assert [trigger.fired_at for trigger in played.triggers()] == [at("+4h")]
    gone = [charge(0, "0d"), charge(1, "+1h"), charge(1, "+2h", op="retract", version="2")]
    played = player(ZONE, lasting).play(gone, until=at("+9h"))
    assert played.triggers() == []


def test_a_spike_says_how_many_times_the_median_of_how_many_weeks(player: Make) -> None:
    spike = {"value": "amount", "over": "week", "times": 3, "floor": 50, "min_history": 4}
    says = "{{ window.times }} times {{ window.median }} of {{ window.history }}"
    played = player(ZONE, rule(spike=spike, says=says)).play([charge(n, f"+{7 * n}d", 20 + n % 3) for n in range(19)])
    assert reasons(played).count("no_history") == 5, "the first week is incomplete"
    played.play([charge(50, "+133d", 88.20)])
    (trigger,) = played.triggers()
    assert trigger.title == "4.2 times 21.00 EUR of 18"
    assert trigger.explanation.values[-1].condition == "4.2 times the median of 18 weeks"
    played.play([charge(50, "+134d", 30, version="2", occurred="+133d")])
    assert said(played)[1:] == ["retraction"]


def test_a_drop_is_told_when_the_window_is_over(player: Make) -> None:
    drop = rule(drop={"over": "week", "times": 2, "floor": 2, "min_history": 3})
    days = [7 * week + day for week in range(6) for day in (0, 2, 4)] + [42]
    played = player(ZONE, drop).play(charges(days), until=at("+51d"))
    (trigger,) = played.triggers()
    assert (trigger.explanation.reason, trigger.fired_at) == ("dropped", at("+50d 00:00"))
    assert trigger.explanation.values[-1].condition == "0.3 times the median of 5 weeks"


def test_a_first_sync_of_history_says_nothing_but_teaches(player: Make) -> None:
    spike = rule(spike={"over": "week", "times": 2, "floor": 2, "min_history": 4})
    old = [charge(n, "0d", occurred=f"-{7 * n}d") for n in range(1, 12)]
    old += [charge(100 + n, "0d", occurred="-30d") for n in range(5)]
    played = player(ZONE, spike).play(old)
    assert {signal.type for signal in played.signals} <= {"suppression"}
    played.play([charge(50, "+1d"), charge(51, "+1d")])
    assert [trigger.explanation.values[-1].value for trigger in played.triggers()] == [2]


def test_numbers_that_would_fill_the_memory_are_passed_over_or_shortened(player: Make) -> None:
    total = {"when": {"kind": "record.meter"}, "sum": {"value": "payload.fields.use", "over": "day", "above": 1}}
    played = player(ZONE, total | {"says": "{{ window.total }}"})
    for number, use in enumerate((1e300, 1e-300, 1.25, 0.1 + 0.2)):
        payload: Json = {"fields": {"use": use}}
        played.evaluate(make_event({"kind": "record.meter", "at": f"+{number}m", "payload": payload}, number, BERLIN))
    assert reasons(played)[0] == "no_value"
    assert said(played) == ["1.25"]
    assert "0" * 20 not in json.dumps([value for _, value in played.state.items("case/")])


@pytest.mark.parametrize("over", ["7d", "week", "session 7d", "every 6h"])
def test_the_memory_of_a_key_is_bounded_and_ends(player: Make, over: str) -> None:
    played = player(ZONE, rule(count={"over": over, "at_least": 90}))
    for number in range(2 * MOST):
        played.evaluate(charge(number, f"+{10 * number}m"))
    ((_, entry), *others) = sorted(
        ((name, value) for name, value in played.state.items("case/")), key=lambda item: -len(json.dumps(item[1]))
    )
    assert isinstance(entry, dict)
    assert len(json.dumps(entry)) < 25_000
    assert len(others) <= 4
    played.play([], until=at("+200d"))
    assert not list(played.state.items("case/")) + list(played.state.items("timer/"))


def test_calendar_windows_count_beyond_what_is_remembered(player: Make) -> None:
    played = player(ZONE, rule(count={"over": "week", "at_least": 3 * MOST}))
    played.play([charge(n, f"+{n}m") for n in range(3 * MOST)])
    assert said(played) == [f"{3 * MOST}, {3 * MOST}"]


def test_a_rule_that_was_another_before_begins_anew(player: Make) -> None:
    """Cases and timers of its former detector are in the state; none of them is a ledger."""
    mail = {"kind": "mail.received", "at": "0d", "account": "a", "facts": {"due": "+9d"}}
    before = {"when": {"kind": "mail.received"}, "deadline": {"at": "fact.due", "lead": "5d"}, "key": "account"}
    old = player(ZONE, before).play([make_event(mail, 0, BERLIN)])
    changed = rule(when={"kind": "mail.received"}, count={"over": "7d", "at_least": 2}, says="two")
    played = player(ZONE, changed)
    played.state.load(dict(old.state.items()))
    played.play([], until=at("+5d"))
    played.play([make_event(mail | {"at": f"+{day}d"}, day, BERLIN) for day in (6, 7)])
    assert said(played) == ["two"]


# --- rule files ------------------------------------------------------------------------------------------------------

FILE = """\
rules:
  - id: a-rule
    title: A rule
    when: {kind: bank.posted}
    propose: {title: t}
    """


@pytest.mark.parametrize(
    ("detector", "message"),
    [
        ("count: {over: 7d}", "6:12: a count needs a bound; add one of at_least, above, below, at_most"),
        ("count: {over: 7x, at_least: 2}", "6:19: not a window: '7x'; write such as '7d', 'every 6h'"),
        ("count: {over: 7d, at_last: 2}", "6:23: unknown key 'at_last'; did you mean 'at_least'?"),
        ("count: {over: 7d, below: 2}", "6:19: a sliding window has no end at which too little could be told"),
        ("count: {over: 7d, at_least: 500}", "6:12: a sliding window counts to 100 at most; use day, week, month"),
        ("count: {over: 7d, at_least: 2, by: acount}", "6:40: unknown field 'acount'; did you mean 'account'?"),
        ("sum: {over: 7d, at_least: 2}", "6:10: 'value' is missing; add it"),
        ("sum: {over: 7d, at_least: 2, value: amuont}", "unknown field 'amuont'; did you mean 'amount'?"),
        ("sum: {over: 7d, at_least: 2, value: title}", "a sum needs a number or an amount, not a string"),
        ("rate: {over: week, above: 2}", "6:18: a rate needs a window of a fixed length, no shorter than 'per'"),
        ("rate: {over: 30m, above: 2}", "6:18: a rate needs a window of a fixed length, no shorter than 'per'"),
        ("spike: {over: 7d}", "6:19: a spike compares windows of the calendar, not '7d'; use day, week, month"),
        ("drop: {over: session 5m}", "6:18: a drop compares windows of the calendar, not 'session 5m'"),
    ],
)
def test_a_mistake_is_told_at_its_place(tmp_path: Path, detector: str, message: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(FILE + detector + "\n", encoding="utf-8")
    with pytest.raises(RuleErrors) as caught:
        load([path], zone=BERLIN)
    assert message in str(caught.value.errors[0])


RULES = """\
rules:
  - id: charged-again-and-again
    title: Several charges within an hour
    when: {kind: bank.posted, where: amount < 0}
    count: {over: 1h, by: [account, payload.merchant], at_least: 3}
    propose: {title: "{{ window.count }} charges by {{ merchant }} within an hour, {{ window.start | time }} first"}
    examples:
      fires:
        - events: [{kind: bank.posted, amount: -9.00 EUR, payload: {merchant: acme}, repeat: {times: 3, every: 20m}}]
          says: 3 charges by acme within an hour, 10:00 first
          triggers: 1
        - title: one of them is taken back
          events:
            - {kind: bank.posted, amount: -9.00 EUR, payload: {merchant: acme}, repeat: {times: 2, every: 20m}}
            - {at: +50m, kind: bank.posted, amount: -9.00 EUR, payload: {merchant: acme}, subject: third}
            - {at: +2h, kind: bank.removed, subject: third}
          retracted: true
      silent:
        - events: [{kind: bank.posted, amount: -9.00 EUR, payload: {merchant: acme}, repeat: {times: 6, every: 35m}}]
        - events: [{kind: bank.posted, amount: 9.00 EUR, payload: {merchant: acme}, repeat: {times: 6, every: 5m}}]
  - id: month-over-budget
    title: More than planned
    when: {kind: bank.posted, where: amount < 0}
    sum: {value: -amount, over: month, above: 100, lateness: 2d}
    propose: {title: "{{ window.total | money }} since {{ window.start | date }}"}
    examples:
      fires:
        - events: [{kind: bank.posted, amount: -30.00 EUR, repeat: {times: 5, every: 3d}}]
          triggers: 1
          says: 120.00 EUR since 1 March 2026
        - title: late, and of last month
          events:
            - {at: -3d, kind: bank.posted, amount: -99.00 EUR}
            - {at: 0d, occurred: -2d, kind: bank.posted, amount: -2.00 EUR}
      silent:
        - events: [{kind: bank.posted, amount: -30.00 EUR, repeat: {times: 5, every: month}}]
        - events: [{kind: bank.posted, amount: [-99.00 EUR, -99.00 CHF], repeat: {times: 2, every: 1d}}]
  - id: many-mails
    title: A flood of mails
    when: {kind: mail.received}
    rate: {over: 2h, per: 1h, by: party.domain, above: 4}
    propose: {title: "{{ party.domain }} sends many mails"}
    examples:
      fires:
        - events: [{kind: mail.received, from: bot@ci.example, repeat: {times: 9, every: 10m}}]
          triggers: 1
      silent:
        - events: [{kind: mail.received, from: bot@ci.example, repeat: {times: 9, every: 30m}}]
  - id: costly-week
    title: A week that cost far more than usual
    when: {kind: bank.posted, where: amount < 0}
    spike: {value: -amount, over: week, times: 3, floor: 100, min_history: 4}
    propose: {title: "{{ window.times }} times the {{ window.median | money }} of a week"}
    examples:
      fires:
        - events:
            - {kind: bank.posted, amount: -50.00 EUR, repeat: {times: 8, every: 7d}}
            - {at: +50d, kind: bank.posted, amount: -120.00 EUR}
          says: 3.4 times the 50.00 EUR of a week
      silent:
        - events:
            - {kind: bank.posted, amount: -5.00 EUR, repeat: {times: 8, every: 7d}}
            - {at: +50d, kind: bank.posted, amount: -80.00 EUR}
        - events:
            - {kind: bank.posted, amount: -50.00 EUR, repeat: {times: 3, every: 7d}}
            - {at: +15d, kind: bank.posted, amount: -500.00 EUR}
  - id: fewer-orders
    title: Far fewer orders than usual
    when: {kind: record.order}
    drop: {over: week, times: 2, floor: 3, min_history: 4, by: []}
    propose: {title: "{{ window.count }} orders in a week, usually {{ window.median }}"}
    examples:
      fires:
        - events: [{kind: record.order, repeat: {times: 42, every: 1d}}, {at: +44d, kind: record.order}]
          until: +55d
          says: 1 orders in a week, usually 7
      silent:
        - events: [{kind: record.order, repeat: {times: 50, every: 1d}}]
"""


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "Australia/Lord_Howe"])
def test_examples_do_what_they_promise_in_every_zone(tmp_path: Path, zone: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_text(RULES, encoding="utf-8")
    rules = load([path], zone=ZoneInfo(zone))
    failed = [f"{result.rule}: {result.name}: {result.why}"
              for one in rules for result in run_examples(one) if not result.passed]  # fmt: skip
    assert not failed, "\n".join(failed)
    assert [str(warning) for warning in lint(rules)] == []


def test_the_rules_on_the_page_load(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = page[page.index("### `count`") : page.index("\n## Time")]
    blocks = [block for block in re.findall(r"```yaml\n(when:.*?)```", section, re.DOTALL)
              if re.search(r"^(count|sum|mean|rate|spike|drop):", block, re.MULTILINE)]  # fmt: skip
    assert len(blocks) == 5
    for block in blocks:
        path = tmp_path / "page.yaml"
        lines = "".join(f"    {line}\n" for line in block.splitlines())
        path.write_text(f"rules:\n  - id: a-rule\n    title: A\n    propose: {{title: t}}\n{lines}", encoding="utf-8")
        assert len(list(load([path], zone=BERLIN))) == 1
