"""The watchdog: a canary through the real pipeline each day, and what happens when it does not come through."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from forewatch import canary
from forewatch.storage.testing import rows
from forewatch.watchdog import PATIENCE
from streams import topics

if TYPE_CHECKING:
    from conftest import House


async def stepped(house: House) -> Any:
    """The watchdog looks, and what follows from it happens."""
    await house.service.worker.drained()  # it owns its partitions by then
    await house.service.watchdog.step()
    await house.player().pass_time(house.clock.now())
    return house.service.watchdog.flight


def test_the_canary_comes_through_and_disturbs_nobody(house: House) -> None:
    async def live() -> None:
        async with house.open():
            flight = await stepped(house)
            assert flight.seen_at is None
            await stepped(house)
            assert flight.seen_at == house.clock.now()
            assert not flight.is_lost
            assert house.proposals() == []
            house.service.history.maintain()
            events = rows(house.settings.history, "SELECT kind, account FROM events WHERE kind LIKE 'service.%'")
            assert events == [("service.canary", "canary")]
        async with house.open():  # the same day once more: it is the same event
            await stepped(house)
            assert (await stepped(house)).seen_at is not None
            assert await house.service.log.end(topics.TRIGGERS, 0) == 1

    asyncio.run(live())


def test_a_canary_that_is_lost_is_told_of_and_taken_back_when_the_next_arrives(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live() -> None:
        async with house.open():
            with monkeypatch.context() as patched:
                patched.setattr(canary.Canary, "normalise", lambda self, record, context: [])
                await stepped(house)
                house.clock.advance_to(house.clock.now() + PATIENCE)
                assert not (await stepped(house)).is_lost
                house.clock.advance_to(house.clock.now() + timedelta(seconds=1))
                assert (await stepped(house)).is_lost
            state = house.the_proposal()
            assert (state.trigger.rule, state.phase, state.trigger.urgency) == ("canary-lost", "offered", "high")
            await stepped(house)
            assert len(house.proposals()) == 1
            await house.player().pass_time(house.at(1, 7))
            await stepped(house)
            flight = await stepped(house)
            assert (flight.day, flight.is_lost) == (house.at(1).date(), False)
            assert flight.seen_at is not None
            assert house.the_proposal().phase == "retracted"

    asyncio.run(live())
