"""Law L10 for what was learnt: it goes with what taught it, and only that; killed in the middle, it ends alike."""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

from actions.memory.recall import for_person
from actions.memory.remembering import STREAM
from actions.policy.audit import verify
from forewatch.erase import erase, finish, pending
from forewatch.memories import index, read_book
from forewatch.settings import Settings
from forewatch.storage.memory import NAME
from forewatch.wiring import open_settings_log
from schemas import ids
from schemas.account import AccountState
from schemas.clock import SystemClock
from schemas.command import Command, Verb
from schemas.journal import JournalEntry
from schemas.model import Json
from streams import topics
from streams.codec import encode
from streams.erase import event_target, note_target
from streams.journal import valid_entries
from streams.work import Output
from tests import forks
from tests.acceptance.conftest import INVOICE, House
from tests.acceptance.traces import traces

GOES, OWN, STAYS = "Zaunkoenig", "Rotkehlchen", "Amsel"
"""In all that came from the account that goes, in a note of its own, and in what rests on the other account."""
DUE = date(2026, 3, 16)


@dataclass(frozen=True)
class Lived:
    """Two letters, one from each of two accounts, each answered in words; and three notes."""

    settings: Settings
    event_that_stays: str
    own_note: str


async def tell(house: House, verb: Verb, **args: Json) -> str:
    """A word to the memory; the id of what it then knows."""
    command = Command(
        id=ids.command_id(STREAM, verb, str(args)), owner="me", who="nora", channel="test", verb=verb,
        proposal=STREAM, args=args, at=house.clock.now(),
    )  # fmt: skip
    answer = house.service.act.answered(command.id)
    await house.service.log.append([Output(topics.COMMANDS, b"me", encode(command))])
    (entry,) = await answer
    assert entry.type in ("memory.noted", "memory.corrected"), entry.body
    return str(entry.body["memory"])


def deliver(folder: Path, who: str, number: str) -> None:
    for part in ("cur", "new", "tmp"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    text = INVOICE.format(number=number, due=f"{DUE:%-d %B %Y}").replace("ACME", who).replace("acme", who.lower())
    (folder / "new" / f"{number}.host").write_text(text)


async def live(house: House) -> Lived:
    deliver(house.root / "mail", GOES, "4711")
    deliver(house.root / "work", STAYS, "4712")
    async with house.open():
        work = AccountState(
            id="work", owner="me", connector="maildir", config={"path": str(house.root / "work")},
            created_at=house.at(0, 7),
        )  # fmt: skip
        await house.service.log.append([house.service.accounts.output(work)])
        await house.service.accounts.refresh()
        await house.pass_time(house.at(10))
        events = {}
        for state in house.proposals():
            who = GOES if GOES in state.title else STAYS
            events[who] = state.trigger.evidence[0].event
            (entry,) = await house.say("edit", state.id, state.digest, step="s4", args={"text": f"Pay it, {who}"})
            assert entry.type == "proposal.edited", entry.body
            await house.say("reject", state.id, reason=f"my cousin pays {who}")
        assert set(events) == {GOES, STAYS}
        known = [memory for book in house.service.act.books() for memory in book.memory]
        (default,) = (memory for memory in known if memory.code == "default" and GOES in str(memory.value))
        await tell(house, "correct", memory=default.id, value=f"Pay {GOES} by hand")
        await tell(house, "remember", text=f"They are polite at {GOES}", events=[events[GOES]])
        await tell(house, "remember", text="The house key is under the stone")
        own = await tell(house, "remember", text=f"The safe opens with {OWN}")
        await asyncio.to_thread(house.service.history.maintain)
    return Lived(house.settings, events[STAYS], own)


def said(settings: Settings) -> list[str]:
    """All that is remembered; the index is made on the way."""

    async def read() -> list[str]:
        log = await open_settings_log(settings)
        try:
            book = await read_book(log, settings)
        finally:
            await log.close()
        index(settings, book.memory)
        return [for_person(memory) for memory in book.memory]

    return asyncio.run(read())


def entries(settings: Settings) -> list[JournalEntry]:
    async def read() -> list[JournalEntry]:
        log = await open_settings_log(settings)
        try:
            return [entry async for entry in valid_entries(log)]
        finally:
            await log.close()

    return asyncio.run(read())


def with_word(lines: list[str], word: str) -> list[str]:
    return [line for line in lines if word.casefold() in line.casefold()]


@pytest.fixture
def lived(tmp_path: Path) -> Lived:
    return asyncio.run(live(House(tmp_path, "", "m")))


@pytest.mark.kill
def test_what_was_learnt_goes_with_what_taught_it_and_nothing_else_does(lived: Lived) -> None:
    settings = lived.settings
    before = said(settings)
    assert len(with_word(before, GOES)) == 3
    assert traces(settings.home, [GOES]), "the search finds nothing where there must be something"
    assert any(NAME in trace for trace in traces(settings.home, [GOES]))

    for point in ("erase_from_log", "announce", "follow", "_rebuild_state"):
        died = forks.run(
            [sys.executable, "-c", MORTAL, str(settings.home), "mail", point], capture_output=True, check=False
        )
        assert died.returncode == -signal.SIGKILL, died.stderr
        assert pending(settings.home) == ["mail"]
    assert [gone.account for gone in finish(settings, SystemClock())] == ["mail"]
    assert traces(settings.home, [GOES, GOES.lower()]) == []
    after = said(settings)
    assert after == [line for line in before if GOES.casefold() not in line.casefold()]
    assert len(with_word(after, STAYS)) == 2
    assert traces(settings.home, [GOES, GOES.lower()]) == []
    assert verify(entries(settings)) == []

    erase(settings, note_target(lived.own_note), SystemClock())
    assert traces(settings.home, [OWN]) == []
    assert said(settings) == [line for line in after if OWN not in line]

    erase(settings, event_target(lived.event_that_stays), SystemClock())
    assert traces(settings.home, [STAYS, STAYS.lower()]) == []
    assert said(settings) == ["The house key is under the stone"]
    assert verify(entries(settings)) == []


MORTAL = """
import os, signal, sys
from pathlib import Path
from forewatch import erase
from forewatch.settings import Settings
from schemas.clock import SystemClock
def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
setattr(erase, sys.argv[3], die)
settings = Settings(home=Path(sys.argv[1]), timezone="Europe/Berlin", topic_prefix="m")
erase.erase(settings, sys.argv[2], SystemClock())
"""
