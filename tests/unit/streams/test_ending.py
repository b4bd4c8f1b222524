"""Who ends tasks sees them over, and can be ended meanwhile."""

import asyncio
from pathlib import Path

import pytest

from streams.ending import end

ROOT = Path(__file__).parents[3]


async def slow_to_end(released: asyncio.Event) -> None:
    try:
        await asyncio.Event().wait()
    finally:
        await released.wait()


async def failing() -> None:
    try:
        await asyncio.Event().wait()
    finally:
        raise LookupError("on the way out")


def test_all_are_over_when_it_returns() -> None:
    async def scenario() -> None:
        released = asyncio.Event()
        tasks = [asyncio.ensure_future(slow_to_end(released)) for _ in range(3)]
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(released.set)
        await end(*tasks)
        assert all(task.cancelled() for task in tasks)
        await end(*tasks)
        await end()

    asyncio.run(scenario())


def test_what_one_of_them_failed_of_is_raised() -> None:
    async def scenario() -> None:
        tasks = [asyncio.ensure_future(failing()), asyncio.ensure_future(asyncio.Event().wait())]
        await asyncio.sleep(0)
        with pytest.raises(LookupError, match="on the way out"):
            await end(*tasks)
        assert tasks[1].cancelled()

    asyncio.run(scenario())


def test_its_own_end_is_not_lost() -> None:
    async def scenario() -> None:
        released = asyncio.Event()
        task = asyncio.ensure_future(slow_to_end(released))
        await asyncio.sleep(0)
        ending = asyncio.ensure_future(end(task))
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        released.set()
        await asyncio.wait([task])

    asyncio.run(scenario())


@pytest.mark.parametrize("package", ["schemas", "extractors", "rules", "actions", "streams", "forewatch", "benchmarks"])
def test_nobody_waits_in_a_way_that_loses_a_cancellation(package: str) -> None:
    """``asyncio.wait_for`` of Python 3.11 does, where the cancellation comes with what it waits for:
    ``asyncio.timeout`` does not."""
    files = [*(ROOT / package).rglob("*.py")]
    assert files
    assert [path for path in files if "asyncio.wait_for(" in path.read_text("utf-8")] == []
