"""Erasing an account, an event or a note: what came from it goes, from the log, the history, the indexes, the outbox.

It is written down first that it shall be done, so that a crash, or a full disk, leaves it to be finished by the next
``serve`` or by the same command again. What tools did in the world (mails, calendar entries, documents) is the
person's and stays.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from pathlib import Path

from forewatch.erasures import Erasure, announce, follow
from forewatch.settings import Settings
from forewatch.wiring import build_setup, load_rules
from rules.engine import Engine
from schemas.clock import Clock
from streams.broker import Broker, parse_broker
from streams.erase import Lineage, erase_from_log
from streams.evaluate import rebuilt
from streams.log import open_log
from streams.rewriting import reopen, rewritten_for
from streams.work import Log

_FOLDER = "erasing"
"""One file for each account, event or note that is to be erased; in it what its erased runs left in the outbox. Its
time is that at which the erasure was begun."""


@dataclass(frozen=True, slots=True)
class Erased:
    """How much rested on the account (or what ``streams.erase`` calls an event or a note)."""

    account: str
    ids: int
    proposals: int


def pending(home: Path) -> list[str]:
    """Erasures that were begun and not ended, the oldest first: accounts, events, notes."""
    folder = home / _FOLDER
    marks = [path for path in folder.iterdir() if path.name[0] != "."] if folder.is_dir() else []
    return [mark.name for mark in sorted(marks, key=lambda mark: (mark.stat().st_mtime_ns, mark.name))]


def is_begun(settings: Settings, account: str) -> bool:
    """Whether an erasure of this account was begun, here or on another machine of the same log."""
    return account in _begun(settings)


def begun(settings: Settings, start: str) -> str:
    """The erasure that was begun of an event or note whose name starts so; empty where there is none. What it is about
    may be gone from the log, and on Kafka nobody can look until it has ended."""
    found = [target for target in _begun(settings) if target.startswith(start)]
    return found[0] if len(found) == 1 else ""


def _begun(settings: Settings) -> set[str]:
    return {*pending(settings.home), rewritten_for(_broker(settings))} - {""}


def erase(settings: Settings, account: str, clock: Clock) -> Erased:
    """Blocks until nothing of the account is left. ConfigError while a service runs here."""
    broker = _broker(settings)
    mark = settings.home / _FOLDER / account
    mark.parent.mkdir(mode=0o700, exist_ok=True)
    if not mark.exists():
        mark.touch()
    lineage = erase_from_log(broker, account, note=lambda lineage: _note(mark, lineage))
    erasure = Erasure(at=clock.now(), keys=tuple(mark.read_text("utf-8").split()))
    asyncio.run(_follow(settings, clock, erasure))
    reopen(broker)
    mark.unlink()
    return Erased(account, len(lineage.ids), len(lineage.proposals))


def _broker(settings: Settings) -> Broker:
    return parse_broker(settings.broker_url, settings.topic_prefix, settings.partitions)


def _note(mark: Path, lineage: Lineage) -> None:
    """Durable, and whole or not there; the mark stays as old as it is."""
    known = {*mark.read_text("utf-8").split(), *lineage.keys}
    fresh = mark.with_name(f".{mark.name}")
    with fresh.open("w", encoding="utf-8") as file:
        file.write("".join(f"{key}\n" for key in sorted(known)))
        file.flush()
        os.fsync(file.fileno())
    os.utime(fresh, ns=(mark.stat().st_atime_ns, mark.stat().st_mtime_ns))
    fresh.rename(mark)


def finish(settings: Settings, clock: Clock) -> list[Erased]:
    """Whatever a crash left unfinished, in the order in which it was begun; first of all that for which the log is half
    rewritten, since until then it lets no other one begin."""
    left = pending(settings.home)
    halfway = rewritten_for(_broker(settings)) if left else ""
    return [erase(settings, account, clock) for account in sorted(left, key=lambda account: account != halfway)]


async def _follow(settings: Settings, clock: Clock, erasure: Erasure) -> None:
    """What rests on the log: the history, the outbox, and what the rules remember."""
    log = await open_log(settings.broker_url, settings.topic_prefix, settings.partitions, is_rewriting=True)
    try:
        await announce(log, erasure)
        await follow(settings, log)
        await _rebuild_state(settings, clock, log)
    finally:
        await log.close()


async def _rebuild_state(settings: Settings, clock: Clock, log: Log) -> None:
    """Made again from the events that remain."""
    rule_set = load_rules(settings, build_setup(settings, clock))
    for partition in range(settings.partitions):
        state = await rebuilt(log, partition, lambda owner: Engine(rule_set, owner, settings.zone))
        await log.append(state)
