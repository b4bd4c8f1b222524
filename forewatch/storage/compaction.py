"""Compaction: moves hot rows into Parquet and merges small parts, crash-safe at every point, beside ingest and readers.

The steps are those of ``catalogue.py``. ``run`` does what is due and returns; what a crash left unfinished is simply
due. Readers see each row exactly once throughout.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from forewatch.storage import hot, manifest, parquet
from forewatch.storage.catalogue import Catalogue, Compaction
from forewatch.storage.ledger import Ledger
from forewatch.storage.process import Workers
from schemas.clock import Clock
from schemas.errors import TransientError

Point = Literal[
    "committed", "published", "rotated",
    "fold_planned", "merge_planned", "hidden", "part_written", "settling", "retiring", "flipped", "pruned",
    "unlinked", "forgetting", "ended",
]  # fmt: skip
"""Where a crash leaves something for the next start to finish; ``observe`` is told after each of them."""

Observe = Callable[[Point], None]


@dataclass(frozen=True, slots=True)
class Tuning:
    """``settle_s`` must be longer than any query takes from listing files to opening them, ``grace_s`` longer than any
    query runs; a reader that is slower finds a file gone and has to begin again.

    ``retired_rows``: when more rows than this wait for their grace to end, the oldest files go early, so that a
    back-fill does not fill the disk.

    ``sync``: ``full`` survives a power cut, ``normal`` only the death of the process.
    """

    segment_rows: int = 5_000
    segment_bytes: int = 16 << 20
    segment_age_s: float = 86_400.0
    fold_rows: int = 100_000
    merge_parts: int = 8
    merge_rows: int = 100_000
    settle_s: float = 30.0
    grace_s: float = 600.0
    retired_rows: int = 1_000_000
    sync: Literal["full", "normal"] = "full"


class Compactor:
    """Not thread-safe: one ``run`` at a time. It never holds the ledger's lock for longer than one short call."""

    def __init__(
        self,
        root: Path,
        ledger: Ledger,
        catalogue: Catalogue,
        clock: Clock,
        tuning: Tuning,
        observe: Observe,
        workers: Workers,
    ) -> None:
        self._root = root
        self._ledger = ledger
        self._catalogue = catalogue
        self._clock = clock
        self._tuning = tuning
        self._observe = observe
        self._workers = workers

    def run(self) -> None:
        """Everything that is due. Blocks for seconds while Parquet is written; may raise, and goes on next time."""
        while True:
            due = self._due()
            for compaction in due:
                self._move_on(compaction)
            if not due and not self._plan():
                return

    def release(self) -> None:
        """Unlink the files whose grace is over: it needs no space, so a full disk does not keep itself full."""
        for compaction in self._due():
            if compaction.step == "retire":
                self._remove(compaction)

    def publish_manifest(self) -> None:
        """Make the manifest say what the catalogue says."""
        hidden = frozenset(self._root / path for path in self._catalogue.hidden())
        if not manifest.exists(self._root) or manifest.read(self._root) != hidden:
            manifest.write(self._root, hidden)

    def _due(self) -> list[Compaction]:
        now = self._clock.now().timestamp()
        under_way = self._catalogue.compactions()
        crowded = self._crowded(under_way)
        due = [c for c in under_way if c.due_at <= now or c.id in crowded]
        return sorted(due, key=lambda c: c.step == "write")

    def _crowded(self, under_way: list[Compaction]) -> set[int]:
        """Those whose retired files must go before their time."""
        crowded, rows = set(), 0
        for compaction in reversed(under_way):
            if compaction.step == "retire":
                rows += compaction.rows
                if rows > self._tuning.retired_rows:
                    crowded.add(compaction.id)
        return crowded

    def _plan(self) -> bool:
        """One fold waits for the one before it to settle, unless it has all the rows that a fold may have."""
        if self._may_fold() and self._catalogue.plan_fold(self._tuning.fold_rows):
            self._planned("fold_planned")
            return True
        if self._catalogue.plan_merge(self._tuning.merge_parts, self._tuning.merge_rows):
            self._planned("merge_planned")
            return True
        return False

    def _may_fold(self) -> bool:
        if not any(c.kind == "fold" and c.step in ("write", "settle") for c in self._catalogue.compactions()):
            return True
        return self._catalogue.waiting_rows() >= self._tuning.fold_rows

    def _planned(self, point: Point) -> None:
        self._observe(point)
        self.publish_manifest()
        self._observe("hidden")

    def _move_on(self, compaction: Compaction) -> None:
        match compaction.step:
            case "write":
                self._write(compaction)
            case "settle":
                self._flip(compaction)
            case "retire":
                self._unlink(compaction)
            case "forget":
                self._end(compaction)
            case _:
                assert_never(compaction.step)

    def _write(self, compaction: Compaction) -> None:
        self.publish_manifest()  # a crash may have come between the plan and the manifest
        try:
            parquet.write_parts(self._root, compaction, self._workers, lambda: self._observe("part_written"))
        except TransientError:
            self.mend(compaction.old)
            raise
        self._catalogue.advance(compaction, "settle", self._in(self._tuning.settle_s))
        self._observe("settling")

    def mend(self, paths: tuple[str, ...] | None = None) -> None:
        """Write closed segments again from the ledger: all of these, or those whose size is not what it was."""
        for segment in self._catalogue.closed_segments():
            path = self._root / segment.path
            if segment.path in paths if paths else not path.exists() or path.stat().st_size != segment.bytes:
                lines = [line for _, line in self._ledger.lines(segment.first, segment.last)]
                hot.HotSegment.open(self._root, segment.first, lines).close()

    def _flip(self, compaction: Compaction) -> None:
        self._catalogue.advance(compaction, "retire", self._in(self._tuning.grace_s))
        self._observe("retiring")
        self.publish_manifest()
        self._observe("flipped")
        self._prune(compaction)

    def _prune(self, compaction: Compaction) -> None:
        if compaction.kind == "fold":
            lo, hi = min(part.lo for part in compaction.new), max(part.hi for part in compaction.new)
            self._ledger.prune(lo, hi)
        self._observe("pruned")

    def _unlink(self, compaction: Compaction) -> None:
        self._remove(compaction)
        self._observe("unlinked")
        self._prune(compaction)  # a crash may have come in the middle of it
        self._catalogue.advance(compaction, "forget", self._in(self._tuning.settle_s))
        self._observe("forgetting")

    def _remove(self, compaction: Compaction) -> None:
        for path in compaction.old:
            (self._root / path).unlink(missing_ok=True)
        for folder in {(self._root / path).parent for path in compaction.old}:
            manifest.sync_folder(folder)

    def _end(self, compaction: Compaction) -> None:
        self._catalogue.end(compaction)
        self.publish_manifest()
        self._observe("ended")

    def _in(self, seconds: float) -> float:
        return self._clock.now().timestamp() + seconds
