"""The demo: one invented year of a household, played through the real pipeline and scored against its labels."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from pathlib import Path
from zoneinfo import ZoneInfo

from actions.proposal.state import OPEN, ProposalState
from actions.setup import Setup
from forewatch.play import Answer, Player, Span, last_instant
from forewatch.sample import accounts, generate, materialise, shown_until
from forewatch.sample.household import Household
from forewatch.sample.score import Offer, Score, score
from forewatch.sample.speech import Book
from forewatch.settings import Settings
from forewatch.wiring import Service, build, load_rules, open_settings_log, rule_paths
from rules.loader import load
from rules.ruleset import RuleSet
from schemas.account import AccountState
from schemas.clock import ManualClock, local_day, start_of_day
from schemas.event import Event
from schemas.payloads import BalancePayload, BankPayload, CalendarPayload, MailPayload
from streams import topics
from streams.codec import decode
from streams.work import Log, read_entries

START = date(2026, 1, 1)
ZONE = "Europe/Berlin"


@dataclass(frozen=True, slots=True)
class Play:
    """What to play and how. ``days`` None: to the end of the household's year."""

    home: Path
    seed: int = 1
    book: Book = "usual"
    """``fresh``: worded as nobody who wrote extractors or rules has seen."""
    zone: str = ZONE
    start: date = START
    days: int | None = None
    broker: str = ""
    prefix: str = "forewatch"
    answer: Answer = lambda service, at: ()
    progress: Callable[[date, date, date], None] = lambda day, start, end: None
    started: Callable[[], object] = lambda: None
    """Called once the service is up, before it does its first work."""


@dataclass(frozen=True, slots=True, repr=False)
class Played:
    """Not shown as text: asyncio does so with what a main task returns, and a year in words takes a second."""

    household: Household
    setup: Setup
    score: Score
    proposals: tuple[ProposalState, ...]
    interruptions: int
    """How often something was surfaced ``now``, a refresh included."""
    busiest_day: int
    """The most interruptions on one local day, those of the safety class left out."""
    days: int
    events: int


household_of = lru_cache(maxsize=2)(generate)
"""Deterministic, and it takes seconds: processes that play the same year again and again make it once."""


def rules_of(settings: Settings, setup: Setup) -> RuleSet:
    """Where only the shipped rules are used, they are read once for all plays of a process and of those it forks."""
    if settings.rule_paths or settings.disabled_rules or not settings.library:
        return load_rules(settings, setup)
    return _shipped(rule_paths(settings), settings.timezone, frozenset(setup.playbooks))


@lru_cache(maxsize=2)
def _shipped(paths: tuple[Path, ...], zone: str, playbooks: frozenset[str]) -> RuleSet:
    return load(paths, zone=ZoneInfo(zone), playbooks=playbooks)


def settings_of(play: Play) -> Settings:
    """An invented year need not survive a power cut (``sync=normal``); it does survive the death of the process."""
    home = play.home / "forewatch"
    return Settings(
        home=home,
        timezone=play.zone,
        broker=play.broker or f"embedded://{home / 'log.db'}?sync=normal",
        topic_prefix=play.prefix,
        poll_concurrency=1,  # one order of events, whatever happens on the way
    )


async def run(play: Play) -> Played:
    """Play it, from where an earlier run on the same home was killed; then score what was proposed."""
    household = household_of(play.seed, play.zone, play.start, play.book)
    settings = settings_of(play)
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    zone = ZoneInfo(play.zone)
    end = (
        household.end
        if play.days is None
        else min(household.end, play.start.fromordinal(play.start.toordinal() + play.days))
    )
    log = await open_settings_log(settings)
    began = start_of_day(play.start, zone)
    world = play.home / "world"
    # nothing is seen before it is there: what a redelivered poll finds was put there for the instant of the next one
    clock = ManualClock(max(filter(None, (await last_instant(log), shown_until(household, world), began))))
    await log.close()
    service = await build(settings, clock, random.Random(play.seed), read_rules=rules_of)
    try:
        await service.start()
        await _connect(service, household, play.home, began)
        player = Player(
            service,
            clock,
            Span(play.start, end, zone),
            arrive=lambda until: materialise(household, world, until),
            answer=play.answer,
            progress=lambda day: play.progress(day, play.start, end),
        )
        play.started()
        await player.play()
        proposals = tuple(state for book in service.act.books() for state in book.proposals.values())
        pushed = sum(len(book.pushed) for book in service.act.books())
        busiest = _busiest_day(service, zone)
        tokens = await _tokens(service.log)
    finally:
        await service.stop()
    offers = [offer for state in proposals for offer in offers_of(state, tokens)]
    scored = score(household, offers, end)
    days = (end - play.start).days
    return Played(household, service.setup, scored, proposals, pushed, busiest, days, len(tokens))


def _busiest_day(service: Service, zone: ZoneInfo) -> int:
    counts: Counter[date] = Counter()
    for book in service.act.books():
        counts.update(local_day(at, zone) for at in book.pushed)
        safety = (state for state in book.proposals.values() if state.trigger.urgency == "critical")
        counts.subtract(local_day(state.offered_at, zone) for state in safety if state.offered_at)
    return max(counts.values(), default=0)


async def _connect(service: Service, household: Household, root: Path, at: datetime) -> None:
    await service.accounts.refresh()
    for name, connector, config in accounts(household):
        prepare(root / "world" / str(config["path"]), connector)
        if service.accounts.get(name) is None:
            placed = {**config, "path": str(root / "world" / str(config["path"]))}
            state = AccountState(
                id=name, owner=service.settings.owner, connector=connector, title=name, config=placed, created_at=at
            )
            await service.log.append([service.accounts.output(state)])


def prepare(place: Path, connector: str) -> None:
    """A mailbox and a folder of statements are there, and empty, before anything arrives."""
    if connector == "maildir":
        for part in ("cur", "new", "tmp"):
            (place / part).mkdir(parents=True, exist_ok=True)
    elif connector == "bankfile":
        place.mkdir(parents=True, exist_ok=True)


async def _tokens(log: Log) -> dict[str, frozenset[str]]:
    """What the labels may know each event by."""
    found: dict[str, frozenset[str]] = {}
    for partition in range(log.partitions(topics.EVENTS)):
        async for entry in read_entries(log, topics.EVENTS, partition):
            event = decode(Event, entry.value or b"")
            found[event.id] = names_of(event)
    return found


def names_of(event: Event) -> frozenset[str]:
    match event.payload:
        case MailPayload(message_id=name):
            names = [name]
        case CalendarPayload(uid=name):
            names = [name]
        case BankPayload() as row:
            names = [row.native_id, row.end_to_end_id, row.purpose, *row.purpose.split()]
        case BalancePayload(bank_account=name):
            names = [f"balance:{name}"]
        case _:
            names = [f"account:{event.account}"]
    return frozenset(name for name in names if name)


def offers_of(state: ProposalState, tokens: dict[str, frozenset[str]]) -> Iterator[Offer]:
    """One for each reason, which interrupts only if it came first. A refresh of the same reason is no new one."""
    if state.offered_at is None:
        return
    closed_at = _closed_at(state)
    for number, reason in enumerate(state.reasons.values()):
        names = [tokens.get(item.event, frozenset()) for item in reason.trigger.evidence]
        yield Offer(
            id=state.id,
            rule=reason.trigger.rule,
            title=reason.trigger.title,
            offered_at=reason.since,
            retracted_at=reason.ended_at if reason.code not in ("expired", "joined", "parted") else None,
            surface=state.surface if number == 0 else "digest",
            tokens=frozenset().union(*names),
            closed_at=reason.ended_at or closed_at,
        )


def _closed_at(state: ProposalState) -> datetime | None:
    if state.phase in OPEN:
        return None
    return state.answered.at if state.answered else state.updated_at
