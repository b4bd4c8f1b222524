"""Rows move from hot segments into Parquet, and small parts into larger ones, under the eyes of readers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from forewatch.storage import parquet, viewfile
from forewatch.storage.history import History, HistoryBatch, Tuning
from forewatch.storage.testing import INVARIANTS, START, balanced, batch, event, rows
from schemas.clock import ManualClock
from schemas.errors import TransientError

SETTLE, GRACE = 30.0, 600.0


class Upkeep:
    """A history whose time is moved by hand, in segments of one batch of four."""

    def __init__(self, root: Path, now: datetime = START, **tuning: Any) -> None:
        self.root = root
        self.clock = ManualClock(now)
        self.points: list[str] = []
        chosen = Tuning(**{"segment_rows": 4, "settle_s": SETTLE, "grace_s": GRACE, "merge_parts": 100} | tuning)
        self.history = History.open(root, self.clock, chosen, self.points.append)

    def after(self, seconds: float) -> None:
        self.clock.advance_to(self.clock.now() + timedelta(seconds=seconds))
        self.history.maintain()

    def files(self, pattern: str) -> set[str]:
        return {str(p.relative_to(self.root)) for p in self.root.glob(pattern) if p.parent.name != "0000-00"}

    @property
    def hot(self) -> set[str]:
        return {name for name in self.files("hot/*.jsonl") if (self.root / name).stat().st_size}

    @property
    def cold(self) -> set[str]:
        return self.files("cold/*/*/*.parquet")

    @property
    def hidden(self) -> set[str]:
        said = json.loads((self.root / "manifest.json").read_text())["hidden"]
        return {str(Path(path).relative_to(self.root)) for path in said}


@pytest.fixture
def upkeep(tmp_path: Path) -> Iterator[Upkeep]:
    made = Upkeep(tmp_path / "history")
    yield made
    made.history.close()


def counted(root: Path) -> list[tuple[Any, ...]]:
    return rows(root, INVARIANTS)


class TestFolding:
    def test_readers_have_time_at_each_step_and_see_each_row_once_throughout(self, upkeep: Upkeep) -> None:
        upkeep.history.ingest(balanced(0))
        upkeep.history.maintain()
        hot, cold = upkeep.hot, upkeep.cold
        assert len(hot) == 1
        assert upkeep.hidden == cold == {f"cold/bank-{n}/2026-01/000000000001-000000000004.parquet" for n in range(2)}
        assert counted(upkeep.root) == [(4, 0, 0)]

        upkeep.after(SETTLE - 1)  # the new parts stay hidden until every query that missed them has begun
        assert upkeep.hidden == cold
        upkeep.after(1)  # now they count, and the segment does not; queries that read it go on
        assert (upkeep.hidden, upkeep.hot) == (hot, hot)
        assert counted(upkeep.root) == [(4, 0, 0)]

        upkeep.after(GRACE - 1)
        assert upkeep.hot == hot
        upkeep.after(1)  # gone, and still named: a query may have listed it a moment ago
        assert (upkeep.hidden, upkeep.hot) == (hot, set())
        upkeep.after(SETTLE)
        assert (upkeep.hidden, upkeep.cold) == (set(), cold)
        assert counted(upkeep.root) == [(4, 0, 0)]

    def test_a_restart_at_any_step_shows_the_same_rows_in_the_same_files(self, tmp_path: Path) -> None:
        upkeep = Upkeep(tmp_path / "history")
        upkeep.history.ingest(balanced(0))
        for wait in (0, SETTLE, GRACE, SETTLE):
            upkeep.after(wait)
            hidden = upkeep.hidden
            upkeep.history.close()
            upkeep = Upkeep(tmp_path / "history", now=upkeep.clock.now())
            assert upkeep.hidden == hidden
            assert counted(upkeep.root) == [(4, 0, 0)]
        upkeep.history.close()

    def test_a_replay_of_folded_rows_adds_nothing(self, tmp_path: Path) -> None:
        upkeep = Upkeep(tmp_path / "history", settle_s=0, grace_s=0)
        upkeep.history.ingest(balanced(0))
        upkeep.history.maintain()
        assert not upkeep.hot
        assert upkeep.history.ingest(balanced(0)) == 0
        upkeep.history.close()

    def test_ingest_goes_on_while_parts_are_written(self, tmp_path: Path) -> None:
        """From within the writing, which holds no lock of ingest's."""
        more = iter(range(1, 6))
        history: History

        def busy(point: str) -> None:
            if point in ("part_written", "settling", "flipped", "unlinked") and (number := next(more, None)):
                history.ingest(balanced(number))

        tuning = Tuning(segment_rows=4, settle_s=0, grace_s=0, merge_parts=100)
        history = History.open(tmp_path / "history", ManualClock(START), tuning, busy)
        history.ingest(balanced(0))
        history.maintain()
        history.close()
        assert counted(tmp_path / "history") == [(24, 0, 0)]

    def test_only_one_upkeep_runs_at_a_time(self, tmp_path: Path) -> None:
        nested: list[bool] = []
        history: History

        def again(point: str) -> None:
            if point == "part_written":
                history.maintain()
                nested.append(True)

        tuning = Tuning(segment_rows=4, settle_s=0, grace_s=0)
        history = History.open(tmp_path / "history", ManualClock(START), tuning, again)
        history.ingest(balanced(0))
        history.maintain()
        history.close()
        assert nested == [True] * 2  # it returned at once, twice, instead of starting another fold

    def test_an_old_segment_is_folded_however_small_it_is(self, tmp_path: Path) -> None:
        upkeep = Upkeep(tmp_path / "history", segment_rows=1000, segment_age_s=3600)
        upkeep.history.ingest(balanced(0))
        upkeep.after(3599)
        assert not upkeep.cold
        upkeep.after(1)
        assert upkeep.cold
        upkeep.history.close()

    def test_a_segment_is_closed_by_its_size(self, tmp_path: Path) -> None:
        upkeep = Upkeep(tmp_path / "history", segment_rows=1000, segment_bytes=100)
        upkeep.history.ingest(balanced(0))
        upkeep.history.ingest(balanced(1))
        assert len(upkeep.hot) == 2
        upkeep.history.close()

    def test_folds_wait_for_one_another_unless_there_is_a_lot_to_do(self, tmp_path: Path) -> None:
        upkeep = Upkeep(tmp_path / "history", fold_rows=12)
        for number in range(2):
            upkeep.history.ingest(balanced(number))
            upkeep.history.maintain()
        assert upkeep.points.count("fold_planned") == 1
        for number in range(2, 4):
            upkeep.history.ingest(balanced(number))
        upkeep.history.maintain()
        assert upkeep.points.count("fold_planned") == 2
        upkeep.history.close()

    def test_a_backfill_does_not_wait_for_its_grace_with_a_full_disk(self, tmp_path: Path) -> None:
        upkeep = Upkeep(tmp_path / "history", settle_s=0, retired_rows=9)
        for number in range(4):
            upkeep.history.ingest(balanced(number))
            upkeep.history.maintain()
        assert len(upkeep.hot) == 2  # the two newest segments still have theirs
        assert counted(upkeep.root) == [(16, 0, 0)]
        upkeep.history.close()

    def test_parts_are_sorted_by_time_and_nobody_writes_them_again(self, tmp_path: Path) -> None:
        upkeep = Upkeep(tmp_path / "history", settle_s=0, grace_s=0)
        upkeep.history.ingest(batch(0, [event(n, account="mail") for n in (3, 1, 2, 0)]))
        upkeep.history.maintain()
        [part] = upkeep.cold
        assert rows(upkeep.root, f"SELECT id FROM '{upkeep.root / part}'") == [(f"event-{n}",) for n in range(4)]
        assert (upkeep.root / part).stat().st_mode & 0o777 == 0o444
        upkeep.history.close()


class TestMerging:
    def test_small_parts_of_a_month_become_one(self, tmp_path: Path) -> None:
        upkeep = Upkeep(tmp_path / "history", settle_s=0, grace_s=0, merge_parts=3)
        for number in range(3):
            upkeep.history.ingest(batch(4 * number, [event(4 * number + n, account="mail") for n in range(4)]))
            upkeep.history.maintain()
        assert upkeep.cold == {"cold/mail/2026-01/000000000001-000000000012-m4.parquet"}
        assert rows(upkeep.root, "SELECT count(*), count(DISTINCT id) FROM events") == [(12, 12)]
        upkeep.history.close()

    def test_large_parts_are_left_alone(self, tmp_path: Path) -> None:
        upkeep = Upkeep(tmp_path / "history", settle_s=0, grace_s=0, merge_parts=2, merge_rows=4)
        for number in range(3):
            upkeep.history.ingest(batch(4 * number, [event(4 * number + n, account="mail") for n in range(4)]))
            upkeep.history.maintain()
        assert len(upkeep.cold) == 3
        upkeep.history.close()


class TestDamage:
    def test_a_segment_that_lost_rows_is_mended_before_it_is_folded(self, upkeep: Upkeep) -> None:
        upkeep.history.ingest(balanced(0))
        [segment] = upkeep.hot
        whole = (upkeep.root / segment).read_bytes()
        (upkeep.root / segment).write_bytes(whole[: len(whole) // 2])
        with pytest.raises(TransientError, match=r"Parquet|rows"):
            upkeep.history.maintain()
        assert (upkeep.root / segment).read_bytes() == whole
        upkeep.after(SETTLE)
        upkeep.after(SETTLE)
        assert counted(upkeep.root) == [(4, 0, 0)]

    def test_a_fold_that_fails_leaves_nothing_behind(self, upkeep: Upkeep) -> None:
        upkeep.history.ingest(balanced(0))
        [segment] = upkeep.hot
        (upkeep.root / segment).unlink()
        with pytest.raises(TransientError):
            upkeep.history.maintain()
        assert not upkeep.files("cold/**/*.tmp")

    def test_what_a_killed_worker_left_is_removed(self, upkeep: Upkeep) -> None:
        leftover = upkeep.root / "cold/bank-0/2026-01/000000000001-000000000004.parquet.12345.tmp"
        leftover.parent.mkdir(parents=True)
        leftover.write_bytes(b"half a part")
        upkeep.history.ingest(balanced(0))
        upkeep.history.maintain()
        assert not leftover.exists()


class TestViewFile:
    def test_it_is_made_once_and_read_only(self, upkeep: Upkeep) -> None:
        upkeep.history.maintain()
        before = (upkeep.root / viewfile.NAME).stat()
        upkeep.history.maintain()
        assert (upkeep.root / viewfile.NAME).stat().st_ino == before.st_ino
        assert before.st_mode & 0o777 == 0o444

    def test_it_is_made_again_where_the_folder_went(self, tmp_path: Path) -> None:
        upkeep = Upkeep(tmp_path / "history")
        upkeep.history.ingest(balanced(0))
        upkeep.history.maintain()
        upkeep.history.close()
        os.rename(tmp_path / "history", tmp_path / "moved")
        moved = Upkeep(tmp_path / "moved")
        moved.history.maintain()
        assert counted(moved.root) == [(4, 0, 0)]
        moved.history.close()

    def test_an_empty_history_can_be_asked(self, upkeep: Upkeep) -> None:
        upkeep.history.maintain()
        assert counted(upkeep.root) == [(0, 0, 0)]

    def test_status_counts_what_is_where(self, upkeep: Upkeep) -> None:
        upkeep.history.ingest(balanced(0))
        upkeep.history.ingest(HistoryBatch("events", 1, 0, 0, [event(99)]))
        upkeep.history.maintain()
        upkeep.after(SETTLE)
        status = upkeep.history.status()
        assert (status.rows, status.hot_rows, status.parts, status.compactions) == (5, 1, 2, 1)


ENDLESS = """
import time
open({begun!r}, "w").close()
time.sleep(600)
"""


@pytest.mark.usefixtures("real_workers")
@pytest.mark.parametrize("made_by", [viewfile, parquet])
def test_who_closes_it_waits_for_no_worker(made_by: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed one leaves what a crash leaves: the next start does all of it."""
    upkeep = Upkeep(tmp_path / "history")
    begun = tmp_path / "begun"
    (tmp_path / "endless_worker.py").write_text(ENDLESS.format(begun=str(begun)))
    monkeypatch.syspath_prepend(tmp_path)
    upkeep.history.ingest(balanced(0))
    with monkeypatch.context() as patched:
        patched.setattr(made_by, "WORKER", "endless_worker")
        keeping = Thread(target=upkeep.history.maintain)
        keeping.start()
        while not begun.exists():
            assert keeping.is_alive()
            time.sleep(0.01)
        upkeep.history.close()
        keeping.join(10)
        assert not keeping.is_alive()
    again = Upkeep(upkeep.root)
    again.history.maintain()
    assert counted(again.root) == [(4, 0, 0)]
    again.history.close()
