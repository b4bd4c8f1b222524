"""Which row is which: keys that stay the same when a statement comes again, alone or inside another one."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from extractors.bank.row import Row, Statement, reference
from schemas.ids import content_hash, digest

KEY_LENGTH = 32
"""Hex digits of a row key."""


@dataclass(frozen=True, slots=True)
class Keyed:
    """A row with its key (which row) and version (what it says)."""

    key: str
    version: str
    row: Row


def keyed(scope: str, statements: Sequence[Statement]) -> list[Keyed]:
    """Each row of one file with its key, in the order given.

    Rows that nothing tells apart are numbered within their day, and the numbers start again with every statement that
    does not continue the one before: so two equal purchases are two rows, and the same two in another file, or twice
    in this one, are the same two. ``scope`` is our account.
    """
    found: list[Keyed] = []
    before: dict[str, Statement] = {}
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for statement in statements:
        earlier = before.get(statement.account)
        if earlier is None or not _continues(statement, earlier):
            counts[statement.account] = Counter()
        before[statement.account] = statement
        found += _numbered(scope, statement.rows, counts[statement.account])
    return found


def _continues(statement: Statement, earlier: Statement) -> bool:
    return (
        statement.opening is not None
        and statement.opening == earlier.closing
        and bool(statement.consistent and earlier.consistent)
        and (statement.opening, statement.rows) != (earlier.opening, earlier.rows)
    )


def _numbered(scope: str, rows: Sequence[Row], counts: Counter[str]) -> list[Keyed]:
    """Equal rows are numbered by what they say beside their identity, so that their order in the file is no matter."""
    bases = [identity(scope, row) for row in rows]
    versions = [version_of(row) for row in rows]
    keys = [""] * len(rows)
    for index in sorted(range(len(rows)), key=lambda i: versions[i]):
        counts[bases[index]] += 1
        keys[index] = content_hash(bases[index], str(counts[bases[index]]))[:KEY_LENGTH]
    return [Keyed(*parts) for parts in zip(keys, versions, rows, strict=True)]


def identity(scope: str, row: Row) -> str:
    """What makes a row this row, apart from equal ones on the same day.

    The bank's id counts where it can be trusted, and then only together with day and amount, because banks reuse one
    id for a purchase and its fee. Else it is what the row says.
    """
    amount = str(row.amount)
    state = "pending" if row.pending else "booked"
    where = (scope, row.account, state, row.booked_on.isoformat(), amount)
    if is_trustworthy(row.native_id, row):
        return content_hash(*where, "id", row.native_id, row.end_to_end_id or "")
    return content_hash(*where, "said", folded(row.counterparty), folded(row.purpose), row.end_to_end_id or "")


def is_trustworthy(native_id: str, row: Row) -> bool:
    """Whether an id may name a row: long enough, with a digit, and no mere place in the file or in the day.

    Judged from the id alone, never from its neighbours: the same row must be judged alike in every file.
    """
    core = re.sub(r"[\W_]", "", native_id)
    if reference(native_id) is None or len(core) < 4 or not re.search(r"[1-9]", core):
        return False
    if core.isdecimal() and len(core) < 6:
        return False
    day = row.booked_on
    rest = core.replace(f"{day:%Y%m%d}", "", 1).replace(f"{day:%y%m%d}", "", 1)
    return not (rest != core and len(rest) < 4)


def folded(text: str) -> str:
    """Letters and digits only, without case: what remains equal when a bank reformats a text."""
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def version_of(row: Row) -> str:
    """Equal for rows that say the same, whichever pending row they settle and whatever we were warned of."""
    return digest(row.model_dump(mode="json", exclude={"replaces", "warnings"}))[:16]
