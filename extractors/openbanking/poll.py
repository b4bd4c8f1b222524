"""One poll of the accounts that a consent covers: which may be read now, and the pages that the reads become."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta

from extractors.bank.listing import Listed, Listing
from extractors.bank.row import Balance
from extractors.connector import Context, Delete, Page, Rejected, Upsert
from extractors.openbanking.account import BankAccount
from extractors.openbanking.cursor import DAYS_KEPT, Cursor, Place, load
from extractors.openbanking.errors import AccountUnreadable
from extractors.openbanking.limits import AFTER_FAILURE, PACE, count, due
from extractors.openbanking.reading import BankApi, Reading
from schemas.clock import local_day
from schemas.errors import AuthError, RateLimited, TransientError
from schemas.model import Json

OVERLAP = timedelta(days=21)
"""Days that are read again: a pending row may take that long to be booked."""


@dataclass(slots=True)
class Poll:
    """``accounts`` are read one after the other; one that cannot be read now does not keep the others from it.

    Each page's cursor knows what was handed out so far. A poll that dies reads the account it was at again.
    """

    api: BankApi
    accounts: Sequence[BankAccount]
    context: Context
    stored: Json
    days: int
    page_rows: int
    expires_at: datetime | None = None
    cursor: Cursor = field(init=False)
    warnings: list[str] = field(default_factory=list)
    limited: list[RateLimited] = field(default_factory=list)
    failed: list[TransientError] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    reads: int = 0

    def __post_init__(self) -> None:
        self.cursor = load(self.stored)

    async def pages(self) -> AsyncIterator[Page]:
        """The last page is complete, unless an account failed: that is raised once the others were read."""
        for account in self.accounts:
            reading = await self._reading(account)
            if reading is not None:
                self.reads += 1
                for page in self._told(account, *reading):
                    yield page
        if self.failed and self.reads:
            yield Page(next_cursor=self.cursor.dump(), consent_expires_at=self.expires_at)
        if self.failed:
            raise self.failed[0]
        if not self.reads:
            raise self._nothing()
        after = self.cursor.dump()
        yield Page(
            warnings=tuple(self.warnings),
            next_cursor=None if after == self.stored else after,
            complete=True,
            consent_expires_at=self.expires_at,
        )

    def _nothing(self) -> RateLimited | AuthError:
        """Why no account was read in this poll."""
        if self.limited:
            soonest = min(self.limited, key=lambda error: error.retry_at or self.context.now + PACE)
            return RateLimited(str(soonest), retry_at=soonest.retry_at)
        why = "; ".join(self.unreadable) or "the consent covers no account"
        return AuthError(f"no bank account can be read: {why}", remedy="link the bank again")

    async def _reading(self, account: BankAccount) -> tuple[Reading, date] | None:
        """What the account's bank says, and since when; None where it is not or cannot be read now."""
        place = self.cursor.places.get(account.key, Place())
        since = self._since(place)
        try:
            await self._admit(account, place)
            reading = await self._asked(account, place, since)
        except AccountUnreadable as error:
            self.unreadable.append(f"{account.label}: {error}")
            self.warnings.append(f"{account.label} is not read: {error}")
        except RateLimited as error:
            self.limited.append(error)
            self.warnings.append(f"{account.label} is read later: {error}")
        except TransientError as error:
            retry_at = error.retry_at or self.context.now + AFTER_FAILURE
            self.failed.append(TransientError(f"{account.label}: {error.message}", retry_at=retry_at))
        else:
            return reading, max(since, reading.since or since)
        return None

    async def _asked(self, account: BankAccount, place: Place, since: date) -> Reading:
        """What the bank itself says of its limit is kept, so that it is not asked before."""
        try:
            reading = await self.api.read(account, since)
        except RateLimited as error:
            self.cursor.places[account.key] = replace(place, wait_until=error.retry_at)
            raise
        if not reading.rows and any(day >= since for day in place.days):
            # a bank does not unbook everything
            raise TransientError("the bank lists nothing where it listed rows before", retry_at=self.context.now + PACE)
        return reading

    async def _admit(self, account: BankAccount, place: Place) -> None:
        now, access = self.context.now, self.context.access
        if place.wait_until is not None and now < place.wait_until:
            raise RateLimited("the bank allows no read before", retry_at=place.wait_until)
        await due(access, account.key, place.read_at, now)
        if problem := account.problem or await self.api.problem(account):
            raise AccountUnreadable(problem)
        await count(access, account.key)

    def _since(self, place: Place) -> date:
        """The first read goes back as far as the person wants, later ones to before the last, however long ago."""
        if place.until is not None:
            return place.until - OVERLAP
        return self._today() - timedelta(days=self.days)

    def _today(self) -> date:
        return local_day(self.context.now, self.context.zone)

    def _told(self, account: BankAccount, reading: Reading, since: date) -> Iterator[Page]:
        """The pages of one account, each with the cursor behind it."""
        place = self.cursor.places.get(account.key, Place())
        self.warnings += [f"{account.label}: {warning}" for warning in reading.warnings]
        rejected = self._new_rejected(reading.rejected)
        listing = Listing(
            account=account.name,
            on=self._today(),
            rows=[Listed(row) for row in reading.rows],
            since=_covered(since, place, reading),
            is_whole=not rejected,  # what became unreadable is not gone
            balance=_new_balance(place, reading),
        )
        if listing.balance is not None:
            place = replace(place, balance=str(listing.balance.amount))
        for told in self.cursor.ledger.take(self.context.account, listing, self.page_rows):
            self.warnings += told.warnings
            if told.upserts or told.deletes:
                yield self._page(rejected, told.upserts, told.deletes)
                rejected = []
        self._note(account, place, reading)
        if rejected:
            yield self._page(rejected)

    def _page(
        self, rejected: Sequence[Rejected], upserts: Sequence[Upsert] = (), deletes: Sequence[Delete] = ()
    ) -> Page:
        self.cursor.refused += [each.where for each in rejected]
        return Page(
            upserts=tuple(upserts),
            deletes=tuple(deletes),
            rejected=tuple(rejected),
            next_cursor=self.cursor.dump(),
            consent_expires_at=self.expires_at,
        )

    def _new_rejected(self, rejected: Sequence[Rejected]) -> list[Rejected]:
        told = set(self.cursor.refused)
        return list({each.where: each for each in rejected if each.where not in told}.values())

    def _note(self, account: BankAccount, place: Place, reading: Reading) -> None:
        first = self._today() - OVERLAP
        days = sorted({*place.days, *(row.booked_on for row in reading.rows if not row.pending)})
        self.cursor.places[account.key] = Place(
            read_at=self.context.now,
            until=self._today(),
            wait_until=reading.wait_until,
            balance=place.balance,
            days=tuple(day for day in days if day >= first)[-DAYS_KEPT:],
        )


def _covered(since: date, place: Place, reading: Reading) -> date:
    """From when on the answer is whole. A bank that gives fewer days than it was asked for begins later, which shows
    when it lacks days that an earlier read had."""
    oldest = min((row.booked_on for row in reading.rows), default=since)
    is_short = any(since <= day < oldest for day in place.days)
    return oldest if is_short else since


def _new_balance(place: Place, reading: Reading) -> Balance | None:
    """None for one that says nothing new, and for one that closes a day before the newest rows: it could not be held
    against them."""
    balance = reading.balance
    if balance is None or str(balance.amount) == place.balance:
        return None
    is_older = any(row.booked_on > balance.as_of for row in reading.rows if not row.pending)
    return None if reading.is_closing and is_older else balance
