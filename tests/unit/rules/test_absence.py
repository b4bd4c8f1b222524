"""Absence: an answer that does not come, and the next of a series; against obvious models."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.rhythm import expect
from rules.testing import Player, make_event, tick
from schemas.event import Event
from schemas.model import Json
from schemas.trigger import Retraction, Suppression, Trigger

Make = Callable[..., Player]
BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 3, 2, tzinfo=UTC)

ANSWER: dict[str, Any] = {
    "when": {"kind": "mail.received", "where": "has(fact.question)"},
    "absence": {"within": "3d", "of": {"kind": "mail.sent", "where": "payload.thread == trigger.payload.thread"}},
    "key": "payload.thread",
}
SERIES: dict[str, Any] = {
    "when": {"kind": "bank.posted", "where": "amount > 0"},
    "absence": {"periodic": {"min_history": 3, "slack": "2d"}},
    "key": "payload.merchant",
    "says": "expected on {{ absence.expected }}, last on {{ absence.last }}, {{ absence.times }} times",
}


def mail(number: int, hour: int, kind: str, thread: str) -> Event:
    short: dict[str, Json] = {"kind": kind, "payload": {"thread": thread}}
    short |= {"facts": {"question": True}} if kind == "mail.received" else {}
    at = START + timedelta(hours=hour)
    return make_event(short, number, BERLIN).model_copy(update={"observed_at": at, "occurred_at": at})


def income(number: int, day: date, amount: str = "1000.00 EUR") -> Event:
    short: dict[str, Json] = {
        "kind": "bank.posted",
        "at": f"{day} 00:00",
        "amount": amount,
        "payload": {"merchant": "m"},
    }
    return make_event(short, number, BERLIN)


# --- an answer -----------------------------------------------------------------------------------------------------

mails = st.lists(
    st.tuples(st.integers(0, 24 * 20), st.sampled_from(["mail.received", "mail.sent"]), st.sampled_from(["t", "u"])),
    max_size=14,
    unique_by=lambda entry: entry[0],
).map(sorted)


def unanswered(given_mails: list[tuple[int, str, str]], thread: str) -> tuple[list[int], list[int]]:
    """Hours of what should be said of a thread, and of what should be withdrawn: question by question."""
    fires, withdrawals = [], []
    asked: int | None = None
    for hour, kind, _ in [entry for entry in given_mails if entry[2] == thread]:
        if kind == "mail.received":
            asked = hour if asked is None else asked
        elif asked is not None:
            if hour >= asked + 72:  # what is due fires before what comes at the same instant
                fires.append(asked + 72)
                withdrawals.append(hour)
            asked = None
    return fires + ([asked + 72] if asked is not None else []), withdrawals


@settings(max_examples=200, deadline=None)
@given(mails)
def test_questions_without_an_answer_are_those_of_the_obvious_model(
    player: Make, given_mails: list[tuple[int, str, str]]
) -> None:
    played = player("UTC", ANSWER).play(
        [mail(number, hour, kind, thread) for number, (hour, kind, thread) in enumerate(given_mails)],
        until=START + timedelta(days=25),
    )
    for thread in "tu":
        said = [signal for signal in played.signals if signal.key == thread]
        fires = [hours(signal.fired_at) for signal in said if isinstance(signal, Trigger)]
        withdrawals = [hours(signal.at) for signal in said if isinstance(signal, Retraction)]
        assert (fires, withdrawals) == unanswered(given_mails, thread)


def hours(at: datetime) -> int:
    return int((at - START).total_seconds() // 3600)


def test_three_days_are_three_local_days_across_a_clock_change(player: Make) -> None:
    short: dict[str, Json] = {"kind": "mail.received", "facts": {"question": True}, "payload": {"thread": "t"}}
    asked = make_event(short | {"at": "2026-03-27 18:00"}, 0, BERLIN)
    played = player("Europe/Berlin", ANSWER).play([asked], until=datetime(2026, 4, 2, tzinfo=UTC))
    (trigger,) = played.triggers()
    assert trigger.fired_at.astimezone(BERLIN).isoformat() == "2026-03-30T18:00:00+02:00"


def test_an_answer_seen_before_its_question_settles_it(player: Make) -> None:
    question = mail(0, 2, "mail.received", "t")
    answer = mail(1, 1, "mail.sent", "t").model_copy(update={"occurred_at": START + timedelta(hours=3)})
    played = player("UTC", ANSWER).play([answer, question], until=START + timedelta(days=9))
    assert [signal.type for signal in played.signals] == ["suppression"]


def test_a_missed_question_is_reported_late_or_skipped(player: Make) -> None:
    for on_missed, expected in (("fire_once", [True]), ("fire_each", [True]), ("skip", [])):
        rule = ANSWER | {"absence": ANSWER["absence"] | {"on_missed": on_missed}}
        played = player("UTC", rule).play([mail(0, 0, "mail.received", "t")])
        back = START + timedelta(days=6)
        played.evaluate(tick(back, played.owner, played.zone))
        played.run_to(back + timedelta(hours=2))
        assert [trigger.late for trigger in played.triggers()] == expected


def test_what_was_answered_while_we_were_stopped_is_read_before_it_is_reported(player: Make) -> None:
    played = player("UTC", ANSWER).play([mail(0, 0, "mail.received", "t")])
    back = START + timedelta(days=6)
    played.evaluate(tick(back, played.owner, played.zone))
    answer = mail(1, 24 * 6, "mail.sent", "t").model_copy(update={"occurred_at": START + timedelta(days=2)})
    played.play([answer], until=START + timedelta(days=9))
    assert played.triggers() == []


# --- a series ------------------------------------------------------------------------------------------------------


def monthly(first: date, count: int, day: int) -> list[date]:
    """The same day of each month, as far as the month has it."""
    found = []
    for month in range(first.month - 1, first.month - 1 + count):
        year, number = first.year + month // 12, month % 12 + 1
        found.append(date(year, number, min(day, monthrange(year, number)[1])))
    return found


@settings(max_examples=300)
@given(
    st.integers(1, 31), st.integers(4, 14), st.integers(1, 12), st.lists(st.integers(0, 2), min_size=14, max_size=14)
)
def test_the_next_of_a_monthly_series_is_its_usual_day_in_the_next_month(
    day: int, count: int, month: int, strays: list[int]
) -> None:
    """Weekends move some days by up to two; most of them come on the usual day."""
    days = monthly(date(2025, month, 1), count + 1, day)
    moved = [d + timedelta(days=s if i % 3 == 2 else 0) for i, (d, s) in enumerate(zip(days, strays, strict=False))]
    found = expect(moved[:count], min_history=4, longest=45)
    assert found is not None
    assert abs((found.on - days[count]).days) <= (0 if day <= 27 else 2)  # the 28th may be a month's last day


@settings(max_examples=300)
@given(st.integers(3, 60), st.integers(4, 14), st.integers(0, 400))
def test_the_next_of_any_other_even_series_comes_one_gap_later(gap: int, count: int, start: int) -> None:
    first = date(2025, 1, 1) + timedelta(days=start)
    days = [first + timedelta(days=gap * index) for index in range(count)]
    found = expect(days, min_history=4, longest=100)
    assert found is not None
    expected = days[-1] + timedelta(days=gap)
    near_a_month = 26 <= gap <= 35  # so near that a short series cannot tell
    assert abs((found.on - expected).days) <= ((6 if count < 8 else 3) if near_a_month else 0)


@given(st.lists(st.integers(1, 120), min_size=3, max_size=13))
def test_an_uneven_series_has_no_rhythm(gaps: list[int]) -> None:
    days = [date(2025, 1, 1)]
    for gap in gaps:
        days.append(days[-1] + timedelta(days=gap))
    usual = median(gaps)
    uneven = sum(abs(gap - usual) > max(12.0, 0.4 * usual) for gap in gaps) * 2 > len(gaps)
    if uneven or not 1 <= usual <= 100:
        assert expect(days, min_history=3, longest=100) is None


def test_a_short_series_has_no_rhythm_yet() -> None:
    assert expect(monthly(date(2025, 1, 1), 3, 5), min_history=4, longest=45) is None


def test_the_last_day_of_a_month_is_one_day_whatever_its_number(player: Make) -> None:
    found = expect(monthly(date(2025, 9, 1), 6, 31), min_history=4, longest=45)
    assert found is not None
    assert found.on == date(2026, 3, 31)


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"])
def test_a_missing_one_is_reported_in_the_morning_after_its_slack(player: Make, zone: str) -> None:
    tz = ZoneInfo(zone)
    short: dict[str, Json] = {"kind": "bank.posted", "at": "2026-05-27 00:00", "amount": "1000.00 EUR"}
    events = [
        make_event(short | {"at": f"2026-{month:02d}-27 00:00", "payload": {"merchant": "m"}}, month, tz)
        for month in range(5, 10)
    ]
    played = player(zone, SERIES).play(events, until=datetime(2026, 12, 31, tzinfo=UTC))
    (trigger,) = played.triggers()
    assert trigger.fired_at.astimezone(tz).strftime("%Y-%m-%d %H:%M") == "2026-10-29 09:00"
    assert trigger.title == "expected on 2026-10-27, last on 2026-09-27, 5 times"


def test_it_is_withdrawn_when_it_comes_and_waited_for_again(player: Make) -> None:
    days = [*monthly(date(2026, 1, 1), 4, 10), date(2026, 5, 20), date(2026, 6, 10)]
    played = player("Europe/Berlin", SERIES).play(
        [income(number, day) for number, day in enumerate(days)], until=datetime(2026, 7, 20, tzinfo=UTC)
    )
    assert [signal.type for signal in played.signals] == ["trigger", "retraction", "trigger"]
    assert [trigger.values["absence.expected"].v for trigger in played.triggers()] == ["2026-05-10", "2026-07-10"]


def test_history_that_is_read_at_once_says_nothing_of_the_months_between(player: Make) -> None:
    now = datetime(2026, 7, 5, tzinfo=UTC)
    days = monthly(date(2026, 1, 1), 6, 27)
    events = [
        income(n, day).model_copy(update={"observed_at": now + timedelta(seconds=n)}) for n, day in enumerate(days)
    ]
    played = player("Europe/Berlin", SERIES).play(events, until=datetime(2026, 7, 28, tzinfo=UTC))
    assert played.triggers() == []
    played.run_to(datetime(2026, 7, 30, tzinfo=UTC))
    assert len(played.triggers()) == 1


def test_something_else_from_the_same_payer_is_not_the_expected_one(player: Make) -> None:
    events = [income(number, day) for number, day in enumerate(monthly(date(2026, 1, 1), 5, 10))]
    events.append(income(9, date(2026, 6, 9), "30.00 EUR"))
    played = player("Europe/Berlin", SERIES).play(events, until=datetime(2026, 6, 20, tzinfo=UTC))
    assert len(played.triggers()) == 1


def test_a_series_that_ended_long_ago_is_forgotten(player: Make) -> None:
    events = [income(number, day) for number, day in enumerate(monthly(date(2026, 1, 1), 5, 10))]
    played = player("Europe/Berlin", SERIES).play(events, until=datetime(2027, 9, 1, tzinfo=UTC))
    assert len(played.triggers()) == 1
    assert {name.split("/")[0] for name, _ in played.state.items()} == {"seen"}
    assert not [signal for signal in played.signals if isinstance(signal, Suppression)]
