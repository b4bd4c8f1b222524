"""``python -m benchmarks.rehearsal SEED ...``: a year in one process and in seconds, for whoever tunes rules.

The agents and rules are those of the demo, and so are the events; there is no Faust, no history and no clock but the
polls, so this is no evaluation. Events are kept in a temporary folder until the household or the extractors change.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from actions.journal import seal
from actions.proposal.book import Book
from actions.proposal.propose import Input, Tick, decide, next_tick
from actions.setup import Setup
from extractors import registry
from forewatch.demo import START, ZONE, names_of, offers_of, prepare
from forewatch.play import Span
from forewatch.sample import accounts, generate, materialise
from forewatch.sample.household import Household
from forewatch.sample.score import Finding, Offer, Score, score
from forewatch.sample.sources import Account
from forewatch.settings import Settings
from forewatch.wiring import build_setup, load_rules
from rules.replay import Replay, Stops
from schemas.account import AccountState
from schemas.clock import ManualClock, start_of_day
from schemas.event import Event
from schemas.trigger import Signal, Suppression, Trigger
from streams import ticks, topics
from streams.accounts import accounts as account_fold
from streams.accounts import cursors
from streams.codec import decode, decode_event
from streams.deadletter import DeadLetterLimit
from streams.normalise import NormaliseAgent
from streams.poll import PollAgent, PollDeps
from streams.silence import is_silent
from streams.testing import MemoryLog, batch_of

OWNER = "me"
_CODE = ("extractors", "streams")


def events_of(household: Household) -> list[bytes]:
    """Every event of the year and each local midnight, as the log has them, in the order of time."""
    found = [*_midnights(household)]
    for account in accounts(household):
        drops = tuple(drop for drop in household.drops if Path(drop.path).is_relative_to(str(account[2]["path"])))
        own = replace(household, drops=drops)
        kept = Path(tempfile.gettempdir()) / f"rehearsal-{_fingerprint(own)}.jsonl"
        if not kept.exists():
            with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
                kept.write_bytes(b"\n".join(asyncio.run(_polled(own, account, Path(folder)))))
        found += kept.read_bytes().splitlines()
    return sorted(found, key=lambda line: decode_event(line).observed_at)


def _fingerprint(household: Household) -> str:
    """Of all that the events come from: the files of the year and the code that reads them."""
    digest = hashlib.sha256(household.zone.encode())
    for drop in household.drops:
        digest.update(f"{drop.at.isoformat()} {drop.action} {drop.path}\n".encode() + drop.content)
    root = Path(__file__).parents[1]
    for path in sorted(path for folder in _CODE for path in (root / folder).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


async def _polled(household: Household, account: Account, root: Path) -> list[bytes]:
    """The events of one account, which is polled when there is something new, or when it has been silent for long."""
    name, connector, config = account
    zone = ZoneInfo(household.zone)
    last = start_of_day(household.start, zone)
    clock, log, connectors = ManualClock(last), MemoryLog(), registry.Connectors()
    known, places = account_fold(log), cursors(log)
    poll = PollAgent(PollDeps(log, known, places, connectors, zone, clock, random.Random(household.seed)))
    prepare(root / str(config["path"]), connector)
    placed = {**config, "path": str(root / str(config["path"]))}
    known.set(AccountState(id=name, owner=OWNER, connector=connector, title=name, config=placed, created_at=last))
    normalise = NormaliseAgent(connectors, zone, clock, DeadLetterLimit())
    read = 0
    for at in Span(household.start, household.end, zone).polls():
        clock.advance_to(at)
        state = places.get(name)
        falls_silent = state is not None and not state.silent and is_silent(state, at)
        if falls_silent or any(last < drop.at <= at for drop in household.drops):
            materialise(household, root, at)
            await poll.poll(name)
        last = at
        if records := await log.read(topics.RECORDS, 0, read, 100_000):
            read += len(records)
            await log.append((await normalise.handle(batch_of(records))).outputs)
    return [entry.value or b"" for entry in log.entries(topics.EVENTS)]


def _midnights(household: Household) -> Iterator[bytes]:
    day, zone = household.start, ZoneInfo(household.zone)
    while day < household.end:
        at = start_of_day(day, zone)
        yield ticks.clock_event(OWNER, "clock.day", at, day, zone).value or b""
        day += timedelta(days=1)


def offers_made(signals: Iterable[Signal], log: Sequence[bytes], setup: Setup) -> list[Offer]:
    """What becomes of the signals when nobody answers."""
    book = Book(OWNER)
    for signal in signals:
        if isinstance(signal, Suppression):
            continue
        now = signal.fired_at if isinstance(signal, Trigger) else signal.at
        while (due := next_tick(book)) is not None and due <= now:
            _journal(book, Tick(), due, setup)
        _journal(book, signal, now, setup)
    proposals = book.proposals.values()
    reasons = [reason for state in proposals for reason in state.reasons.values()]
    shown = {item.event for reason in reasons for item in reason.trigger.evidence}
    events = [decode(Event, line) for line in log if re.search(rb'"id":"([^"]+)"', line)[1].decode() in shown]
    tokens = {event.id: names_of(event) for event in events}
    return [offer for state in proposals for offer in offers_of(state, tokens)]


def _journal(book: Book, said: Input, now: datetime, setup: Setup) -> None:
    for entry in seal(decide(book, said, now, setup), owner=OWNER, epoch=1, tip=book.tip):
        book.apply(entry)


def rehearse(seed: int, home: Path, fresh: bool = False) -> Score:
    household = generate(seed, ZONE, START, "fresh" if fresh else "usual")
    log = events_of(household)
    events = [decode_event(line) for line in log]
    settings = Settings(home=home, timezone=ZONE)
    setup = build_setup(settings, ManualClock(events[0].observed_at))
    played = Replay(load_rules(settings, setup), OWNER, ZoneInfo(ZONE), Stops(events))
    return score(household, offers_made(played.tell(events), log, setup))


def main(seeds: Sequence[int]) -> None:
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
        for seed in seeds:
            found = rehearse(seed, Path(folder))
            _tell(seed, found)
            total += Counter({"misses": len(found.misses), "false alarms": len(found.false_alarms)})
    print(dict(total))


def _tell(seed: int, found: Score) -> None:
    print(
        f"== {seed}: {found.noticed}/{found.situations} noticed, {found.disturbed}/{found.look_alikes} disturbed, "
        f"{found.right}/{found.proposals} right, {found.interruptions_per_week:.2f} a week, "
        f"redundancy {found.redundancy:.3f}"
    )
    for title in ("misses", "false_alarms", "not_withdrawn", "withdrawn_early"):
        findings: tuple[Finding, ...] = getattr(found, title)
        for item in findings:
            rule = item.offer.rule if item.offer else ""
            print(f"  {title:<16} {item.what[:90]}: {item.reason[:110]} {rule} {item.label.id if item.label else ''}")


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [1])
