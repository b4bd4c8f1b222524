"""Counting the calls that a source allows, over restarts: a poll never spends the person's last one."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta

from extractors.connector import Quota
from schemas.errors import RateLimited

SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (account TEXT NOT NULL, quota TEXT NOT NULL, at REAL NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS calls_by_quota ON calls (account, quota, at);
"""


def spend(database: sqlite3.Connection, account: str, quota: Quota, now: datetime, *, asked: bool) -> None:
    """Within the caller's transaction. RateLimited, with the moment of the next call, when none is left.

    A call in the future was counted while the clock was wrong: beyond ``per`` it is forgotten.
    """
    moment, per_s = now.timestamp(), quota.per.total_seconds()
    mine = (account, quota.name)
    database.execute(
        "DELETE FROM calls WHERE account = ? AND quota = ? AND (at <= ? OR at > ?)",
        (*mine, moment - per_s, moment + per_s),
    )
    rows = database.execute("SELECT at FROM calls WHERE account = ? AND quota = ? ORDER BY at", mine)
    spent = [at for (at,) in rows]
    allowed = quota.calls - (0 if asked else quota.reserve)
    if len(spent) < allowed:
        database.execute("INSERT INTO calls VALUES (?, ?, ?)", (*mine, moment))
        return
    freeing = spent[len(spent) - allowed] if allowed > 0 else moment
    kept = "" if asked or not quota.reserve else f" ({quota.reserve} kept for you: forewatch accounts sync)"
    raise RateLimited(
        f"{quota.name}: all {max(allowed, 0)} calls of {_span(quota.per)} are spent{kept}",
        retry_at=datetime.fromtimestamp(freeing, UTC) + quota.per,
    )


def _span(per: timedelta) -> str:
    return "a day" if per == timedelta(days=1) else f"{per}"
