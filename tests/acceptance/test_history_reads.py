"""Asking while the service writes at full speed: every answer is of whole batches, and never goes back in time."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from forewatch.storage import viewfile
from forewatch.storage.history import Tuning
from forewatch.storage.query import HistoryQuery, Limits
from forewatch.storage.testing import INVARIANTS, Orders, live

pytestmark = pytest.mark.kill

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["forewatch.storage.testing"])

TUNING = Tuning(segment_rows=2_000, merge_parts=3, settle_s=3.0, grace_s=30.0)
"""Folds and merges all the time, with a grace that is longer than a query here takes on a machine with other work."""


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """A process that ingests and compacts until the block ends; at first until there is something to ask."""
    receiver, sender = _processes.Pipe(duplex=False)
    writer = _processes.Process(target=live, args=(root, Orders(0, 1 << 40, 60, TUNING), sender))
    writer.start()
    sender.close()
    with ThreadPoolExecutor(1) as pool:
        first = receiver.recv()
        done = pool.submit(_drain, receiver)
        while not (root / viewfile.NAME).exists():
            assert writer.is_alive()
        try:
            yield
            assert writer.is_alive()
        finally:
            writer.kill()
            writer.join()
        assert done.result() > first


def _drain(receiver: multiprocessing.connection.Connection) -> int:
    newest = 0
    try:
        while True:
            newest = receiver.recv()
    except EOFError:
        receiver.close()
    return newest


def ask_again(shell: duckdb.DuckDBPyConnection) -> tuple[Any, ...]:
    """A person's own DuckDB has no second try built in; who asks again after a file went away is told the truth."""
    try:
        [answer] = shell.execute(INVARIANTS).fetchall()
    except duckdb.IOException:
        [answer] = shell.execute(INVARIANTS).fetchall()
    return answer


MERGED = "cold/bank-*/*/*-m*.parquet"
"""Parts that hold what others held before: it did fold, and merge."""


def test_every_answer_is_of_whole_batches(tmp_path: Path) -> None:
    root = tmp_path / "history"
    query = HistoryQuery(root, "UTC", Limits(deadline_s=60.0))

    def ask(times: int, one: Callable[[], tuple[Any, ...]]) -> list[tuple[int, int, int]]:
        return [(int(count), int(doubled), int(broken)) for count, doubled, broken in (one() for _ in range(times))]

    with writing(root), ThreadPoolExecutor(2) as pool:
        shell = duckdb.connect(str(root / viewfile.NAME), read_only=True)  # open all the time, as a notebook's is
        theirs = pool.submit(ask, 90, lambda: ask_again(shell))
        ours = pool.submit(ask, 20, lambda: tuple(query.page(INVARIANTS).rows[0]))
        answers = [theirs.result(), ours.result()]
        while not list(root.glob(MERGED)):  # on a busy machine the writer needs longer
            ask_again(shell)
        shell.close()
    for answer in answers:
        assert {(doubled, broken) for _, doubled, broken in answer} == {(0, 0)}
        assert answer == sorted(answer)
        assert answer[0] < answer[-1]  # it did write meanwhile
