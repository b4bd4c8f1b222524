"""Sources that push are polled when they say so, as long as their account is active here."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from forewatch.watching import WatchDeps, Watchers
from schemas.account import AccountState
from schemas.clock import ManualClock
from schemas.errors import AuthError
from schemas.record import PollDue
from streams import topics
from streams.accounts import accounts
from streams.codec import decode
from streams.poll import no_access
from streams.testing import MemoryLog

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)


class Settings(BaseModel):
    host: str = "here"


@dataclass
class Pushing:
    """Says "look" each time the test tells it to."""

    pushes: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    open: int = 0
    ended: int = 0
    config: type[BaseModel] = Settings
    hosts: list[str] = field(default_factory=list)
    may_end: asyncio.Event = field(default_factory=asyncio.Event)
    """Set, unless the test holds it up."""

    def __post_init__(self) -> None:
        self.may_end.set()

    async def watch(self, config: Any, enter: Callable[[], Any]) -> AsyncGenerator[str, None]:
        self.open += 1
        self.hosts.append(config.host)
        try:
            while True:
                push = await self.pushes.get()
                if push == "refused":
                    raise AuthError("the password is wrong")
                yield push
        finally:
            await self.may_end.wait()
            self.open -= 1
            self.ended += 1


def account(name: str = "post", **changes: Any) -> AccountState:
    return AccountState(id=name, owner="me", connector="pushing", created_at=NOW).model_copy(update=changes)


class Stage:
    def __init__(self, mine: Callable[[str], bool] = lambda name: True) -> None:
        self.log = MemoryLog()
        self.source = Pushing()
        connectors: Any = {"pushing": self.source, "quiet": object()}
        self.watchers = Watchers(WatchDeps(self.log, accounts(self.log), connectors, no_access, ManualClock(NOW), mine))

    def asked(self) -> list[tuple[str, str]]:
        due = [decode(PollDue, entry.value or b"") for entry in self.log.entries(topics.POLLS)]
        return [(each.account, each.reason) for each in due]

    async def push(self, what: str = "pushed") -> None:
        before = len(self.asked()) + self.source.ended
        await self.source.pushes.put(what)
        async with asyncio.timeout(5):
            while len(self.asked()) + self.source.ended == before:
                await asyncio.sleep(0)


def test_a_push_is_a_poll() -> None:
    async def scenario() -> None:
        stage = Stage()
        await stage.watchers.keep_step([account(), account("files", connector="quiet")])
        await stage.push()
        await stage.push()
        assert stage.asked() == [("post", "pushed"), ("post", "pushed")]
        assert stage.watchers.watched == ["post"]
        await stage.watchers.keep_step([])

    asyncio.run(scenario())


def test_an_account_is_let_go_when_it_is_paused_and_taken_up_with_its_new_settings() -> None:
    async def scenario() -> None:
        stage = Stage()
        await stage.watchers.keep_step([account()])
        await stage.push()
        await stage.watchers.keep_step([account(status="paused")])
        assert (stage.source.open, stage.watchers.watched) == (0, [])
        await stage.watchers.keep_step([account(config={"host": "there"})])
        await stage.push()
        await stage.watchers.keep_step([account(config={"host": "there"})])
        assert stage.source.hosts == ["here", "there"], "an account that did not change is not opened again"
        await stage.watchers.keep_step([])
        assert stage.source.open == 0

    asyncio.run(scenario())


def test_another_worker_listens_to_its_own_accounts() -> None:
    async def scenario() -> None:
        stage = Stage(mine=lambda name: name == "ours")
        await stage.watchers.keep_step([account("ours"), account("theirs")])
        assert stage.watchers.watched == ["ours"]
        await stage.watchers.keep_step([])

    asyncio.run(scenario())


def test_a_refused_login_ends_the_listening_and_nothing_else() -> None:
    async def scenario() -> None:
        stage = Stage()
        await stage.watchers.keep_step([account()])
        await stage.push()
        await stage.push("refused")
        assert stage.source.open == 0
        await stage.watchers.keep_step([account()])
        assert stage.asked() == [("post", "pushed")]
        await stage.watchers.keep_step([])

    asyncio.run(scenario())


def test_who_waits_for_a_source_to_let_go_can_be_ended() -> None:
    async def scenario() -> None:
        stage = Stage()
        await stage.watchers.keep_step([account()])
        await stage.push()
        stage.source.may_end.clear()
        letting_go = asyncio.ensure_future(stage.watchers.keep_step([account(status="paused")]))
        await asyncio.sleep(0)
        letting_go.cancel()
        await asyncio.wait([letting_go])
        stage.source.may_end.set()
        assert letting_go.cancelled()

    asyncio.run(scenario())
