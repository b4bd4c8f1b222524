"""History: takes in what the log says and keeps it where any DuckDB can read it while we write (design §6)."""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel

from forewatch.storage import hot, manifest, parquet, viewfile
from forewatch.storage.catalogue import Catalogue
from forewatch.storage.compaction import Compactor, Observe, Point, Tuning
from forewatch.storage.faults import translated
from forewatch.storage.hot import HotSegment
from forewatch.storage.ledger import Ledger
from forewatch.storage.process import Ended, Workers
from forewatch.storage.rows import row
from forewatch.storage.search import SearchIndex
from schemas.clock import Clock
from schemas.errors import ConfigError

LOCK = "lock"


@dataclass(frozen=True, slots=True)
class HistoryBatch:
    """What one read of one partition gave. ``topic`` is the constant of ``streams.topics`` (events, triggers, journal,
    dead); ``rows`` are its documents, as models or as decoded JSON."""

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    rows: Sequence[BaseModel | Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class HistoryStatus:
    """For ``doctor``. ``hot_rows`` are those that are not in Parquet yet."""

    rows: int
    hot_rows: int
    parts: int
    compactions: int


class History:
    """The only writer of a history folder. Every method blocks (call it in a thread), and may be called from any.

    ``ingest`` never waits for ``maintain``, which wants to be called every few seconds and may take seconds itself.
    Nothing here loads DuckDB into this process.
    """

    def __init__(self, root: Path, clock: Clock, tuning: Tuning, observe: Observe, lock_fd: int) -> None:
        """Use ``open``."""
        self.root = root
        self._clock = clock
        self._tuning = tuning
        self._observe = observe
        self._lock_fd = lock_fd
        self._lock = threading.Lock()
        self._upkeep = threading.Lock()
        self._workers = Workers()
        self._ledger = Ledger(root, tuning.sync)
        self._catalogue = Catalogue(self._ledger)
        self._compactor = Compactor(root, self._ledger, self._catalogue, clock, tuning, observe, self._workers)
        self._search = SearchIndex(root)
        self._hot: HotSegment | None = None

    @classmethod
    def open(cls, root: Path, clock: Clock, tuning: Tuning = Tuning(), observe: Observe = lambda point: None) -> Self:
        """Make the folder if there is none, and mend what a crash left; quick, whatever compaction had in hand.

        ConfigError when another process has it open, when it is damaged or was written by a newer release.
        ``clock`` times the grace that readers get: the system's, wherever there are readers. ``observe`` hears of
        each point at which a crash would leave work for the next ``open``.
        """
        root = root.absolute()
        with translated(root):
            for folder in (root, root / hot.FOLDER, root / manifest.COLD):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with ExitStack() as undo:
                lock_fd = _locked(root)
                undo.callback(os.close, lock_fd)
                history = cls(root, clock, tuning, observe, lock_fd)
                undo.callback(history._ledger.close)
                history._recover()
                undo.pop_all()
        return history

    @staticmethod
    def reset(root: Path) -> None:
        """Delete everything, so that the next ``open`` starts from offset 0 and the log can be read in again.

        ConfigError when a process has it open. The same log gives the same rows in the same order again, as long as
        its partitions are read in turn.
        """
        if not root.exists():
            return
        with translated(root):
            lock_fd = _locked(root)
            try:
                shutil.rmtree(root)
            finally:
                os.close(lock_fd)

    def watermark(self, topic: str, partition: int) -> int:
        """The offset to read on from: everything before it is durable here. 0 for a new history."""
        return self._ledger.watermark(topic, partition)

    def ingest(self, batch: HistoryBatch) -> int:
        """Keep what is new; the number of rows that were. Durable and visible to every reader when it returns.

        Visible as a whole: no reader sees half a batch. PoisonError for a document that cannot be kept (none of the
        batch is then). TransientError when the disk is full: call again with the same batch once there is space.
        """
        fresh = [row(batch.topic, document) for document in batch.rows]
        with self._lock, translated(self.root):
            segment = self._open_hot()  # first: what a full disk kept from the readers comes before what is new
            lines = self._ledger.admit(batch.topic, batch.partition, batch.last_offset + 1, fresh)
            self._observe("committed")
            self._publish(segment, lines)
        return len(lines)

    def maintain(self) -> None:
        """Do whatever upkeep is due: views, search index, folding and merging. Returns at once while another runs.

        Raises TransientError (a full disk, a worker that died); the next call goes on where this one stopped.
        """
        if not self._upkeep.acquire(blocking=False):
            return
        try:
            with translated(self.root), suppress(Ended):
                self._compactor.release()
                self._rotate_when_old()
                viewfile.ensure(self.root, self._ledger, self._workers)
                self._search.catch_up(self._ledger, self._catalogue.folded_to(), self._workers.go_on)
                self._compactor.run()
        finally:
            self._upkeep.release()

    def status(self) -> HistoryStatus:
        parts = self._catalogue.parts()
        cold = sum(part.rows for part in parts)
        rows = self._ledger.last_seq
        return HistoryStatus(rows, rows - cold, len(parts), len(self._catalogue.compactions()))

    def close(self) -> None:
        """A running ``maintain`` is given up. Needs not be called: a killed process loses nothing."""
        self._workers.end()
        with self._upkeep, self._lock:
            self._forget_hot()
            self._search.close()
            self._ledger.close()
            os.close(self._lock_fd)

    def _recover(self) -> None:
        shutil.rmtree(self.root / parquet.SCRATCH, ignore_errors=True)
        self._check_parts()
        self._compactor.publish_manifest()
        self._compactor.mend()
        self._open_hot()

    def _check_parts(self) -> None:
        missing = [part.path for part in self._catalogue.parts() if not (self.root / part.path).exists()]
        if missing:
            raise ConfigError(
                f"history in {self.root} is damaged: {missing[0]} and {len(missing) - 1} more files are missing",
                remedy="restore them, or delete the whole history folder: it is rebuilt from the log",
            )

    def _open_hot(self) -> HotSegment:
        """The segment that takes new rows; opening it makes it hold every row of the ledger that it should."""
        if self._hot is None:
            first = self._catalogue.open_segment(self._clock.now().timestamp()).first
            self._hot = HotSegment.open(self.root, first, [line for _, line in self._ledger.lines(first)])
        return self._hot

    def _publish(self, segment: HotSegment, lines: Sequence[bytes]) -> None:
        try:
            segment.append(b"".join(lines), len(lines))
        except BaseException:
            self._forget_hot()  # opened again, and mended, by the next call
            raise
        self._observe("published")
        if segment.rows >= self._tuning.segment_rows or segment.size >= self._tuning.segment_bytes:
            self._rotate(segment)

    def _rotate(self, segment: HotSegment) -> None:
        self._catalogue.rotate(segment.first, segment.size, self._clock.now().timestamp())
        self._observe("rotated")
        self._forget_hot()
        self._open_hot()

    def _rotate_when_old(self) -> None:
        with self._lock:
            now = self._clock.now().timestamp()
            segment = self._open_hot()
            opened_at = self._catalogue.open_segment(now).opened_at
            if segment.rows and now - opened_at >= self._tuning.segment_age_s:
                self._rotate(segment)

    def _forget_hot(self) -> None:
        if self._hot:
            self._hot.close()
            self._hot = None


def _locked(root: Path) -> int:
    """A lock that dies with the process."""
    fd = os.open(root / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(fd)
        raise ConfigError(
            f"history in {root} is open in another process", remedy="stop the other Forewatch on the same data first"
        ) from error
    return fd


__all__ = ["History", "HistoryBatch", "HistoryStatus", "Observe", "Point", "Tuning"]
