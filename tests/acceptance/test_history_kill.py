"""kill -9 at every point at which history has something half done, and at random: nothing lost, nothing doubled."""

from __future__ import annotations

import multiprocessing
import random
import signal
from pathlib import Path
from typing import get_args

import pytest

from forewatch.storage.history import Point, Tuning
from forewatch.storage.query import HistoryQuery
from forewatch.storage.testing import INVARIANTS, SIZE, Orders, live, rows

pytestmark = pytest.mark.kill

POINTS: tuple[Point, ...] = get_args(Point)
TUNING = Tuning(segment_rows=120, merge_parts=2, settle_s=0, grace_s=0)
REPLAYED = 60
"""Batches that each life reads again."""

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["forewatch.storage.testing"])


class World:
    """A history over many lives of its writer."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)
        self.acknowledged = 0

    def orders(self, die_at: Point | None = None, tear: bool = False) -> Orders:
        """Enough batches to make every point happen, after a replay in other sizes than before."""
        start = max(0, self.acknowledged - REPLAYED)
        stride = self.random.choice((1, 3, 7, 20))
        nth = self.random.randint(1, 3) if die_at in ("committed", "published", "part_written") else 1
        return Orders(start, self.acknowledged + 31 * 4, stride, TUNING, die_at, nth, tear)

    def live(self, orders: Orders, after_s: float | None = None) -> bool:
        """One life; killed from outside after so many seconds, if it has not ended before. Was it killed?"""
        receiver, sender = _processes.Pipe(duplex=False)
        process = _processes.Process(target=live, args=(self.root, orders, sender))
        process.start()
        sender.close()
        if after_s is not None:
            process.join(after_s)
            process.kill()
        try:
            while True:
                self.acknowledged = max(self.acknowledged, receiver.recv())
        except EOFError:
            receiver.close()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        return process.exitcode != 0

    def check(self) -> None:
        """What a reader finds while nobody writes, whatever was half done when the writer died."""
        [(count, doubled, broken)] = rows(self.root, INVARIANTS)
        assert (doubled, broken) == (0, 0)
        assert count >= SIZE * self.acknowledged


def test_no_kill_loses_or_doubles_a_row(tmp_path: Path) -> None:
    world = World(tmp_path / "history", seed=1)
    assert not world.live(world.orders())
    world.check()
    kills = 0
    for point, tear in 3 * [*((point, False) for point in POINTS), ("committed", True)]:
        assert world.live(world.orders(point, tear)), f"no life came to {point}"
        world.check()
        kills += 1
    while kills < 60:
        kills += world.live(world.orders(), after_s=world.random.uniform(0.0, 0.3))
        world.check()

    assert not world.live(world.orders())
    [(count, newest, misplaced)] = rows(
        world.root, "SELECT count(*), max(seq), count(*) FILTER (id <> 'event-' || (seq - 1)) FROM events"
    )
    assert (count, newest, misplaced) == (SIZE * world.acknowledged, count, 0)  # as if nobody had ever died
    assert HistoryQuery(world.root, "UTC").page(INVARIANTS).rows == [[str(count), "0", 0]]
