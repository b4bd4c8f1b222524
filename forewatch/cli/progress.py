"""Following a poll while it runs: how much has come so far, shown on a terminal."""

from __future__ import annotations

import asyncio
from datetime import datetime

from forewatch.cli.console import talk
from schemas.account import CursorState
from streams import topics
from streams.accounts import cursors
from streams.work import Log

_LOOK_EVERY_S = 0.2


async def follow(log: Log, account: str, before: datetime | None) -> str:
    """Waits until the account was polled after ``before``; what came of it, in words."""
    fold = cursors(log)
    ends = {part: await log.end(topics.RECORDS, part) for part in range(log.partitions(topics.RECORDS))}
    came = 0
    with talk.status(f"{account}: asking") as status:
        while True:
            came += await _new(log, account, ends)
            status.update(f"{account}: {came} so far")
            await fold.refresh()
            state = fold.get(account)
            if state is not None and state.polled_at is not None and state.polled_at != before:
                return _outcome(state, came + await _new(log, account, ends))
            await asyncio.sleep(_LOOK_EVERY_S)


async def _new(log: Log, account: str, ends: dict[int, int]) -> int:
    """Records of the account since the last look."""
    count = 0
    for part, end in ends.items():
        while entries := await log.read(topics.RECORDS, part, ends[part], 1_000):
            count += sum(entry.key == account.encode() for entry in entries)
            ends[part] = entries[-1].offset + 1
        ends[part] = max(ends[part], end)
    return count


def _outcome(state: CursorState, came: int) -> str:
    if state.error:
        return f"{came} came, then: {state.error}"
    if state.questions:
        return f"{came} came; it needs an answer: {state.questions[0].get('text', '')}"
    return f"{came} came" if came else "nothing new"
