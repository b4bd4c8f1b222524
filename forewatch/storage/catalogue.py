"""The catalogue: which segments and parts make up history, and which compactions are replacing some by others.

A compaction makes ``new`` parts out of ``old`` files, in four steps:

    write    the new parts are being written; readers are told not to look at them
    settle   they are complete; queries that listed the files before are given time to begin
    retire   readers are told to look at the new ones and not at the old ones, in one swap of the manifest;
             queries that still read the old ones are given time to end
    forget   the old files are gone; queries that listed the files before that are given time to begin

Every step is recorded before the manifest says it, and the manifest is a function of what is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import dataclass
from typing import Literal

from forewatch.storage import hot, manifest
from forewatch.storage.ledger import Ledger

Step = Literal["write", "settle", "retire", "forget"]
Kind = Literal["fold", "merge"]
"""fold: hot segments become parts; merge: the small parts of one month of one account become one."""


@dataclass(frozen=True, slots=True)
class Segment:
    first: int
    opened_at: float
    last: int | None
    bytes: int | None

    @property
    def path(self) -> str:
        return hot.name(self.first)


@dataclass(frozen=True, slots=True)
class Part:
    """``path`` is relative to the history folder; ``lo``/``hi`` are the first and last seq in it."""

    path: str
    folder: str
    lo: int
    hi: int
    rows: int


@dataclass(frozen=True, slots=True)
class Compaction:
    id: int
    kind: Kind
    step: Step
    due_at: float
    old: tuple[str, ...]
    new: tuple[Part, ...]

    @property
    def hidden(self) -> tuple[str, ...]:
        return self.old if self.step in ("retire", "forget") else tuple(part.path for part in self.new)

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.new)


class Catalogue:
    """Each call is one transaction of the ledger, so it is safe to call from any thread."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    # --- segments ---------------------------------------------------------------------------------------------------

    def open_segment(self, now: float) -> Segment:
        """The segment that takes new rows; made when there is none."""
        with self._ledger.transaction() as db:
            found = db.execute("SELECT first, opened_at FROM segment WHERE last IS NULL").fetchone()
            if not found:
                found = (self._ledger.last_seq + 1, now)
                db.execute("INSERT INTO segment (first, opened_at) VALUES (?, ?)", found)
        return Segment(found[0], found[1], None, None)

    def rotate(self, first: int, size: int, now: float) -> Segment:
        """Close the segment after the last row there is, and open the next one."""
        with self._ledger.transaction() as db:
            db.execute("UPDATE segment SET last = ?, bytes = ? WHERE first = ?", (self._ledger.last_seq, size, first))
            return self.open_segment(now)

    def closed_segments(self) -> list[Segment]:
        """Those that hold visible rows and take no more, oldest first."""
        with self._ledger.transaction() as db:
            found = db.execute(
                "SELECT first, opened_at, last, bytes FROM segment LEFT JOIN compaction c ON c.id = compaction"
                " WHERE last IS NOT NULL AND (c.step IS NULL OR c.step IN ('write', 'settle')) ORDER BY first"
            )
            return [Segment(*row) for row in found]

    def waiting_rows(self) -> int:
        """Rows in closed segments that no compaction has taken on."""
        with self._ledger.transaction() as db:
            found = db.execute(
                "SELECT coalesce(sum(last - first + 1), 0) FROM segment WHERE last IS NOT NULL AND compaction IS NULL"
            )
            return int(found.fetchone()[0])

    # --- compactions ------------------------------------------------------------------------------------------------

    def compactions(self) -> list[Compaction]:
        with self._ledger.transaction() as db:
            found = db.execute("SELECT id, kind, step, due_at, old, new FROM compaction ORDER BY id").fetchall()
        return [
            Compaction(i, kind, step, due_at, tuple(json.loads(old)), tuple(Part(*p) for p in json.loads(new)))
            for i, kind, step, due_at, old, new in found
        ]

    def hidden(self) -> Set[str]:
        """What the manifest has to say, as paths relative to the history folder."""
        return {path for compaction in self.compactions() for path in compaction.hidden}

    def plan_fold(self, rows_max: int) -> bool:
        """Begin to fold the oldest closed segments, up to so many rows (one segment at least). False: there is none."""
        with self._ledger.transaction() as db:
            waiting: list[tuple[int, int]] = db.execute(
                "SELECT first, last FROM segment WHERE last IS NOT NULL AND compaction IS NULL ORDER BY first"
            ).fetchall()
            chosen = [w for w in waiting if w[1] - waiting[0][0] < rows_max] or waiting[:1]
            if not chosen:
                return False
            lo, hi = chosen[0][0], chosen[-1][1]
            found = db.execute(
                "SELECT folder, min(seq), max(seq), count(*) FROM row WHERE seq BETWEEN ? AND ? GROUP BY folder",
                (lo, hi),
            )
            new = [
                Part(f"{manifest.COLD}/{folder}/{lo:012d}-{hi:012d}.parquet", folder, first, last, rows)
                for folder, first, last, rows in found
            ]
            compaction = self._begin("fold", [hot.name(first) for first, _ in chosen])
            self._promise(compaction, new)
            db.executemany("UPDATE segment SET compaction = ? WHERE first = ?", ((compaction, f) for f, _ in chosen))
        return True

    def plan_merge(self, parts_min: int, rows_max: int) -> bool:
        """Begin to merge the parts of fewer than ``rows_max`` rows in a folder that has at least ``parts_min`` such."""
        with self._ledger.transaction() as db:
            small = "FROM part WHERE compaction IS NULL AND rows < ?"
            found = db.execute(
                f"SELECT folder {small} GROUP BY folder HAVING count(*) >= ? ORDER BY count(*) DESC LIMIT 1",
                (rows_max, parts_min),
            ).fetchone()
            if not found:
                return False
            old = [
                Part(*row)
                for row in db.execute(
                    f"SELECT path, folder, lo, hi, rows {small} AND folder = ? ORDER BY lo", (rows_max, found[0])
                )
            ]
            lo, hi = min(part.lo for part in old), max(part.hi for part in old)
            compaction = self._begin("merge", [part.path for part in old])
            path = f"{manifest.COLD}/{found[0]}/{lo:012d}-{hi:012d}-m{compaction}.parquet"  # a name is never used again
            self._promise(compaction, [Part(path, found[0], lo, hi, sum(part.rows for part in old))])
            db.executemany("UPDATE part SET compaction = ? WHERE path = ?", ((compaction, p.path) for p in old))
        return True

    def _begin(self, kind: Kind, old: list[str]) -> int:
        with self._ledger.transaction() as db:
            serial = db.execute(
                "INSERT INTO compaction (kind, step, due_at, old, new) VALUES (?, 'write', 0, ?, '[]')",
                (kind, json.dumps(old)),
            ).lastrowid
        assert serial is not None
        return serial

    def _promise(self, compaction: int, new: list[Part]) -> None:
        fields = [[part.path, part.folder, part.lo, part.hi, part.rows] for part in new]
        with self._ledger.transaction() as db:
            db.execute("UPDATE compaction SET new = ? WHERE id = ?", (json.dumps(fields), compaction))

    def advance(self, compaction: Compaction, step: Step, due_at: float) -> None:
        """Record the next step. With ``retire`` the new parts take the place of the old files in the catalogue."""
        with self._ledger.transaction() as db:
            db.execute("UPDATE compaction SET step = ?, due_at = ? WHERE id = ?", (step, due_at, compaction.id))
            if step == "retire":
                db.execute("DELETE FROM part WHERE compaction = ?", (compaction.id,))
                db.executemany(
                    "INSERT INTO part VALUES (?, ?, ?, ?, ?, NULL)",
                    ((p.path, p.folder, p.lo, p.hi, p.rows) for p in compaction.new),
                )

    def end(self, compaction: Compaction) -> None:
        with self._ledger.transaction() as db:
            db.execute("DELETE FROM segment WHERE compaction = ?", (compaction.id,))
            db.execute("DELETE FROM compaction WHERE id = ?", (compaction.id,))

    def parts(self) -> list[Part]:
        """The parts that hold visible rows."""
        with self._ledger.transaction() as db:
            return [Part(*row) for row in db.execute("SELECT path, folder, lo, hi, rows FROM part ORDER BY path")]

    def folded_to(self) -> int:
        """The newest seq in Parquet; 0 for none."""
        with self._ledger.transaction() as db:
            return int(db.execute("SELECT coalesce(max(hi), 0) FROM part").fetchone()[0])
