"""Reading: what one read of one bank account gave, and the port through which it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol

from extractors.bank.row import Balance, Row
from extractors.connector import Rejected
from extractors.openbanking.account import BankAccount
from schemas.ids import digest

PAGES_CAP = 200
ROWS_CAP = 50_000
REJECTED_CAP = 100
_SHOWN = 500


@dataclass(frozen=True, slots=True)
class Reading:
    """``rows``: everything from the day asked for, in the bank's order. ``balance``: the newest known;
    ``is_closing``: it closes its day, so rows of later days are not in it. ``since``: the first day of the answer,
    where that is later than was asked for. ``wait_until``: the source's own word that it allows no read before."""

    rows: tuple[Row, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    balance: Balance | None = None
    is_closing: bool = False
    since: date | None = None
    warnings: tuple[str, ...] = ()
    wait_until: datetime | None = None


class BankApi(Protocol):
    """What a connector offers to ``Poll``. Errors as in ``pull``, and AccountUnreadable."""

    async def problem(self, account: BankAccount) -> str:
        """Why the account cannot be read, found out without a call that its bank counts; empty where it can."""
        ...

    async def read(self, account: BankAccount, since: date) -> Reading:
        """Everything from that day on, as the bank tells it now."""
        ...


def refused(item: Any, where: str, reason: str) -> Rejected:
    """A transaction that cannot be read. Its place is named by what it says: banks move rows from page to page."""
    shown = str(item).encode("utf-8", "backslashreplace")[:_SHOWN]
    return Rejected(f"{where}/{_mark(item)}", "malformed", reason[:300], shown)


def _mark(item: Any) -> str:
    try:
        return digest(item)[:16]
    except (TypeError, ValueError, RecursionError):
        return "unreadable"


def items(found: Any) -> list[Mapping[str, Any] | Any]:
    """The members of a JSON list; nothing for null."""
    return list(found) if isinstance(found, list) else []
