"""Taking batches in: exactly once, whole, durable, and mended after whatever happened to the files."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forewatch.storage.history import History, Tuning
from forewatch.storage.query import HistoryQuery
from forewatch.storage.testing import START, balanced, batch, event, rows
from schemas.clock import ManualClock
from schemas.errors import ConfigError, PoisonError, TransientError
from streams import topics


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "history"


@pytest.fixture
def history(root: Path) -> Iterator[History]:
    opened = open_history(root)
    yield opened
    opened.close()


def open_history(root: Path, **tuning: Any) -> History:
    return History.open(root, ManualClock(START), Tuning(**tuning))


def hot_rows(root: Path) -> list[dict[str, Any]]:
    """What the hot segments hold, whole lines only."""
    text = "".join(path.read_text() for path in sorted((root / "hot").glob("*.jsonl")))
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def hot_ids(root: Path) -> list[str]:
    return [row["id"] for row in hot_rows(root)]


class TestExactlyOnce:
    def test_a_replay_adds_nothing(self, history: History, root: Path) -> None:
        assert history.ingest(batch(0, [event(0), event(1)])) == 2
        assert history.ingest(batch(0, [event(0), event(1)])) == 0
        assert hot_ids(root) == ["event-0", "event-1"]

    def test_a_batch_that_overlaps_adds_only_what_is_new(self, history: History) -> None:
        history.ingest(batch(0, [event(0), event(1)]))
        assert history.ingest(batch(1, [event(1), event(2), event(2)])) == 1

    def test_the_watermark_is_where_to_read_on(self, history: History) -> None:
        assert history.watermark(topics.EVENTS, 0) == 0
        history.ingest(batch(0, [event(0), event(1)]))
        assert history.watermark(topics.EVENTS, 0) == 2
        assert history.watermark(topics.EVENTS, 1) == 0
        assert history.watermark(topics.JOURNAL, 0) == 0

    def test_the_watermark_moves_over_a_batch_without_rows_and_never_back(self, history: History) -> None:
        history.ingest(batch(5, [event(5)]))
        history.ingest(batch(0, [event(0)]))
        assert history.watermark(topics.EVENTS, 0) == 6

    def test_a_log_that_counts_from_zero_again_loses_nothing(self, history: History) -> None:
        history.ingest(batch(100, [event(0)]))
        assert history.ingest(batch(0, [event(1)])) == 1

    def test_the_same_id_in_two_topics_is_two_rows(self, history: History) -> None:
        letter = {"id": "event-0", "topic": "records", "reason": "torn", "at": "2026-01-01T00:00:00Z"}
        history.ingest(batch(0, [event(0)]))
        assert history.ingest(batch(0, [letter], topic=topics.DEAD)) == 1

    def test_rows_count_up_without_gaps_across_a_restart(self, root: Path) -> None:
        for first in (0, 2):
            opened = open_history(root)
            opened.ingest(batch(first, [event(first), event(first), event(first + 1)]))
            opened.close()
        assert [row["seq"] for row in hot_rows(root)] == [1, 2, 3, 4]

    def test_one_bad_document_keeps_its_whole_batch_out(self, history: History, root: Path) -> None:
        with pytest.raises(PoisonError, match="event-1"):
            history.ingest(batch(0, [event(0), event(1, account="../up")]))
        assert hot_ids(root) == []
        assert history.watermark(topics.EVENTS, 0) == 0


class TestOpening:
    def test_a_second_writer_is_refused(self, history: History, root: Path) -> None:
        with pytest.raises(ConfigError, match="open in another process"):
            open_history(root)

    def test_what_a_newer_release_wrote_is_refused(self, root: Path) -> None:
        open_history(root).close()
        with sqlite3.connect(root / "ledger.db") as ledger:
            ledger.execute("UPDATE fact SET value = 99 WHERE name = 'format'")
        ledger.close()
        with pytest.raises(ConfigError, match="newer Forewatch"):
            open_history(root)

    def test_a_damaged_ledger_says_how_to_go_on(self, root: Path) -> None:
        open_history(root).close()
        (root / "ledger.db").write_bytes(b"this is no database" * 100)
        with pytest.raises(ConfigError, match="rebuilt from the log"):
            open_history(root)

    def test_a_failed_open_does_not_keep_the_folder_locked(self, root: Path) -> None:
        self.test_a_damaged_ledger_says_how_to_go_on(root)
        (root / "ledger.db").unlink()
        open_history(root).close()

    def test_a_missing_part_is_noticed(self, root: Path) -> None:
        opened = open_history(root, segment_rows=1, settle_s=0, grace_s=0)
        opened.ingest(batch(0, [event(0)]))
        opened.maintain()
        opened.close()
        next((root / "cold" / "mail-0").rglob("*.parquet")).unlink()
        with pytest.raises(ConfigError, match="are missing"):
            open_history(root)

    def test_after_a_reset_the_log_makes_the_same_history_again(self, root: Path) -> None:
        def play() -> list[dict[str, Any]]:
            opened = open_history(root, segment_rows=3)
            for number in range(5):
                opened.ingest(balanced(number))
            opened.close()
            return hot_rows(root)

        before = play()
        History.reset(root)
        assert not root.exists()
        assert play() == before

    def test_nobody_resets_what_is_open(self, history: History, root: Path) -> None:
        with pytest.raises(ConfigError, match="open in another process"):
            History.reset(root)


class TestMending:
    """A crash between commit and append, a torn line, a power cut: the hot file is made to hold what was committed."""

    def wrecked(self, root: Path, wreck: Any, **tuning: Any) -> list[str]:
        opened = open_history(root, **tuning)
        for number in range(4):
            opened.ingest(balanced(number))
        opened.close()
        wreck(sorted((root / "hot").glob("*.jsonl")))
        open_history(root, **tuning).close()
        return hot_ids(root)

    WHOLE = [f"event-{number}" for number in range(16)]

    def test_a_torn_line_is_completed(self, root: Path) -> None:
        assert self.wrecked(root, lambda files: os.truncate(files[-1], files[-1].stat().st_size - 40)) == self.WHOLE

    def test_a_lost_file_is_written_again(self, root: Path) -> None:
        assert self.wrecked(root, lambda files: files[-1].unlink()) == self.WHOLE

    def test_blocks_of_zeros_are_overwritten(self, root: Path) -> None:
        def zero(files: list[Path]) -> None:
            size = files[-1].stat().st_size
            os.truncate(files[-1], size // 2)
            os.truncate(files[-1], size)

        assert self.wrecked(root, zero) == self.WHOLE

    def test_what_was_never_committed_is_cut_off(self, root: Path) -> None:
        def add(files: list[Path]) -> None:
            with open(files[-1], "a") as file:
                file.write('{"seq": 99, "batch": 99, "stream": "events", "id": "from nowhere"}\n')

        assert self.wrecked(root, add) == self.WHOLE

    def test_a_closed_segment_is_mended_too(self, root: Path) -> None:
        assert self.wrecked(root, lambda files: os.truncate(files[0], 10), segment_rows=4) == self.WHOLE

    def test_an_undamaged_file_is_left_alone(self, root: Path) -> None:
        opened = open_history(root)
        opened.ingest(balanced(0))
        opened.close()
        file = next((root / "hot").glob("*.jsonl"))
        before = file.stat().st_mtime_ns
        open_history(root).close()
        assert file.stat().st_mtime_ns == before


def test_a_reader_never_sees_half_a_batch(root: Path) -> None:
    """Cut the file at lengths that a reader might meet it at: whole batches are seen, and always a beginning."""
    opened = open_history(root)
    opened.maintain()
    for number in range(3):
        opened.ingest(balanced(number))
    opened.close()
    file = next((root / "hot").glob("*.jsonl"))
    whole = file.read_bytes()
    ends = [at for at, byte in enumerate(whole) if byte == ord("\n")]
    sql = "SELECT count(*), CAST(sum(amount) AS VARCHAR) FROM events"
    query = HistoryQuery(root, "UTC")
    for end in (0, ends[0] + 1, ends[3], ends[3] + 1, ends[5] - 7, ends[6] + 1, len(whole) - 1):
        file.write_bytes(whole[:end])
        batches = sum(end >= ends[last] for last in (3, 7, 11))
        assert rows(root, sql) == [(4 * batches, "0.0000" if batches else None)]
        assert query.page(sql).rows == [[4 * batches, "0.0000" if batches else None]]


class TestFullDisk:
    """A process whose files may not grow any more gets EFBIG, which we treat as we treat ENOSPC."""

    def test_nothing_is_half_done_and_all_of_it_is_there_once_there_is_space(self, root: Path) -> None:
        command = [sys.executable, __file__, str(root)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        messages, seen_while_full, accepted = json.loads(done.stdout)
        assert messages
        assert all("no space" in m or "full" in m or "disk" in m for m in messages)
        assert all("free some space" in message for message in messages)
        assert seen_while_full % 4 == 0
        assert hot_ids(root) == [f"event-{number}" for number in range(4 * accepted)]


def _fill(root: Path) -> tuple[list[str], int, int]:
    """Ingest until it fails at several sizes, then give the space back and go on."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    opened = open_history(root)
    messages, number = [], 0
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    for limit in range(20_000, 300_000, 17_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
        try:
            while True:
                opened.ingest(balanced(number))
                number += 1
        except TransientError as error:
            messages.append(str(error))
    seen = hot_rows(root)
    resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    for _ in range(3):
        opened.ingest(balanced(number))
        number += 1
    opened.close()
    return messages, len(seen), number


@pytest.mark.parametrize("place", ["file", "file/history"])
def test_a_place_that_is_no_folder_says_so(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ConfigError, match="history cannot be written in"):
        open_history(tmp_path / place)


def test_the_service_never_loads_duckdb(root: Path) -> None:
    """It would stay in the memory of a service that is meant to idle at 150 MB."""
    code = (
        "import sys; from pathlib import Path\n"
        "from forewatch.storage.history import History, HistoryBatch, Tuning\n"
        "from forewatch.storage.query import HistoryQuery\n"
        "from schemas.clock import SystemClock\n"
        f"h = History.open(Path({str(root)!r}), SystemClock(), Tuning(segment_rows=1, settle_s=0, grace_s=0))\n"
        "e = {'id': 'e', 'owner': 'me', 'account': 'a', 'kind': 'mail.received', 'subject': 's',\n"
        "     'occurred_at': '2026-01-01T00:00:00Z', 'observed_at': '2026-01-01T00:00:00Z'}\n"
        "h.ingest(HistoryBatch('events', 0, 0, 0, [e])); h.maintain()\n"
        f"print(HistoryQuery(Path({str(root)!r}), 'UTC').page('SELECT id FROM events').rows, 'duckdb' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[['e']] False"


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_fill(Path(sys.argv[1]))))
