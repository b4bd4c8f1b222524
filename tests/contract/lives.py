"""What the kill test kills: imported by a process without threads, which forks it.

A fork of pytest's own process would inherit whatever locks its threads hold, and could wait for them for ever.
"""

from __future__ import annotations

import asyncio
import random
from multiprocessing.connection import Connection

from streams.app import create_app
from streams.lane import Agent
from streams.log import open_log
from streams.testing import CountingHandler, RecordingHandler
from streams.topics import EVENTS, RECORDS, RULE_STATE, TRIGGERS
from streams.work import Log, Output

_LIFE = 1_000_000


def agents(log: Log) -> list[Agent]:
    return [
        Agent("normalise", RECORDS, RecordingHandler(EVENTS), pipelined=True),
        Agent("evaluate", EVENTS, CountingHandler(log, RULE_STATE, out=TRIGGERS)),
    ]


def live(url: str, prefix: str, life: int, acknowledged: Connection) -> None:
    """Produces and processes until it is killed; tells which values were acknowledged."""

    async def main() -> None:
        log = await open_log(url, prefix, 1)
        worker = create_app(url, prefix=prefix, partitions=1, agents=agents(log))
        await worker.start()
        dice, number = random.Random(life), life * _LIFE
        while True:
            values = range(number, number + dice.randint(1, 60))
            await log.append([Output(RECORDS, b"key-%d" % (value % 5), b"%d" % value) for value in values])
            acknowledged.send(list(values))
            number = values.stop
            await asyncio.sleep(dice.random() * 0.004)

    asyncio.run(main())
