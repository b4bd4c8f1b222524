"""IDLE on a Dovecot: mail that comes is told at once, and a line that dies is noticed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager

import pytest

from extractors.connector import Access
from extractors.imap.connector import ImapConnector
from extractors.imap.login import Door
from extractors.imap.watcher import Watcher
from extractors.testing import START
from schemas.errors import AuthError
from tests.integration.imap_source import MailboxSource
from tests.peers.dovecot import Dovecot

SOON_S = 20.0


@pytest.fixture
def source(dovecot_server: Dovecot) -> Iterator[MailboxSource]:
    made = MailboxSource(dovecot_server)
    yield made
    made.close()


def watcher(source: MailboxSource, pauses: list[float] | None = None, *, renew_s: float = 60) -> Watcher:
    async def pause(seconds: float) -> None:
        (pauses if pauses is not None else []).append(seconds)
        await asyncio.sleep(0)

    def enter() -> AbstractAsyncContextManager[Access]:
        return source.key.open(START)

    return Watcher(source.config, enter, door=Door(read_s=5), renew_s=renew_s, pause=pause)


@asynccontextmanager
async def watching(each: Watcher) -> AsyncIterator[asyncio.Queue[str]]:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def listen() -> None:
        async with aclosing(each.looks()) as looks:
            async for why in looks:
                told.put_nowait(why)

    task = asyncio.create_task(listen())
    try:
        yield told
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


async def soon(told: asyncio.Queue[str]) -> str:
    async with asyncio.timeout(SOON_S):
        return await told.get()


def test_mail_that_comes_is_told_at_once_and_again(source: MailboxSource) -> None:
    async def run() -> None:
        async with watching(watcher(source)) as told:
            assert await soon(told) == "connected"
            for _ in range(2):
                await asyncio.to_thread(source.add)
                assert await soon(told) == "pushed"

    asyncio.run(run())


def test_flags_and_removals_are_told_too(source: MailboxSource) -> None:
    source.add()

    async def run() -> None:
        async with watching(watcher(source)) as told:
            assert await soon(told) == "connected"
            await asyncio.to_thread(source.change)
            assert await soon(told) == "pushed"
            await asyncio.to_thread(source.remove)
            assert await soon(told) == "pushed"

    asyncio.run(run())


def test_idle_is_renewed_and_still_hears(source: MailboxSource) -> None:
    async def run() -> None:
        async with watching(watcher(source, renew_s=0.05)) as told:
            assert await soon(told) == "connected"
            before = source.proxy.turns
            async with asyncio.timeout(SOON_S):
                while source.proxy.turns < before + 4:
                    await asyncio.sleep(0.01)
            assert told.empty()
            await asyncio.to_thread(source.add)
            assert await soon(told) == "pushed"

    asyncio.run(run())


def test_a_line_that_ends_is_taken_up_again_after_a_pause(source: MailboxSource) -> None:
    pauses: list[float] = []

    async def run() -> None:
        async with watching(watcher(source, pauses)) as told:
            assert await soon(told) == "connected"
            source.proxy.cut_all()
            assert await soon(told) == "connected"

    asyncio.run(run())
    assert len(pauses) == 1
    assert 1 <= pauses[0] <= 2


def test_a_line_that_died_unnoticed_is_noticed_when_idle_is_renewed(source: MailboxSource) -> None:
    each = watcher(source, renew_s=0.2)
    each._door = Door(read_s=0.5)

    async def run() -> None:
        async with watching(each) as told:
            assert await soon(told) == "connected"
            source.proxy.arm("stall")
            assert await soon(told) == "connected"

    asyncio.run(run())


def test_pauses_grow_while_the_server_is_away(source: MailboxSource) -> None:
    pauses: list[float] = []
    source.proxy.arm("refused")

    async def run() -> None:
        async with watching(watcher(source, pauses)) as told:
            async with asyncio.timeout(SOON_S):
                while len(pauses) < 12:
                    await asyncio.sleep(0.01)
            source.proxy.heal()
            assert await soon(told) == "connected"

    asyncio.run(run())
    assert pauses[0] <= 2
    assert 64 <= pauses[6] <= 128
    assert 150 <= pauses[10] <= 300


def test_a_refused_password_ends_the_watching(source: MailboxSource) -> None:
    source.key.secrets["password"] = "wrong"

    async def run() -> None:
        async with aclosing(watcher(source).looks()) as looks:
            await anext(looks)

    with pytest.raises(AuthError, match="does not let"):
        asyncio.run(run())


def test_the_connector_offers_it_to_the_service(source: MailboxSource) -> None:
    async def scenario() -> str:
        looks = ImapConnector(door=Door(read_s=5)).watch(source.config, lambda: source.key.open(START))
        async with aclosing(looks), asyncio.timeout(SOON_S):
            return await anext(looks)

    assert asyncio.run(scenario()) == "connected"
