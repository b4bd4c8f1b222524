"""Ending tasks of one's own, so that whoever ends them can be ended meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any


async def end(*tasks: asyncio.Future[Any]) -> None:
    """Cancels them, and returns when all are over; raises what one of them failed of.

    To await a task that one has cancelled, and to suppress its CancelledError, would suppress one's own, too.
    """
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()
