"""Heap: what has survived a full pass of the garbage collector is set aside, so that no later pass looks at it again.

Ten thousand runs that wait are half a million objects that hardly ever die. A full pass over them takes most of a
second, in which no wait ends, and while runs are made and woken there is one every few seconds. What is set aside is
still freed when nobody refers to it any more; only what died in a circle stays, until a pass over everything.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

EVERY_S = 3600.0
QUIET = timedelta(seconds=5)
"""Nothing is due for as long: a moment for a pass over everything."""
LOOKS = 360
"""How often such a moment is looked for, ``LOOK_S`` apart, before it is done in any other."""
LOOK_S = 10.0


@contextmanager
def survivors_set_aside() -> Iterator[None]:
    """Concerns the whole process, so it is for whoever owns it."""
    gc.callbacks.append(_passed)
    try:
        yield
    finally:
        gc.callbacks.remove(_passed)
        gc.unfreeze()


def _passed(phase: str, info: dict[str, int]) -> None:
    if phase == "stop" and info["generation"] == 2:
        gc.freeze()


def look_at_everything() -> None:
    gc.unfreeze()
    gc.collect()


async def keep_tidy(due_in: Callable[[], timedelta]) -> None:
    """For ever: once an hour a pass over everything, when nothing is due soon."""
    while True:
        await asyncio.sleep(EVERY_S)
        for _ in range(LOOKS):
            if due_in() >= QUIET:
                break
            await asyncio.sleep(LOOK_S)
        look_at_everything()
