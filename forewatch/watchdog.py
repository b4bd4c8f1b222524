"""The watchdog: each day a canary through the whole pipeline, and a look at rules that cannot see what they wait for.

What it finds becomes ``service.fault`` events of the owner, so that a rule tells the person, and withdraws it again
when it is over. A canary that is lost cannot be told of on the way on which it was lost: the service's log and
``doctor`` say it, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import structlog

from forewatch import canary
from forewatch.cards import unread_accounts
from forewatch.settings import Settings
from rules.health import Finding, examine
from rules.ruleset import RuleSet
from schemas import ids
from schemas.account import AccountState, CursorState
from schemas.clock import Clock, local_day
from schemas.event import Event
from schemas.payloads import ServicePayload
from streams import topics
from streams.accounts import Fold, accounts, cursors
from streams.act import ActAgent
from streams.codec import decode_event, encode
from streams.partition import partition_for
from streams.work import Log, Output, read_entries

log = structlog.get_logger(__name__)

PATIENCE = timedelta(minutes=5)
"""How long a canary may be under way: a busy service catches up first."""
NEWEST = 20_000
"""Events that the rules are held against; of more, the older ones are left out."""
LOOK_EVERY_S = 15.0

Shipped = Callable[[RuleSet], Collection[str]]
"""Which rules of a set come with Forewatch, by id."""
Problem = tuple[str, str, str]
"""Code, what it is about, what to say."""
LOST: Problem = (
    "canary_lost",
    "",
    "Forewatch sent itself a canary, and it did not arrive: what comes in may not be acted on",
)


@dataclass(frozen=True, slots=True)
class WatchdogDeps:
    """``rules``: those in use now. ``shipped``: which of them come with Forewatch."""

    log: Log
    accounts: Fold[AccountState]
    cursors: Fold[CursorState]
    act: ActAgent
    rules: Callable[[], RuleSet]
    shipped: Shipped
    owner: str
    zone: ZoneInfo
    clock: Clock


@dataclass(slots=True)
class Flight:
    """The canary of one local day. ``seen_at``: when the journal noted it."""

    day: date
    sent_at: datetime
    seen_at: datetime | None = None
    is_lost: bool = False
    """It was not seen in time; it may still come."""


class Watchdog:
    """For one owner. ``step`` does what is due; it sends nothing while another process acts for the owner."""

    def __init__(self, deps: WatchdogDeps) -> None:
        self._deps = deps
        self._examined: date | None = None
        self.flight: Flight | None = None

    async def run(self) -> None:
        """For ever; what it raises is the service's end."""
        while True:
            await self.step()
            await asyncio.sleep(LOOK_EVERY_S)

    async def step(self) -> None:
        deps = self._deps
        partition = partition_for(deps.owner.encode(), deps.log.partitions(topics.EVENTS))
        if not deps.act.owns(partition):
            return
        now = deps.clock.now()
        day = local_day(now, deps.zone)
        if deps.rules().is_on(canary.RULE):
            await self._fly(day, now)
        if self._examined != day and not self._is_under_way:
            self._examined = day
            await self._examine(partition, day, now)

    # -- the canary

    @property
    def _is_under_way(self) -> bool:
        flight = self.flight
        return flight is not None and flight.seen_at is None and not flight.is_lost

    async def _fly(self, day: date, now: datetime) -> None:
        flight = self.flight
        if flight is None or flight.day != day:
            record = canary.record(self._deps.owner, day, now)
            await self._deps.log.append([Output(topics.RECORDS, record.account.encode(), encode(record))])
            self.flight = Flight(day, now)
        elif flight.seen_at is None:
            flight.seen_at = self._landed(day)
            if flight.seen_at is not None and flight.is_lost:
                await self._say([LOST], day, now, op="retract")
            elif self._is_under_way and now - flight.sent_at > PATIENCE:
                flight.is_lost = True
                log.error("canary lost", action="canary_lost", sent_at=flight.sent_at.isoformat())

    def _landed(self, day: date) -> datetime | None:
        for book in self._deps.act.books():
            seen = book.shadows.get(canary.RULE) if book.owner == self._deps.owner else None
            if seen is not None and seen[0] == f"{canary.SOURCE}:{day.isoformat()}":
                return seen[1]
        return None

    # -- rules that cannot see

    async def _examine(self, partition: int, day: date, now: datetime) -> None:
        deps = self._deps
        await deps.accounts.refresh()
        await deps.cursors.refresh()
        dead = unread_accounts(deps.accounts, deps.cursors.get, now)
        events = await newest_events(deps.log, partition, deps.owner)
        found = await asyncio.to_thread(_held, deps.rules(), deps.shipped, events, deps.owner, deps.zone, dead)
        problems: list[Problem] = [(item.code, item.rule, item.says) for item in found]
        if self.flight is not None and self.flight.is_lost:
            problems.append(LOST)
        await self._say(problems, day, now)
        await self._say(list(_cured(events, problems)), day, now, op="retract")

    async def _say(self, problems: Sequence[Problem], day: date, now: datetime, op: str = "upsert") -> None:
        outputs = [
            Output(topics.EVENTS, self._deps.owner.encode(), encode(fault(self._deps.owner, problem, day, now, op)))
            for problem in problems
        ]
        if outputs:
            await self._deps.log.append(outputs)


async def findings(log: Log, rules: RuleSet, shipped: Shipped, settings: Settings, now: datetime) -> list[Finding]:
    """For the command line, with or without a service."""
    states, places = accounts(log), cursors(log)
    await states.refresh()
    await places.refresh()
    partition = partition_for(settings.owner.encode(), log.partitions(topics.EVENTS))
    events = await newest_events(log, partition, settings.owner)
    return _held(rules, shipped, events, settings.owner, settings.zone, unread_accounts(states, places.get, now))


def _held(
    rules: RuleSet, shipped: Shipped, events: Sequence[Event], owner: str, zone: ZoneInfo, dead: Collection[str]
) -> list[Finding]:
    return examine(rules, events, owner=owner, zone=zone, dead=dead, shipped=shipped(rules))


def fault(owner: str, problem: Problem, day: date, now: datetime, op: str = "upsert") -> Event:
    """``service.fault``, or (``retract``) the end of it. One a day of each kind, however often it is said."""
    code, about, says = problem
    subject = f"fault:{code}:{about}"
    version = f"{day.isoformat()}/{op}"
    return Event.model_validate(
        {
            "id": ids.event_id(f"service/{owner}", "service.fault", subject, version),
            "owner": owner,
            "account": "service",
            "source": "service",
            "kind": "service.fault",
            "op": op,
            "subject": subject,
            "version": version,
            "occurred_at": now,
            "observed_at": now,
            "title": says,
            "trust": "service",
            "payload": ServicePayload(code=code, about=about, says=says),
        }
    )


def _cured(events: Sequence[Event], problems: Sequence[Problem]) -> Iterator[Problem]:
    """What was said before and is over."""
    now = {(code, about) for code, about, _ in problems}
    newest = {event.subject: event for event in events if event.kind == "service.fault"}
    for event in newest.values():
        payload: Any = event.payload
        if event.op == "upsert" and (payload.code, payload.about) not in now:
            yield payload.code, payload.about, ""


async def newest_events(log: Log, partition: int, owner: str) -> list[Event]:
    """One owner's, in the order of the log: of its last ``NEWEST`` records."""
    start = max(0, await log.end(topics.EVENTS, partition) - NEWEST)
    decoded = [
        decode_event(e.value) async for e in read_entries(log, topics.EVENTS, partition, start) if e.value is not None
    ]
    return [event for event in decoded if event.owner == owner]
