"""What would be said waits: ``for``, ``inhibit``, ``group`` and ``schedule``, across clock changes and restarts."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from rules.language import ConditionErrors
from rules.lint import lint
from rules.loader import load
from rules.state import RuleState
from rules.testing import Player, make_event, run_examples, tick
from schemas.event import Event
from schemas.model import Json
from schemas.quiet import Quiet, Schedule
from schemas.rule import Rule
from tests.scale import scaled

Make = Callable[..., Player]
BERLIN = ZoneInfo("Europe/Berlin")
MAIL: dict[str, Any] = {"when": {"kind": "mail.received"}, "says": "mail {{ title }}"}
PAID: dict[str, Any] = {"kind": "bank.posted", "where": "matter == trigger.matter", "within": "9d"}
NIGHT: dict[str, Any] = {"quiet": {"hours": "22:00-07:00"}}


def mail(number: int, at: str, **more: Json) -> Event:
    return make_event({"kind": "mail.received", "at": at, "matter": f"m{number}"} | more, number, BERLIN)


def row(number: int, at: str, matter: str = "m0") -> Event:
    return make_event({"kind": "bank.posted", "at": at, "matter": matter}, number, BERLIN)


def at(text: str) -> datetime:
    return make_event({"kind": "mail.sent", "at": text}, 99, BERLIN).observed_at


def when(played: Player) -> list[str]:
    return [trigger.fired_at.astimezone(BERLIN).strftime("%Y-%m-%d %H:%M") for trigger in played.triggers()]


def told(played: Player) -> list[str]:
    """What was said, with the reasons of what was not."""
    return [s.type if s.type != "suppression" else s.explanation.reason for s in played.signals]


# --- for -------------------------------------------------------------------------------------------------------------


def test_what_still_holds_after_its_time_is_said_then(player: Make) -> None:
    played = player("Europe/Berlin", MAIL | {"for": "2h"}).play([mail(0, "+0d")], until=at("+2d"))
    assert when(played) == ["2026-03-02 12:00"]
    assert [item.reason for item in played.explanations] == ["pending", "matched"]


def test_what_is_settled_meanwhile_is_not_said(player: Make) -> None:
    rule = MAIL | {"for": "2h", "unless": PAID}
    played = player("Europe/Berlin", rule).play([mail(0, "+0d"), row(1, "+1h")], until=at("+2d"))
    assert told(played) == ["unless"]
    assert played.state.next_timer() is not None  # the end of the case, and nothing else
    assert [name for name, _ in played.state.items("timer/") if name.endswith("held")] == []


def test_what_is_withdrawn_meanwhile_is_not_said(player: Make) -> None:
    rule: dict[str, Any] = {"when": {"kind": "calendar.scheduled"}, "for": "2h"}
    events = [
        make_event({"kind": kind, "subject": "s", "at": f"+{n}h"}, n, BERLIN)
        for n, kind in enumerate(["calendar.scheduled", "calendar.cancelled"])
    ]
    assert told(player("Europe/Berlin", rule).play(events, until=at("+2d"))) == ["cancelled"]


def test_what_is_settled_afterwards_is_withdrawn(player: Make) -> None:
    rule = MAIL | {"for": "2h", "unless": PAID}
    played = player("Europe/Berlin", rule).play([mail(0, "+0d"), row(1, "+3h")], until=at("+2d"))
    assert told(played) == ["trigger", "retraction"]


def test_a_time_that_ended_while_we_were_stopped_waits_for_what_came_meanwhile(player: Make) -> None:
    for paid, expected in ((True, ["unless"]), (False, ["trigger"])):
        played = player("Europe/Berlin", MAIL | {"for": "2h", "unless": PAID}).play([mail(0, "+0d")])
        played.evaluate(tick(at("+2d"), played.owner, played.zone))
        played.play([row(1, "+2d 10:10")] if paid else [], until=at("+3d"))
        assert told(played) == expected
        assert [trigger.late for trigger in played.triggers()] == [True] * (not paid)


def test_days_are_local_days_across_a_clock_change(player: Make) -> None:
    played = player("Europe/Berlin", MAIL | {"for": "1d"}).play([mail(0, "2026-03-28 18:00")], until=at("2026-04-01"))
    assert when(played) == ["2026-03-29 18:00"]


# --- schedule --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quiet", "fires", "told_at"),
    [
        ({"hours": "22:00-07:00"}, "2026-03-03 21:59", "2026-03-03 21:59"),
        ({"hours": "22:00-07:00"}, "2026-03-03 22:00", "2026-03-04 07:00"),
        ({"hours": "22:00-07:00"}, "2026-03-04 06:59", "2026-03-04 07:00"),
        ({"hours": "22:00-07:00"}, "2026-03-04 07:00", "2026-03-04 07:00"),
        ({"hours": "12:00-13:00"}, "2026-03-04 12:30", "2026-03-04 13:00"),
        ({"days": ["sat", "sun"]}, "2026-03-07 08:00", "2026-03-09 00:00"),
        ([{"days": ["sat", "sun"]}, {"hours": "22:00-07:00"}], "2026-03-06 23:00", "2026-03-09 07:00"),
        ({"hours": "22:00-07:00", "days": "fri"}, "2026-03-07 03:00", "2026-03-07 07:00"),
        ({"hours": "22:00-07:00", "days": "fri"}, "2026-03-08 03:00", "2026-03-08 03:00"),
        ({"hours": "22:00-07:00"}, "2026-03-28 23:00", "2026-03-29 07:00"),  # clocks go forward
        ({"hours": "01:00-02:30"}, "2026-03-29 01:30", "2026-03-29 03:30"),  # its end is skipped
        ({"hours": "22:00-07:00"}, "2026-10-24 23:00", "2026-10-25 07:00"),  # clocks go back
    ],
)
def test_what_fires_in_quiet_hours_is_told_at_their_end(player: Make, quiet: Any, fires: str, told_at: str) -> None:
    rule = MAIL | {"schedule": {"quiet": quiet}}
    assert when(player("Europe/Berlin", rule).play([mail(0, fires)], until=at(fires) + timedelta(days=4))) == [told_at]


def test_what_is_critical_breaks_through(player: Make) -> None:
    for urgency, through, expected in (
        ("critical", "critical", "2026-03-03 23:00"),
        ("high", "critical", "2026-03-04 07:00"),
        ("high", "high", "2026-03-03 23:00"),
    ):
        propose = {"title": "t", "urgency": urgency}
        rule = {"when": MAIL["when"], "propose": propose, "schedule": NIGHT | {"through": through}}
        played = player("Europe/Berlin", rule).play([mail(0, "2026-03-03 23:00")], until=at("2026-03-05"))
        assert when(played) == [expected]


@pytest.mark.parametrize(
    ("instant", "until"),
    [
        ("2026-07-19T23:59", None),
        ("2026-07-20T00:00", "2026-08-10T00:00"),
        ("2026-08-09T23:59", "2026-08-10T00:00"),
        ("2026-08-10T00:00", None),
    ],
)
def test_a_quiet_time_with_dates_is_over_after_its_last_day(instant: str, until: str | None) -> None:
    zone = ZoneInfo("Europe/Berlin")
    schedule = Schedule.model_validate({"quiet": {"from": "2026-07-20", "until": "2026-08-09"}})
    found = schedule.quiet_until(datetime.fromisoformat(instant).replace(tzinfo=zone), zone)
    assert found == (datetime.fromisoformat(until).replace(tzinfo=zone) if until else None)
    assert not schedule.is_always_quiet


def test_hours_and_days_hold_within_the_dates_only() -> None:
    zone = ZoneInfo("Europe/Berlin")
    quiet = {"hours": "12:00-13:00", "days": ["mon"], "until": "2026-07-20"}
    schedule = Schedule.model_validate({"quiet": quiet})
    noons = [datetime(2026, 7, day, 12, 30, tzinfo=zone) for day in (13, 14, 20, 27)]
    assert [schedule.quiet_until(noon, zone) is not None for noon in noons] == [True, False, True, False]


@pytest.mark.parametrize("quiet", [{"from": "2026-07-20"}, {"from": "2026-07-20", "until": "2026-07-19"}])
def test_a_quiet_time_that_begins_on_a_day_must_end_on_one(quiet: Any) -> None:
    with pytest.raises(ValueError, match="ends on one, not before it; add 'until"):
        Schedule.model_validate({"quiet": quiet})


def test_what_is_settled_during_the_quiet_is_never_told(player: Make) -> None:
    rule = MAIL | {"schedule": NIGHT, "unless": PAID}
    events = [mail(0, "2026-03-03 23:00"), row(1, "2026-03-04 01:00")]
    assert told(player("Europe/Berlin", rule).play(events, until=at("2026-03-06"))) == ["unless"]


minutes = st.integers(0, 60 * 24 * 7 * 53).map(lambda n: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=n))
clock_times = st.tuples(st.integers(0, 23), st.sampled_from([0, 30])).map(lambda t: f"{t[0]:02d}:{t[1]:02d}")
quiets = st.builds(
    lambda first, last, days: {"hours": f"{first}-{last if last != first else '24:00'}", "days": days},
    clock_times,
    clock_times,
    st.lists(st.sampled_from(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]), min_size=1, max_size=7, unique=True),
)


@settings(max_examples=scaled(200, 10_000), deadline=None)
@given(st.lists(quiets, min_size=1, max_size=3), minutes, st.sampled_from(["Europe/Berlin", "America/New_York", "UTC"]))
def test_the_quiet_is_over_at_the_first_instant_that_is_not_quiet(given_: Any, instant: datetime, zone: str) -> None:
    tz = ZoneInfo(zone)
    schedule = Schedule.model_validate({"quiet": given_})
    until = schedule.quiet_until(instant, tz)
    if until is None:
        assert not any(quiet.end(instant, tz) for quiet in schedule.quiet)
        return
    assert until > instant
    if until - instant <= timedelta(days=7):
        assert schedule.quiet_until(until, tz) is None
        step = (until - instant) / 7
        assert all(schedule.quiet_until(instant + step * n, tz) == until for n in range(7))


@pytest.mark.parametrize("hours", ["22-7", "22:00-22:00", "25:00-07:00", "22:00-24:30", "07:00", ""])
def test_hours_that_are_none_are_refused(hours: str) -> None:
    with pytest.raises(ValidationError, match="no hours"):
        Quiet(hours=hours)


# --- inhibit ---------------------------------------------------------------------------------------------------------

BIG: dict[str, Any] = {"id": "big", "when": {"kind": "mail.received", "where": "title == 'big'"}, "key": "matter"}
SMALL: dict[str, Any] = {"id": "small", "when": {"kind": "mail.received"}, "key": "matter", "inhibit": "big"}


def test_a_rule_is_silent_while_the_other_stands_for_the_same_key(player: Make) -> None:
    for rules in ((BIG, SMALL), (SMALL, BIG)):
        events = [mail(0, "+0d", title="big"), mail(2, "+1h", matter="m0"), mail(1, "+2h")]
        played = player("Europe/Berlin", *rules).play(events, until=at("+2d"))
        assert [(trigger.rule, trigger.key) for trigger in played.triggers()] == [("big", "m0"), ("small", "m1")]
        assert told(played).count("inhibited") == 2


def test_the_same_matter_counts_whatever_the_keys(player: Make) -> None:
    small = SMALL | {"key": "subject"}
    played = player("Europe/Berlin", BIG, small).play([mail(0, "+0d", title="big")], until=at("+2d"))
    assert told(played) == ["trigger", "inhibited"]
    assert played.explanations[-1].nearest == "the trigger of big were withdrawn"


def test_what_was_inhibited_is_said_when_the_other_is_withdrawn(player: Make) -> None:
    rules = (BIG | {"unless": {"kind": "bank.posted", "where": "matter == trigger.matter"}}, SMALL)
    played = player("Europe/Berlin", *rules).play([mail(0, "+0d", title="big"), row(1, "+3h")], until=at("+2d"))
    assert told(played) == ["trigger", "inhibited", "retraction", "trigger"]
    assert when(played)[-1] == "2026-03-02 13:00"


def test_what_waits_itself_inhibits_nothing(player: Make) -> None:
    played = player("Europe/Berlin", BIG | {"for": "1d"}, SMALL).play([mail(0, "+0d", title="big")], until=at("+2d"))
    assert [trigger.rule for trigger in played.triggers()] == ["small", "big"]


def test_what_was_inhibited_is_said_when_the_other_expires(player: Make) -> None:
    big: dict[str, Any] = BIG | {"deadline": {"at": "fact.due", "lead": "2d"}}
    due: dict[str, Json] = {"title": "big", "facts": {"due": "+3d"}}
    played = player("Europe/Berlin", big, SMALL).play([mail(0, "+2d", **due)], until=at("+9d"))
    assert [(trigger.rule, when(played)[n]) for n, trigger in enumerate(played.triggers())] == [
        ("big", "2026-03-04 10:00"), ("small", "2026-03-05 23:59"),
    ]  # fmt: skip


def test_what_is_inhibited_for_too_long_is_told_to_be_stale(player: Make) -> None:
    paid_late = PAID | {"within": "90d"}
    played = player("Europe/Berlin", BIG | {"unless": paid_late}, SMALL)
    played.play([mail(0, "+0d", title="big")], until=at("+120d"))
    assert told(played) == ["trigger", "inhibited", "stale"]
    assert [name for name, _ in played.state.items("case/")] == []


# --- group -----------------------------------------------------------------------------------------------------------

GROUP: dict[str, Any] = MAIL | {"group": {"by": "account", "wait": "10m", "interval": "2h"}}


def test_firings_within_a_time_become_one_trigger_with_their_count(player: Make) -> None:
    events = [mail(n, f"+{n}m", title=f"no. {n}") for n in range(4)]
    played = player("Europe/Berlin", GROUP).play(events, until=at("+2d"))
    (trigger,) = played.triggers()
    assert when(played) == ["2026-03-02 10:10"]
    assert trigger.title == "mail no. 0 (and 3 more)"
    assert trigger.values["group.count"].v == 4
    assert trigger.values["group.titles"].v == [f"mail no. {n}" for n in range(4)]
    assert [item.event for item in trigger.evidence] == [event.id for event in events]


def test_a_title_may_tell_how_many_they_are(player: Make) -> None:
    says = "{{ group.count }} mails in {{ account }}: {{ group.titles | truncate(20) }}"
    for count, expected in ((1, "1 mails in mail: no. 0"), (3, "3 mails in mail: no. 0, no. 1, no. 2")):
        events = [mail(n, f"+{n}m", title=f"no. {n}") for n in range(count)]
        played = player("Europe/Berlin", GROUP | {"says": says}).play(events, until=at("+2d"))
        assert [trigger.title for trigger in played.triggers()] == [expected]
    with pytest.raises(ConditionErrors, match=r"propose\.title: unknown field 'group\.count'"):
        player("Europe/Berlin", MAIL | {"says": says})


def test_the_next_group_keeps_its_distance(player: Make) -> None:
    events = [mail(0, "+0m"), mail(1, "+15m"), mail(2, "+100m"), mail(3, "+300m")]
    played = player("Europe/Berlin", GROUP).play(events, until=at("+2d"))
    assert when(played) == ["2026-03-02 10:10", "2026-03-02 12:10", "2026-03-02 15:10"]
    assert [trigger.values["group.count"].v for trigger in played.triggers()] == [1, 2, 1]


def test_groups_are_apart_by_what_they_are_made_by(player: Make) -> None:
    events = [mail(n, f"+{n}m", account=f"a{n % 2}") for n in range(4)]
    played = player("Europe/Berlin", GROUP).play(events, until=at("+2d"))
    assert [trigger.values["group.count"].v for trigger in played.triggers()] == [2, 2]


def test_a_group_is_withdrawn_with_the_last_of_its_members(player: Make) -> None:
    rule = GROUP | {"unless": PAID}
    events = [*(mail(n, f"+{n}m") for n in range(3)), row(3, "+5m", "m2"), row(4, "+1h", "m0")]
    played = player("Europe/Berlin", rule).play(events, until=at("+3h"))
    assert told(played) == ["unless", "trigger"]
    played.play([row(5, "+4h", "m1")])
    assert told(played) == ["unless", "trigger", "retraction"]
    assert [signal.trigger for signal in played.signals if signal.type == "retraction"] == [played.triggers()[0].id]


def test_a_group_waits_for_the_end_of_the_quiet_and_takes_in_what_comes(player: Make) -> None:
    rule = GROUP | {"schedule": NIGHT}
    events = [mail(n, f"2026-03-03 2{n}:58") for n in range(1, 4)]
    played = player("Europe/Berlin", rule).play(events, until=at("2026-03-05"))
    assert when(played) == ["2026-03-04 07:00"]
    assert played.triggers()[0].values["group.count"].v == 3


# --- all of them -----------------------------------------------------------------------------------------------------

ALL = (
    BIG | {"for": "30m", "unless": PAID},
    SMALL | {"group": {"wait": "1h"}, "schedule": NIGHT, "unless": PAID},
    MAIL | {"id": "third", "for": "1h", "inhibit": ["big", "small"], "schedule": NIGHT},
)
streams = st.lists(
    st.tuples(st.integers(0, 60 * 24 * 3), st.sampled_from(["big", "x", "paid"]), st.integers(0, 2)),
    max_size=14,
    unique_by=lambda entry: entry[0],
).map(sorted)


@settings(max_examples=scaled(40, 3000), deadline=None)
@given(streams, st.data())
def test_a_restart_or_a_second_delivery_changes_nothing(player: Make, stream: Any, data: Any) -> None:
    events = [
        row(n, f"+{minute}m", f"m{of}") if what == "paid"
        else mail(n, f"+{minute}m", title=what, matter=f"m{of}")
        for n, (minute, what, of) in enumerate(stream)
    ]  # fmt: skip
    straight = player("Europe/Berlin", *ALL).play(events, until=at("+5d"))
    broken = player("Europe/Berlin", *ALL)
    for event in straight.log:
        if data.draw(st.booleans()):
            stored = json.loads(json.dumps(dict(broken.state.items())))
            broken.state = RuleState()
            broken.state.load(stored)
        broken.evaluate(event)
        if data.draw(st.booleans()):
            assert broken.evaluate(event).signals == []
    assert broken.signals == straight.signals
    assert dict(broken.state.items()) == dict(straight.state.items())
    ids = [signal.id for signal in straight.signals]
    assert len(ids) == len(set(ids))
    quiet = Schedule.model_validate(NIGHT)
    for trigger in straight.triggers():
        assert trigger.rule == "big" or quiet.quiet_until(trigger.fired_at, BERLIN) is None


def test_what_waits_is_bounded(player: Make) -> None:
    rule = MAIL | {"key": "account", "for": "1d"}
    played = player("Europe/Berlin", rule).play([mail(n, f"+{n}m") for n in range(50)])
    assert told(played) == ["too_many"] * 20
    played.run_to(at("+3d"))
    assert len(played.triggers()) == 30


def test_the_revision_of_a_rule_changes_with_its_modifiers() -> None:
    given_ = {"id": "a", "title": "A", "when": {"kind": "mail.received"}, "propose": {"title": "t"}}
    dumped = {
        Rule.model_validate(given_ | more).model_dump_json(exclude_defaults=True)
        for more in ({}, {"for": "1h"}, {"inhibit": "b"}, {"group": {"wait": "1h"}}, {"schedule": NIGHT})
    }
    assert len(dumped) == 5


def test_every_detector_can_wait(player: Make) -> None:
    due: dict[str, Any] = {
        "when": {"kind": "mail.received", "where": "has(fact.due)"},
        "deadline": {"at": "fact.due", "lead": "1d", "time": "06:00"},
        "schedule": NIGHT,
    }
    played = player("Europe/Berlin", due).play([mail(0, "+0d", facts={"due": "+5d"})], until=at("+6d"))
    assert when(played) == ["2026-03-06 07:00"]
    answer: dict[str, Any] = {
        "when": {"kind": "mail.received"},
        "absence": {"within": "12h", "of": {"kind": "mail.sent", "where": "matter == trigger.matter"}},
        "for": "1h",
        "schedule": NIGHT,
    }
    sent = make_event({"kind": "mail.sent", "at": "+1d 02:00", "matter": "m0"}, 5, BERLIN)
    for events, expected in (([], ["2026-03-03 07:00"]), ([sent], [])):
        played = player("Europe/Berlin", answer).play([mail(0, "+0d"), *events], until=at("+6d"))
        assert when(played) == expected


EXAMPLES = """\
rules:
  - id: charge-not-refunded
    title: A charge that stays
    when: {kind: bank.posted, where: "amount < -100"}
    for: 2d
    unless: {kind: bank.posted, where: "amount == -trigger.amount", within: 30d}
    propose: {title: "{{ amount }} was not refunded"}
    examples:
      fires:
        - {events: [{kind: bank.posted, amount: -200.00 EUR}], until: +2d, says: -200.00 EUR was not refunded}
        - events: [{kind: bank.posted, amount: -200.00 EUR}, {kind: bank.posted, amount: 200.00 EUR, at: +3d}]
          until: +4d
          retracted: true
      silent:
        - {events: [{kind: bank.posted, amount: -200.00 EUR}], until: +1d}
        - events: [{kind: bank.posted, amount: -200.00 EUR}, {kind: bank.posted, amount: 200.00 EUR, at: +1d}]
          until: +4d
  - id: parcels
    title: Parcels
    when: {kind: mail.received, match: {title: {words: [parcel]}}}
    group: {by: party.domain, wait: 1h, interval: 1d}
    propose: {title: "{{ title }}"}
    examples:
      fires:
        - events: [{kind: mail.received, from: a@p.example, title: parcel 1, repeat: {times: 3, every: 10m}}]
          until: +2h
          triggers: 1
          says: parcel 1 (and 2 more)
      silent: [{events: [{kind: mail.received, from: a@p.example, title: parcel 1}], until: +30m}]
  - id: quiet-weekend
    title: Not at the weekend
    when: {kind: mail.received}
    schedule: {quiet: [{days: [sat, sun]}, {hours: "20:00-08:00"}]}
    propose: {title: "{{ title }}"}
    examples:
      fires: [{events: [{kind: mail.received, at: +5d}], until: +7d 08:00}]
      silent: [{events: [{kind: mail.received, at: +5d}], until: +7d 07:59}]
"""


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe"])
def test_the_examples_of_rules_that_wait_do_what_they_promise(tmp_path: Path, zone: str) -> None:
    path = tmp_path / "waiting.yaml"
    path.write_text(EXAMPLES, encoding="utf-8")
    rules = load([path], zone=ZoneInfo(zone))
    assert [str(warning) for warning in lint(rules)] == []
    failed = [f"{one.rule}: {one.name}: {one.why}" for rule in rules for one in run_examples(rule) if not one.passed]
    assert failed == []
