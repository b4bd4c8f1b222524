from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.account import ARRIVALS_KEPT, AccountState, CursorState
from schemas.errors import TooManyDeadLetters
from schemas.event import Event
from streams import ticks
from streams.codec import decode
from streams.deadletter import DeadLetterLimit
from streams.silence import is_silent, note_arrival, patience

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def every(days: int, count: int) -> tuple[datetime, ...]:
    return tuple(NOW - timedelta(days=days * back) for back in reversed(range(count)))


def test_a_back_fill_counts_as_one_arrival() -> None:
    arrivals: tuple[datetime, ...] = ()
    for minute in range(50):
        arrivals = note_arrival(arrivals, NOW + timedelta(minutes=minute), BERLIN)
    assert len(arrivals) == 1


def test_only_the_newest_arrivals_are_kept() -> None:
    arrivals: tuple[datetime, ...] = ()
    for day in range(100):
        arrivals = note_arrival(arrivals, NOW + timedelta(days=day), BERLIN)
    assert len(arrivals) == ARRIVALS_KEPT
    assert arrivals[-1] == NOW + timedelta(days=99)


def test_patience_is_four_times_the_usual_gap_but_a_week_at_least() -> None:
    assert patience(every(1, 10)) == timedelta(days=7)
    assert patience(every(30, 5)) == timedelta(days=120)
    assert patience(every(1, 3)) is None


def test_a_source_of_which_little_is_known_is_never_silent() -> None:
    state = CursorState(account="a", arrivals=every(1, 3))
    assert not is_silent(state, NOW + timedelta(days=999))


@given(missed=st.integers(0, 30))
def test_each_missed_day_is_announced_once_and_in_order(missed: int) -> None:
    last = date(2026, 3, 15)
    days = ticks.days_begun(last, datetime(2026, 3, 15, 12, tzinfo=UTC) + timedelta(days=missed), BERLIN)
    assert days == [last + timedelta(days=n + 1) for n in range(missed)]


def test_the_first_day_ever_is_today() -> None:
    assert ticks.days_begun(None, datetime(2026, 3, 1, 23, 30, tzinfo=UTC), BERLIN) == [date(2026, 3, 2)]


def test_a_clock_day_has_one_id_whenever_it_is_announced() -> None:
    early, late = (
        decode(Event, ticks.clock_event("me", "clock.day", at, date(2026, 3, 1), BERLIN).value or b"")
        for at in (NOW, NOW + timedelta(hours=5))
    )
    assert early.id == late.id
    assert early.occurred_at == datetime(2026, 2, 28, 23, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "day", "midnight"),
    [
        ("Europe/Berlin", datetime(2026, 3, 29, 3, tzinfo=UTC), datetime(2026, 3, 29, 22, tzinfo=UTC)),
        ("America/Los_Angeles", datetime(2026, 11, 1, 8, tzinfo=UTC), datetime(2026, 11, 2, 8, tzinfo=UTC)),
        ("Asia/Kolkata", NOW, datetime(2026, 3, 1, 18, 30, tzinfo=UTC)),
        ("Australia/Lord_Howe", datetime(2026, 4, 4, 14, tzinfo=UTC), datetime(2026, 4, 5, 13, 30, tzinfo=UTC)),
    ],
)
def test_midnight_is_the_owners_over_dst(zone: str, day: datetime, midnight: datetime) -> None:
    assert ticks.next_midnight(day, ZoneInfo(zone)) == midnight


def account(**changes: object) -> AccountState:
    return AccountState(id="a", owner="me", connector="x", created_at=NOW, poll_every_s=60).model_copy(update=changes)


def test_an_account_is_due_at_once_then_after_its_interval_and_after_a_failure_when_it_may_work() -> None:
    later = NOW + timedelta(hours=2)
    assert ticks.poll_due(account(), None) == NOW
    assert ticks.poll_due(account(), CursorState(account="a", polled_at=later)) == later + timedelta(seconds=60)
    assert ticks.poll_due(account(), CursorState(account="a", polled_at=NOW, retry_at=later)) == later


def test_paused_and_removed_accounts_are_never_due() -> None:
    states = [account(status="paused"), account(status="removed"), account(status="needs_reauth")]
    assert len(list(ticks.poll_times(states, lambda _: None))) == 1


def test_a_few_dead_letters_are_the_worlds_fault_and_many_are_ours() -> None:
    limit = DeadLetterLimit(ratio=0.5, window=100, at_least=20)
    for n in range(100):
        limit.record(n % 3 == 0)
    with pytest.raises(TooManyDeadLetters, match=r"nothing is lost"):
        fill(limit)


def fill(limit: DeadLetterLimit) -> None:
    for _ in range(30):
        limit.record(True)


def test_a_small_sample_says_nothing() -> None:
    limit = DeadLetterLimit(ratio=0.5, window=100, at_least=20)
    for _ in range(19):
        limit.record(True)
