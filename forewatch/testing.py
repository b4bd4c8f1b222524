"""For acceptance tests: a person who approves everything, processes that are killed, and what is left afterwards."""

from __future__ import annotations

import argparse
import asyncio
import gc
import hashlib
import json
import os
import random
import select
import signal
import sys
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from actions.tools import ics
from extractors import registry
from forewatch.demo import START, Play, household_of, rules_of, run, settings_of
from forewatch.sample import accounts, shown_until
from forewatch.sample.household import Household
from forewatch.wiring import Service, build_setup, open_settings_log
from schemas import ids
from schemas.clock import SystemClock, local_day
from schemas.command import Command
from schemas.journal import JournalEntry
from schemas.model import Json
from streams import topics
from streams.codec import encode
from streams.journal import read_books, valid_entries
from streams.work import Log, Output, read_entries

ATTEMPTS = ("step.intent", "step.result", "step.lookup", "step.verified")
"""Entries of which a crash may rightly cause more: another attempt under the same key, another look."""


def approve_all(service: Service, at: datetime) -> list[Output]:
    """Approve what is offered and confirm what asks, exactly as shown."""
    outputs = []
    for book in service.act.books():
        for state in list(book.open()):
            if state.phase == "offered":
                outputs.append(_command(service, state.id, "approve", state.digest, {}, at))
        for state in list(book.active()):
            for uid, step in state.steps.items():
                if step.gate is not None:
                    outputs.append(_command(service, state.id, "confirm", step.gate.digest, {"step": uid}, at))
    return outputs


def _command(service: Service, proposal: str, verb: str, digest: str, args: dict[str, Json], at: datetime) -> Output:
    owner = service.settings.owner
    command = Command.model_validate(
        {"id": ids.command_id(proposal, verb, f"{at.isoformat()}/{digest}"), "owner": owner, "who": owner}
        | {"channel": "test", "verb": verb, "proposal": proposal, "digest": digest, "args": args, "at": at}
    )
    return Output(topics.COMMANDS, owner.encode(), encode(command))


@dataclass(frozen=True, slots=True)
class Killed:
    """How often a play was killed before it came to its end, and how often of these it was at work by then."""

    kills: int
    at_work: int
    finished: bool


@dataclass(frozen=True, slots=True)
class Pauses:
    """The longest that a process may live, in seconds: while it starts, and from when it is at work."""

    start_s: float
    work_s: float


def play_with_kills(play: Play, kills: int, rng: random.Random, pauses: Pauses) -> Killed:
    """Play in child processes, each killed with SIGKILL after a random pause, until ``kills`` were done; then let
    the last one come to its end. Call it from a process without threads: it forks.

    The kills are spread over all days whatever the speed of the machine: while fewer days than kills are done, every
    other child dies at work, otherwise while it starts. A step may take longer than a child lives: each that dies at
    work on the same day as the one before lives half a pause longer.
    """
    _load_beforehand(play)
    at_work, stuck, before = 0, 0, 0.0
    for done in range(kills):
        played = _played(play)
        stuck, before = (stuck, before) if played == before else (0, played)
        is_behind = not done % 2 and played < done / kills
        at_work += is_behind
        longest = pauses.work_s * (1 + stuck / 2) if is_behind else pauses.start_s
        stuck += is_behind
        if _child(play, rng.uniform(0, longest), is_behind):
            return Killed(done, at_work, True)
    return Killed(kills, at_work, _child(play, None, True))


def _load_beforehand(play: Play) -> None:
    """What each child would load anew at its start, first poll and first plan: it shall die at work, not at that."""
    import_module("networkx")
    settings = settings_of(play)
    rules_of(settings, build_setup(settings, SystemClock()))
    for _, connector, _ in accounts(_household(play)):
        registry.connector(connector)
    gc.freeze()


def _household(play: Play) -> Household:
    return household_of(play.seed, play.zone, play.start, play.book)


def _played(play: Play) -> float:
    """The part of the days that has been played."""
    household = _household(play)
    shown = shown_until(household, play.home / "world")
    if shown is None:
        return 0.0
    days = (local_day(shown, ZoneInfo(play.zone)) - play.start).days
    return days / (play.days or (household.end - play.start).days)


def _child(play: Play, seconds: float | None, works: bool) -> bool:
    """True if it came to its end before it was killed. RuntimeError if it failed by itself.

    ``seconds`` count from when it is at work; if not ``works``, from its beginning, and end when it is at work."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        os._exit(_play_in_child(replace(play, started=partial(os.write, theirs, b"."))))
    os.close(theirs)
    if works:
        os.read(ours, 1)
    # the end of the pipe, too, is something to read: the child is dead
    select.select([ours], [], [], seconds)
    is_over = works and bool(select.select([ours], [], [], 0)[0])
    if not is_over:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(ours)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the player failed by itself with exit code {code}")
    return code == 0


def _play_in_child(play: Play) -> int:
    try:
        asyncio.run(run(play))
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def outcome(play: Play) -> dict[str, Any]:
    """Everything that must be the same however often the process was killed on the way."""

    async def read() -> dict[str, Any]:
        log = await open_settings_log(settings_of(play))
        try:
            proposals = json.dumps(await _proposals(log)).replace(str(play.home), "")
            return {"signals": await _ids(log, topics.TRIGGERS), "proposals": json.loads(proposals)}
        finally:
            await log.close()

    return asyncio.run(read()) | {"history": _history(play), "effects": effects(settings_of(play).home)}


async def _ids(log: Log, topic: str) -> list[str]:
    import msgspec

    found = set()
    for partition in range(log.partitions(topic)):
        found |= {msgspec.json.decode(e.value)["id"] async for e in read_entries(log, topic, partition) if e.value}
    return sorted(found)


async def _proposals(log: Log) -> dict[str, Any]:
    """The end of each proposal, and every entry on the way that a crash must not add to."""
    entries: dict[str, list[JournalEntry]] = {}
    async for entry in valid_entries(log):
        entries.setdefault(entry.stream, []).append(entry)
    books = await read_books(log)
    return {
        state.id: {
            "phase": state.phase,
            "title": state.title,
            "steps": {uid: (step.phase, step.receipt) for uid, step in sorted(state.steps.items())},
            "journal": [(e.type, e.at.isoformat(), e.cause) for e in entries[state.id] if e.type not in ATTEMPTS],
        }
        for book in books.values()
        for state in book.proposals.values()
    }


def _history(play: Play) -> dict[str, Any]:
    """Events as kept: each once."""
    from forewatch.storage.query import HistoryQuery, Limits

    settings = settings_of(play)
    query = HistoryQuery(settings.history, settings.timezone, Limits(rows=200_000, page_bytes=256 << 20))
    rows = query.page("SELECT id, kind, occurred_at, observed_at FROM events ORDER BY id").rows
    counts = Counter(str(row[0]) for row in rows)
    return {"events": rows, "doubled": [name for name, count in counts.items() if count > 1]}


def differences(one: dict[str, Any], other: dict[str, Any]) -> dict[str, list[str]]:
    """What two outcomes do not share, a few of each part: short enough to read when a test fails."""
    found = {}
    for part in one:
        mine, theirs = ({json.dumps(item, default=str) for item in _items(outcome[part])} for outcome in (one, other))
        if mine != theirs:
            found[part] = [f"only one: {item[:300]}" for item in sorted(mine - theirs)[:5]]
            found[part] += [f"only other: {item[:300]}" for item in sorted(theirs - mine)[:5]]
    return found


def _items(part: Any) -> list[Any]:
    if isinstance(part, dict):
        return [[key, item] for key, items in part.items() for item in (items if isinstance(items, list) else [items])]
    return list(part)


def effects(home: Path, names: tuple[str, ...] = ("outbox", "drafts", "documents", "calendar.ics")) -> dict[str, str]:
    """What the tools did to the disk: each file with the hash of its content.

    Plans that are carried out at the same instant write their entries into one calendar in either order, so those
    are compared in an order of their own; an entry that is there twice is still a difference."""
    found = {}
    for name in names:
        place = home / name
        files = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())
        for path in files:
            content = path.read_bytes()
            if path.suffix == ".ics":
                content = _entries_in_order(content.decode("utf-8", "surrogateescape"))
            found[str(path.relative_to(home))] = hashlib.sha256(content).hexdigest()
    return found


def _entries_in_order(calendar: str) -> bytes:
    entries = sorted(calendar[block.start : block.end] for block in ics.blocks(calendar))
    around = calendar
    for entry in entries:
        around = around.replace(entry, "", 1)
    return "".join([around, *entries]).encode("utf-8", "surrogateescape")


def main(arguments: list[str] | None = None) -> None:
    """``python -m forewatch.testing HOME --kills N ...``: play with kills and print how many there were."""
    parser = argparse.ArgumentParser()
    parser.add_argument("home", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=date.fromisoformat, default=START)
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--broker", default="")
    parser.add_argument("--prefix", default="forewatch")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--pauses", type=float, nargs=2, default=(0.5, 0.5))
    chosen = parser.parse_args(arguments)
    gc.set_threshold(50_000, 20, 50)  # many small values, few cycles: an eighth of the time went into looking for them
    play = Play(
        chosen.home,
        seed=chosen.seed,
        start=chosen.start,
        days=chosen.days,
        broker=chosen.broker,
        prefix=chosen.prefix,
        answer=approve_all,
    )
    killed = play_with_kills(play, chosen.kills, random.Random(chosen.seed), Pauses(*chosen.pauses))
    sys.stdout.write(json.dumps(asdict(killed)) + "\n")


if __name__ == "__main__":
    main()
