"""On the embedded log a batch's outputs, its state and its offset are one transaction (fence 7)."""

from __future__ import annotations

import asyncio
import sqlite3

import pytest

from streams.embedded.file import SHIFT
from streams.failure import LogFailed
from streams.lane import Agent
from streams.testing import CountingHandler, compacted
from streams.topics import EVENTS, RULE_STATE, TRIGGERS
from streams.work import Output
from tests.peers.brokers import Peer

PLACES = {
    "before the first output": f"BEFORE INSERT ON log WHEN NEW.id >> {SHIFT} = {{triggers}}",
    "in the middle of the outputs": f"BEFORE INSERT ON log WHEN NEW.id = ({{triggers}} << {SHIFT}) + 45",
    "before the state": f"BEFORE INSERT ON log WHEN NEW.id >> {SHIFT} = {{state}}",
    "before the watermark": f"BEFORE INSERT ON log WHEN NEW.key = x'{CountingHandler.WATERMARK.hex()}'",
    "before the offset": "BEFORE INSERT ON committed",
    "after the offset": "AFTER UPDATE ON committed",
}
"""Where a trigger in the file cuts the transaction off."""


def execute(peer: Peer, statement: str) -> None:
    db = sqlite3.connect(peer.url.removeprefix("embedded://").partition("?")[0])
    ids = {
        name: db.execute("SELECT id FROM part WHERE topic=?", (f"{peer.prefix}.{topic}",)).fetchone()[0]
        for name, topic in (("triggers", TRIGGERS), ("state", RULE_STATE))
    }
    db.execute(statement.format(**ids))
    db.commit()
    db.close()


@pytest.mark.parametrize("place", PLACES)
def test_a_batch_that_is_cut_off_anywhere_leaves_nothing_and_happens_once(embedded: Peer, place: str) -> None:
    async def scenario() -> None:
        log = await embedded.log()
        worker = embedded.worker(Agent("evaluate", EVENTS, CountingHandler(log, RULE_STATE, out=TRIGGERS)))
        await worker.start()
        await worker.log.append([Output(EVENTS, b"key-%d" % (n % 3), b"%d" % n) for n in range(30)])
        await worker.drained()
        before = await compacted(log, RULE_STATE, 0)
        cut = "SELECT RAISE(ABORT, 'killed here')"
        execute(embedded, f"CREATE TRIGGER cut {PLACES[place]} BEGIN {cut}; END")
        await worker.log.append([Output(EVENTS, b"key-%d" % (n % 3), b"%d" % n) for n in range(30, 60)])
        with pytest.raises(LogFailed, match="killed here"):
            await worker.drained()
        await worker.stop()
        await log.close()

        log = await embedded.log()
        assert await log.end(TRIGGERS, 0) == 30
        assert await compacted(log, RULE_STATE, 0) == before

        execute(embedded, "DROP TRIGGER cut")
        worker = embedded.worker(Agent("evaluate", EVENTS, CountingHandler(log, RULE_STATE, out=TRIGGERS)))
        await worker.start()
        await asyncio.wait_for(worker.drained(), 30)
        await worker.stop()
        assert [entry.value for entry in await log.read(TRIGGERS, 0, 0, 100)] == [b"%d" % n for n in range(60)]
        state = await compacted(log, RULE_STATE, 0)
        assert state.pop(CountingHandler.WATERMARK) == b"59"
        assert state == {b"key-%d" % key: b"%d" % sum(range(key, 60, 3)) for key in range(3)}
        await log.close()

    embedded.run(scenario)
