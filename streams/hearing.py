"""Hearing: which commands of a partition nobody has taken yet, found from the end and not from the beginning of time.

Commands are taken in their order, and each leads to a journal entry of its own. So before one that is known to have
been taken in its turn there is none that was not. What a person says for everything is no such sign: it may be heard
first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from actions.policy.experience import STREAM
from schemas.command import Command
from schemas.errors import PoisonError
from streams import topics
from streams.codec import decode
from streams.work import Entry, Log, read_entries

AT_ONCE = 200
"""Commands that are looked at together, from the end backwards."""
HasSeen = Callable[[str, str], bool]
"""Has this owner's command, by its id, led to an entry?"""


async def unheard(log: Log, partition: int, has_seen: HasSeen) -> AsyncIterator[Command]:
    """The commands that led to no entry yet, oldest first; what is no command is passed over."""
    async for entry in read_entries(log, topics.COMMANDS, partition, await _taken_to(log, partition, has_seen)):
        said = _command(entry)
        if said is not None and not has_seen(said.owner, said.id):
            yield said


async def _taken_to(log: Log, partition: int, has_seen: HasSeen) -> int:
    """The offset after the newest command that was certainly taken in its turn; 0 if there is none."""
    end = await log.end(topics.COMMANDS, partition)
    while end > 0:
        start = max(0, end - AT_ONCE)
        taken = 0
        async for entry in read_entries(log, topics.COMMANDS, partition, start):
            if entry.offset >= end:
                break
            said = _command(entry)
            if said is not None and said.proposal != STREAM and has_seen(said.owner, said.id):
                taken = entry.offset + 1
        if taken:
            return taken
        end = start
    return 0


def _command(entry: Entry) -> Command | None:
    try:
        return decode(Command, entry.value) if entry.value is not None else None
    except PoisonError:
        return None
