"""The cursor of a SimpleFIN account: what was read, which days the next poll asks for, and how far it then is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

from extractors.bank.ledger import Ledger
from extractors.bank.refusals import Refusals
from extractors.simplefin.answer import MAX_ACCOUNTS, Account, AccountSet
from extractors.simplefin.config import SimpleFinConfig
from schemas.errors import CursorExpired
from schemas.model import Json

VERSION = 1
WINDOW = timedelta(days=90)
"""What one request may ask for."""
REREAD = timedelta(days=14)
"""How far back each poll looks again: rows are booked late, and with an earlier day."""
REACH = timedelta(days=45)
"""How far back a row that still waits to be booked is looked for."""
BEHIND = timedelta(days=76)
"""How far a poll stays behind when a bank's rows are missing: one request still reaches it."""


@dataclass(slots=True)
class State:
    """``read_to``: the rows up to this day (exclusive) were read whole. None: everything is to be read.
    ``is_reading``: the history, which may take several polls. ``whole``: the bank accounts whose history was read.
    ``asked_at``: when the server last answered as it should, if with faults of single banks."""

    ledger: Ledger = field(default_factory=lambda: Ledger("unique"))
    refusals: Refusals = field(default_factory=Refusals)
    read_to: date | None = None
    is_reading: bool = True
    whole: list[str] = field(default_factory=list)
    asked_at: datetime | None = None

    def dump(self) -> Json:
        return {
            "v": VERSION,
            "ledger": self.ledger.dump(),
            "refusals": self.refusals.dump(),
            "read_to": None if self.read_to is None else self.read_to.isoformat(),
            "is_reading": self.is_reading,
            "whole": [*self.whole],
            "asked_at": None if self.asked_at is None else self.asked_at.isoformat(),
        }


def load(stored: Any) -> State:
    if stored is None:
        return State()
    try:
        if stored["v"] != VERSION:
            raise CursorExpired("the cursor of a SimpleFIN account is of another version")
        read_to = stored["read_to"]
        return State(
            Ledger.load(stored["ledger"], "unique"),
            Refusals(stored["refusals"]),
            None if read_to is None else date.fromisoformat(read_to),
            bool(stored["is_reading"]),
            [str(each) for each in stored["whole"]],
            None if stored["asked_at"] is None else datetime.fromisoformat(stored["asked_at"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CursorExpired("the cursor of a SimpleFIN account is not readable") from error


def windows(state: State, settings: SimpleFinConfig, today: date) -> Iterator[tuple[date, date | None]]:
    """Oldest first. The last has no end, so that what a bank dates ahead is in it, and is as long as may be, so that it
    alone holds every row that still waits to be booked."""
    if state.read_to is None:
        since = today - timedelta(days=settings.history_days)
    else:
        waiting = state.ledger.oldest_pending() or today
        since = min(state.read_to - REREAD, max(waiting, today - REACH))
    last = max(since, today - WINDOW + timedelta(days=1))
    while since < last:
        until = min(since + WINDOW, last)
        yield since, until
        since = until
    yield last, None


def reached_by(before: date | None, until: date | None, today: date, *, is_whole: bool) -> date | None:
    """An answer with faults does not count as read, but a bank that is never mended must not hold the others up."""
    reached = until or today
    if before is None:
        return reached
    return max(before, reached if is_whole else reached - BEHIND)


@dataclass(slots=True)
class Seen:
    """The bank accounts that came in one poll. ``broken``: not wholly in each answer."""

    labels: dict[str, None] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    def note(self, answer: AccountSet) -> None:
        self.labels |= dict.fromkeys(account.label for account in answer.accounts)
        self.broken |= {account.label for account in answer.accounts if not account.is_whole}


def note_history(state: State, seen: Seen) -> None:
    """An account that joined later, or was broken at first, has a history that the next poll shall read."""
    new = [label for label in seen.labels if label not in state.whole and label not in seen.broken]
    if state.is_reading and seen.labels:
        state.whole = [*state.whole, *new][-MAX_ACCOUNTS:]
        state.is_reading = False
    elif new:
        state.read_to, state.is_reading = None, True


def may_weigh(account: Account, state: State) -> bool:
    """A balance is held against the rows only where the history is not to come yet."""
    return account.is_whole and (state.is_reading or account.label in state.whole)
