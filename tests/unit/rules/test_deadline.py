"""Deadlines: lead times in local days across DST, missed timers, dates that move, and an obvious model of it all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.testing import Player, make_event, tick
from schemas.event import Event
from schemas.model import Json
from schemas.trigger import Retraction, Suppression, Trigger

Make = Callable[..., Player]
ZONES = ("America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe")

DEADLINE: dict[str, Any] = {
    "when": {"kind": "mail.received", "where": "has(fact.due)"},
    "deadline": {"at": "fact.due", "lead": ["5d", "1d"]},
    "unless": {"kind": "bank.posted", "where": "matter == trigger.matter", "within": "60d"},
    "key": "matter",
    "says": "due on {{ deadline.on }}, {{ deadline.lead }} before",
}


def bill(number: int, zone: str, at: str, due: str, **more: Json) -> Event:
    short = {"kind": "mail.received", "at": at, "facts": {"due": due}, "matter": "m", "subject": f"s{number}"}
    return make_event(short | more, number, ZoneInfo(zone))


def reasons(player: Player) -> list[str]:
    return [signal.reason if isinstance(signal, Retraction) else signal.explanation.reason for signal in player.signals]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("around", ["2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25", "2026-11-01"])
def test_each_lead_fires_at_nine_on_its_local_day_across_both_clock_changes(
    player: Make, zone: str, around: str
) -> None:
    tz, changes_on = ZoneInfo(zone), date.fromisoformat(around)
    for shift in range(-1, 7):
        due = changes_on + timedelta(days=shift)
        played = player(zone, DEADLINE)
        played.play([bill(1, zone, f"{due - timedelta(days=20)}", due.isoformat())])
        played.run_to(datetime.combine(due + timedelta(days=9), time(12), tz))
        fired = [trigger.fired_at.astimezone(tz) for trigger in played.triggers()]
        assert [at.replace(tzinfo=None) for at in fired] == [
            datetime.combine(due - timedelta(days=lead), time(9)) for lead in (5, 1)
        ]
        (ends,) = {trigger.deadline_at for trigger in played.triggers()}
        assert ends is not None
        assert ends.astimezone(tz).date() == due
        assert (ends + timedelta(seconds=1)).astimezone(tz).date() == due + timedelta(days=1)


@pytest.mark.parametrize("zone", ZONES)
def test_a_lead_in_hours_counts_exact_time_before_the_instant(player: Make, zone: str) -> None:
    rule = DEADLINE | {"deadline": {"at": "due_at", "lead": ["36h", "90m"]}, "when": {"kind": "mail.received"}}
    event = make_event({"kind": "mail.received", "due": "2026-03-29 12:00"}, 1, ZoneInfo(zone))
    assert event.due_at is not None
    played = player(zone, rule).play([event], until=event.due_at)
    assert [event.due_at - trigger.fired_at for trigger in played.triggers()] == [
        timedelta(hours=36), timedelta(minutes=90),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("on_missed", "reason", "late"),
    [
        ("fire_once", ["missed_collapsed", "lead_reached"], [True]),
        ("fire_each", ["lead_reached", "lead_reached"], [True, True]),
        ("skip", ["missed_skip", "missed_skip"], []),
    ],
)
def test_after_three_days_without_the_service_missed_leads_do_what_the_rule_says(
    player: Make, on_missed: str, reason: list[str], late: list[bool]
) -> None:
    rule = DEADLINE | {"deadline": {"at": "fact.due", "lead": ["3d", "2d"], "on_missed": on_missed}}
    played = player("Europe/Berlin", rule).play([bill(1, "Europe/Berlin", "0d", "+10d")])
    starts = datetime(2026, 3, 11, 18, tzinfo=UTC)  # leads were due on the 9th and 10th
    played.evaluate(tick(starts, played.owner, played.zone))
    assert reasons(played) == reason
    assert [trigger.late for trigger in played.triggers()] == late
    assert all(trigger.fired_at == starts for trigger in played.triggers())


def test_a_timer_within_the_tolerance_is_not_late(player: Make) -> None:
    played = player("Europe/Berlin", DEADLINE).play([bill(1, "Europe/Berlin", "0d", "+10d")])
    due = played.state.next_timer()
    assert due is not None
    played.evaluate(tick(due + timedelta(hours=2), played.owner, played.zone))
    assert [trigger.late for trigger in played.triggers()] == [False]


def test_a_lead_that_is_not_missed_stands_for_the_missed_ones(player: Make) -> None:
    rule = DEADLINE | {"deadline": {"at": "fact.due", "lead": ["3d", "2d"]}}
    played = player("Europe/Berlin", rule).play([bill(1, "Europe/Berlin", "0d", "+10d")])
    played.evaluate(tick(datetime(2026, 3, 10, 8, 30, tzinfo=UTC), played.owner, played.zone))
    assert reasons(played) == ["missed_collapsed", "lead_reached"]
    assert [trigger.late for trigger in played.triggers()] == [False]


def test_a_deadline_that_passed_long_ago_is_not_reported_late(player: Make) -> None:
    played = player("Europe/Berlin", DEADLINE).play([bill(1, "Europe/Berlin", "0d", "+10d")])
    played.evaluate(tick(datetime(2026, 4, 10, tzinfo=UTC), played.owner, played.zone))
    assert reasons(played) == ["missed_collapsed", "stale"]


def test_what_arrives_within_the_leads_is_told_at_once_and_only_once(player: Make) -> None:
    zone = "Europe/Berlin"
    played = player(zone, DEADLINE).play([bill(1, zone, "0d", "+3d")], until=datetime(2026, 3, 6, tzinfo=UTC))
    assert [trigger.title for trigger in played.triggers()] == [
        "due on 2026-03-05, 5d before", "due on 2026-03-05, 1d before",
    ]  # fmt: skip
    assert not any(trigger.late for trigger in played.triggers())
    second = played.triggers()[1]
    assert second.follows == played.triggers()[0].id


def test_a_date_in_the_past_is_history(player: Make) -> None:
    played = player("Europe/Berlin", DEADLINE).play([bill(1, "Europe/Berlin", "0d", "-1d")])
    assert reasons(played) == ["stale"]
    assert len(played.state) == 1, "only the event's id is remembered"


def test_the_day_itself_is_not_too_late(player: Make) -> None:
    played = player("Europe/Berlin", DEADLINE).play([bill(1, "Europe/Berlin", "0d 23:30", "0d")])
    assert reasons(played) == ["lead_reached"]


def test_a_moved_date_withdraws_and_starts_again(player: Make) -> None:
    zone = "Europe/Berlin"
    events = [bill(1, zone, "0d", "+7d"), bill(2, zone, "+3d", "+20d")]
    played = player(zone, DEADLINE).play(events, until=datetime(2026, 4, 1, tzinfo=UTC))
    assert reasons(played) == ["lead_reached", "moved", "lead_reached", "lead_reached"]
    assert [trigger.deadline_at.date().isoformat() for trigger in played.triggers() if trigger.deadline_at] == [
        "2026-03-09", "2026-03-22", "2026-03-22",
    ]  # fmt: skip
    assert len({trigger.id for trigger in played.triggers()}) == 3


def test_an_older_version_that_comes_late_changes_nothing(player: Make) -> None:
    zone = "Europe/Berlin"
    events = [bill(1, zone, "0d", "+20d"), bill(2, zone, "+1d", "+30d", occurred="-5d")]
    played = player(zone, DEADLINE).play(events)
    assert played.explanations[-1].reason == "outdated"


def test_the_same_date_again_says_nothing_again(player: Make) -> None:
    zone = "Europe/Berlin"
    played = player(zone, DEADLINE).play([bill(1, zone, "0d", "+3d"), bill(2, zone, "+1d", "+3d")])
    assert len(played.triggers()) == 1


def test_everything_of_a_case_is_gone_when_it_is_over(player: Make) -> None:
    zone = "Europe/Berlin"
    events = [bill(number, zone, "0d", f"+{number}d", matter=f"m{number}") for number in range(1, 30)]
    played = player(zone, DEADLINE).play(events, until=datetime(2026, 9, 1, tzinfo=UTC))
    assert played.state.next_timer() is None
    assert {name.split("/")[0] for name, _ in played.state.items()} == {"seen"}


# --- an obvious model, hour by hour --------------------------------------------------------------------------------

HOURS = 24 * 33
START = datetime(2026, 3, 2, tzinfo=ZoneInfo("Europe/Berlin"))  # the clocks change on 29 March

actions = st.lists(
    st.tuples(
        st.integers(0, HOURS - 1),
        st.sampled_from(["bill", "bill", "bill", "pay"]),
        st.sampled_from(["a", "b", "c"]),
        st.integers(-2, 30),
    ),
    max_size=12,
    unique_by=lambda action: action[0],
)
stops = st.none() | st.tuples(st.integers(0, HOURS), st.integers(30, 90))


def local(hour: int) -> datetime:
    return (START.astimezone(UTC) + timedelta(hours=hour)).astimezone(START.tzinfo)


class Model:
    """What should be said, by looking at every hour of every case."""

    def __init__(self, leads: list[int], on_missed: str) -> None:
        self.leads, self.on_missed = leads, on_missed
        self.cases: dict[str, dict[str, Any]] = {}
        self.said: list[tuple[Any, ...]] = []

    def look(self, hour: int) -> None:
        now = local(hour)
        for key, case in self.cases.items():
            due = {lead: self.instant(case["due"], lead) for lead in case["waiting"]}
            reached = sorted((at, lead) for lead, at in due.items() if at <= now)
            missed = [lead for at, lead in reached if now.astimezone(UTC) - at.astimezone(UTC) > timedelta(hours=2)]
            for _, lead in reached:
                case["waiting"].remove(lead)
                if lead not in missed:
                    self.fire(key, case, lead, hour, False)
                elif self.on_missed == "skip":
                    pass
                elif self.on_missed == "fire_each" or (len(missed) == len(reached) and lead == missed[-1]):
                    self.fire(key, case, lead, hour, True)

    def instant(self, due: date, lead: int) -> datetime:
        return datetime.combine(due - timedelta(days=lead), time(9), START.tzinfo)

    def fire(self, key: str, case: dict[str, Any], lead: int, hour: int, late: bool) -> None:
        case["fired"] += 1
        self.said.append(("fire", key, case["due"], lead, hour, late))

    def bill(self, key: str, due: date, hour: int) -> None:
        case = self.cases.get(key)
        if case is not None:
            if case["state"] == "paid" or (case["state"] == "open" and case["due"] == due):
                return
            self.withdraw(key, case, hour)
            case |= {"state": "moved", "waiting": []}
        is_over = local(hour).date() > due
        if is_over and all(self.instant(due, lead) <= local(hour) for lead in self.leads):
            return
        passed = [lead for lead in self.leads if self.instant(due, lead) <= local(hour)]
        waiting = [lead for lead in self.leads if lead not in passed]
        passed = [lead for lead in passed if lead < 0 or not is_over]
        case = self.cases[key] = {"due": due, "state": "open", "waiting": waiting, "fired": 0}
        if passed:
            self.fire(key, case, min(passed), hour, False)

    def pay(self, key: str, hour: int) -> None:
        case = self.cases.get(key)
        if case is not None and case["state"] == "open":
            self.withdraw(key, case, hour)
            case |= {"state": "paid", "waiting": []}

    def withdraw(self, key: str, case: dict[str, Any], hour: int) -> None:
        self.said += [("withdraw", key, hour)] * case["fired"]
        case["fired"] = 0


@settings(max_examples=150, deadline=None)
@given(actions, stops, st.sampled_from(["fire_once", "fire_each", "skip"]), st.sampled_from([[], [1], [1, 4]]))
def test_the_engine_says_what_the_obvious_model_says(
    player: Make,
    given_actions: list[tuple[int, str, str, int]],
    stop: tuple[int, int] | None,
    on_missed: str,
    after: list[int],
) -> None:
    """What is told after the date is to the model a lead of less than nothing."""
    off = range(stop[0], stop[0] + stop[1]) if stop else range(0)
    by_hour = {action[0]: action for action in given_actions}
    model = Model([7, 3, 1, 0, *(-late for late in after)], on_missed)
    deadline = {"lead": ["7d", "3d", "1d", "0d"], "after": [f"{late}d" for late in after]}
    rule = DEADLINE | {"deadline": {"at": "fact.due", "on_missed": on_missed, **deadline}}
    rule |= {"unless": {"kind": "bank.posted", "where": "matter == trigger.matter", "within": "60d", "before": "0d"}}
    played = player("Europe/Berlin", rule)
    for hour in [hour for hour in range(HOURS) if hour in by_hour or local(hour).hour == 9 or hour == off.stop]:
        if hour in off:
            continue
        model.look(hour)
        at = local(hour).astimezone(UTC)
        played.evaluate(tick(at, played.owner, played.zone))
        if hour in by_hour:
            _, what, key, ahead = by_hour[hour]
            due = local(hour).date() + timedelta(days=ahead)
            if what == "bill":
                model.bill(key, due, hour)
                played.evaluate(_mail(hour, key, due, at))
            else:
                model.pay(key, hour)
                played.evaluate(_payment(hour, key, at))
    told = [_told(signal) for signal in played.signals if not isinstance(signal, Suppression)]
    for key in "abc":  # keys that fire at one instant may do so in any order
        assert [entry for entry in told if entry[1] == key] == [entry for entry in model.said if entry[1] == key]


def _mail(hour: int, key: str, due: date, at: datetime) -> Event:
    short: dict[str, Json] = {"kind": "mail.received", "facts": {"due": due.isoformat()}, "matter": key}
    made = make_event(short, hour, ZoneInfo("Europe/Berlin"))
    return made.model_copy(update={"observed_at": at, "occurred_at": at})


def _payment(hour: int, key: str, at: datetime) -> Event:
    made = make_event({"kind": "bank.posted", "matter": key}, hour, ZoneInfo("Europe/Berlin"))
    return made.model_copy(update={"observed_at": at, "occurred_at": at})


def _told(signal: Trigger | Retraction | Suppression) -> tuple[Any, ...]:
    hours = (signal.fired_at if isinstance(signal, Trigger) else signal.at) - START.astimezone(UTC)
    hour = int(hours.total_seconds() // 3600)
    if isinstance(signal, Trigger):
        assert signal.deadline_at is not None
        due = signal.deadline_at.astimezone(START.tzinfo).date()
        tag = str(signal.values["deadline.lead"].v).removesuffix("d")
        lead = -int(tag) if tag.startswith("+") else int(tag)
        return ("fire", signal.key, due, lead, hour, signal.late)
    return ("withdraw", signal.key, hour)
