"""The loop over /transactions/sync: all changes after one place, or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from extractors.plaid.api import Client, LostCursor, Mutated
from schemas.errors import TransientError

MAX_PAGES = 600
MAX_ROWS = 120_000
RESTARTS = 3
ROW_BYTES = 20_000


@dataclass(slots=True)
class Changes:
    """``rows`` by account and transaction id, with the last word on each (None: removed), in order of that word."""

    rows: dict[tuple[str, str], Mapping[str, Any] | None] = field(default_factory=dict)
    accounts: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    unreadable: list[Any] = field(default_factory=list)
    cursor: str = ""
    is_whole: bool = True
    """False: Plaid is still fetching the history."""


async def changes(client: Client, cursor: str, count: int) -> Changes:
    """Everything after ``cursor``, which stays valid until the next loop is through.

    What changes while it is paged through starts the loop again from ``cursor``. LostCursor where Plaid knows
    ``cursor`` no more, and where even a loop from it never comes to an end.
    """
    for _ in range(RESTARTS):
        try:
            return await _loop(client, cursor, count)
        except Mutated:
            continue
    if cursor:
        raise LostCursor
    raise TransientError("Plaid's data changes faster than it can be read")


async def _loop(client: Client, cursor: str, count: int) -> Changes:
    found = Changes(cursor=cursor)
    seen = {cursor}
    for _ in range(MAX_PAGES):
        answer = await client.sync(found.cursor, count)
        _take(answer, found)
        following, has_more = answer.get("next_cursor"), answer.get("has_more")
        if not isinstance(following, str) or not isinstance(has_more, bool):
            raise TransientError("Plaid's answer does not say whether there is more")
        found.is_whole = answer.get("transactions_update_status") != "INITIAL_UPDATE_COMPLETE"
        if not has_more:
            found.cursor = following
            return found
        if following in seen or len(found.rows) > MAX_ROWS:
            raise TransientError("Plaid's pages come to no end")
        seen.add(following)
        found.cursor = following
    raise TransientError(f"Plaid gives more than {MAX_PAGES} pages")


def _take(answer: Mapping[str, Any], found: Changes) -> None:
    for account in _listed(answer, "accounts"):
        if isinstance(account, dict) and isinstance(account.get("account_id"), str):
            found.accounts[account["account_id"]] = account
    for row in (*_listed(answer, "added"), *_listed(answer, "modified")):
        place = _place(row)
        if place is None or len(json.dumps(row)) > ROW_BYTES:
            found.unreadable.append(row)
        else:
            _put(found, place, row)
    for row in _listed(answer, "removed"):
        if (place := _place(row)) is not None:
            _put(found, place, None)


def _put(found: Changes, place: tuple[str, str], row: Mapping[str, Any] | None) -> None:
    found.rows.pop(place, None)
    found.rows[place] = row


def _place(row: Any) -> tuple[str, str] | None:
    if not isinstance(row, dict):
        return None
    account, key = row.get("account_id"), row.get("transaction_id")
    if not (isinstance(key, str) and key.strip() and len(key) <= 120 and isinstance(account, str | None)):
        return None
    return str(account or ""), key


def _listed(answer: Mapping[str, Any], name: str) -> list[Any]:
    listed = answer.get(name)
    if not isinstance(listed, list):
        raise TransientError(f"Plaid's answer holds no list of what was {name}")
    return listed
