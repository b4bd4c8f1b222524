"""Standings: whether what a bank says an account holds agrees with the rows that it told since it said so before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from typing import Any, Self

from extractors.bank.entry import Entry
from extractors.bank.row import Balance
from schemas.model import Json
from schemas.money import Money

STRIKES = 3
"""Balances that do not agree before the count starts anew: what is missing by then will not come any more."""
_DRIFT = "account {account}: the balance of {day} is off by {drift} from the rows since {since}"


@dataclass(frozen=True, slots=True)
class Standing:
    """``total`` of all booked rows; ``anchor``: balance less total when they last were taken to agree, on ``since``.
    ``amount`` and ``as_of``: the last balance."""

    total: Decimal = Decimal(0)
    anchor: Decimal | None = None
    since: date = date.min
    amount: Decimal = Decimal(0)
    as_of: date = date.min
    strikes: int = 0


@dataclass(slots=True)
class Standings:
    """By bank account and currency."""

    by_account: dict[tuple[str, str], Standing] = field(default_factory=dict)

    def moved(self, before: Entry | None, after: Entry) -> None:
        change = _booked(after) - (_booked(before) if before else Decimal(0))
        if change:
            place = after.row.account, after.row.amount.currency
            standing = self.by_account.get(place, Standing())
            self.by_account[place] = replace(standing, total=standing.total + change)

    def judged(self, balance: Balance, entries: Iterable[Entry]) -> tuple[Balance | None, str, bool]:
        """The balance with ``opening`` and ``consistent``, a warning where it does not agree, and whether it is the
        first one of its day. None for one that says what the last one said, or is older than that.

        Some banks count pending rows in; that agrees too.
        """
        place = balance.account, balance.amount.currency
        old = self.by_account.get(place, Standing())
        amount = balance.amount.amount
        if old.anchor is not None and (balance.as_of < old.as_of or amount == old.amount):
            return None, "", False
        is_first = old.anchor is None or balance.as_of != old.as_of
        new = replace(old, amount=amount, as_of=balance.as_of)
        if old.anchor is None:
            self.by_account[place] = replace(new, anchor=amount - old.total, since=balance.as_of)
            return balance, "", is_first
        drift = amount - old.anchor - old.total
        agrees = drift in (0, _pending(entries, *place))
        strikes = 0 if agrees else old.strikes + 1
        if strikes >= STRIKES:
            new = replace(new, anchor=amount - old.total, since=balance.as_of)
            strikes = 0
        self.by_account[place] = replace(new, strikes=strikes)
        opening = Money.of(old.amount, balance.amount.currency)
        told = balance.model_copy(update={"opening": opening, "consistent": agrees})
        warning = _DRIFT.format(
            account=balance.account, day=balance.as_of, drift=Money.of(drift, place[1]), since=old.since
        )
        return told, "" if agrees else warning, is_first

    def dump(self) -> Json:
        return [
            [*place, str(s.total), None if s.anchor is None else str(s.anchor), *_days(s), str(s.amount), s.strikes]
            for place, s in self.by_account.items()
        ]

    @classmethod
    def load(cls, stored: Any) -> Self:
        """ValueError, TypeError or their kin for what ``dump`` did not write."""
        found = cls()
        for account, currency, total, anchor, since, as_of, amount, strikes in stored:
            found.by_account[account, currency] = Standing(
                Decimal(total),
                None if anchor is None else Decimal(anchor),
                date.fromisoformat(since),
                Decimal(amount),
                date.fromisoformat(as_of),
                int(strikes),
            )
        return found


def _days(standing: Standing) -> tuple[str, str]:
    return standing.since.isoformat(), standing.as_of.isoformat()


def _booked(entry: Entry) -> Decimal:
    return Decimal(0) if entry.row.pending or entry.is_gone else entry.row.amount.amount


def _pending(entries: Iterable[Entry], account: str, currency: str) -> Decimal:
    return sum(
        (
            entry.row.amount.amount
            for entry in entries
            if entry.row.pending
            and not entry.is_gone
            and (entry.row.account, entry.row.amount.currency) == (account, currency)
        ),
        Decimal(0),
    )
