"""A run that waits for a destination that does not answer says so wherever it is shown, by the owner's clock."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from forewatch.settings import Settings
from forewatch.wiring import open_settings_log
from streams import topics
from streams.codec import encode
from streams.work import Output
from tests.unit.actions.test_breaker import Town, town

Forewatch = Callable[..., Any]

SAYS = "post.send: no answer since 2025-03-03 10:00, tried 5 times; 3 runs wait for it"


@pytest.fixture
def house(forewatch: Forewatch) -> Town:
    """Three runs of an owner, in the log of a home."""
    forewatch("init")
    made, _ = town(*["not_sent"] * 7)
    return made


async def keep(house: Town) -> None:
    log = await open_settings_log(Settings.load(None))
    try:
        await log.append([Output(topics.JOURNAL, b"me", encode(entry), 0) for entry in house.log.entries])
    finally:
        await log.close()


def test_a_run_that_waits_says_so_wherever_it_is_shown(forewatch: Forewatch, house: Town) -> None:
    asyncio.run(house.pass_time(timedelta(seconds=50)))
    asyncio.run(keep(house))
    run = house.states()[0].id
    assert forewatch("runs", "list").err.splitlines() == [SAYS]
    assert forewatch("runs", "show", run).err.splitlines() == [SAYS]
    assert f"  waits: {SAYS}" in forewatch("proposals", "show", run).out.splitlines()
    assert forewatch("proposals", "show", run, "--json").json["waits"] == SAYS


def test_a_run_that_was_answered_in_the_end_says_nothing_of_it(forewatch: Forewatch, house: Town) -> None:
    asyncio.run(house.pass_time(timedelta(hours=2)))
    asyncio.run(keep(house))
    run = house.states()[0].id
    assert forewatch("runs", "show", run).err == ""
    assert "  waits: " not in forewatch("proposals", "show", run).out
