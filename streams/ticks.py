"""What is due by now: polls, local midnights and rule timers, as records to append. Pure; ``ticker`` does it.

Ticks are events in the log like any other: evaluation never reads a clock, so a replay sees the same ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from schemas import ids
from schemas.account import AccountState, CursorState
from schemas.clock import local_day, start_of_day
from schemas.event import Event
from schemas.payloads import ClockPayload
from schemas.record import PollDue
from streams import topics
from streams.codec import encode
from streams.work import Output

MOST_MISSED_DAYS = 400
"""After a longer stop the oldest missed days are not announced one by one."""


def poll_due(account: AccountState, state: CursorState | None) -> datetime:
    """When this account is to be polled next."""
    if state is None or state.polled_at is None:
        return account.created_at
    if state.retry_at is not None:
        return state.retry_at
    return state.polled_at + timedelta(seconds=account.poll_every_s)


def poll_times(
    accounts: Iterable[AccountState], cursor: Callable[[str], CursorState | None]
) -> Iterator[tuple[str, datetime]]:
    """Each account that is polled at all, and when it is due next."""
    for account in accounts:
        if account.status not in ("paused", "removed"):
            yield account.id, poll_due(account, cursor(account.id))


def poll_request(account: str, now: datetime, reason: str = "schedule") -> Output:
    return Output(topics.POLLS, account.encode(), encode(PollDue(account=account, due_at=now, reason=reason)))


def clock_event(owner: str, kind: str, at: datetime, day: date, zone: ZoneInfo, due: datetime | None = None) -> Output:
    """``clock.day`` (one per local day) or ``clock.tick`` (one per instant) as an event of its owner.

    ``due``: when the timer was that the tick is for; it occurred then and is observed now, so that a backtest can tell
    how long the service was stopped.
    """
    version = day.isoformat() if kind == "clock.day" else at.isoformat()
    event = Event(
        id=ids.event_id(owner, kind, "clock", version),
        owner=owner,
        account="clock",
        source="clock",
        kind=kind,
        subject=f"clock:{version}",
        version=version,
        occurred_at=start_of_day(day, zone) if kind == "clock.day" else due or at,
        observed_at=at,
        trust="service",
        payload=ClockPayload(day=day, zone=zone.key),
    )
    return Output(topics.EVENTS, owner.encode(), encode(event))


def days_begun(last: date | None, now: datetime, zone: ZoneInfo) -> list[date]:
    """The local days that have begun since ``last`` (exclusive), oldest first; just today when there was none."""
    today = local_day(now, zone)
    if last is None:
        return [today]
    missed = min((today - last).days, MOST_MISSED_DAYS)
    return [today - timedelta(days=back) for back in reversed(range(missed))]


def next_midnight(now: datetime, zone: ZoneInfo) -> datetime:
    return start_of_day(local_day(now, zone) + timedelta(days=1), zone)
