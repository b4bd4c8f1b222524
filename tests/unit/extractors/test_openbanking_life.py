"""The life of a consent and of the payments behind it, at both services: what the poll agent makes of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from extractors.connector import Access
from extractors.testing import Poll, context_for, poll
from schemas.account import AccountState
from schemas.clock import ManualClock
from schemas.errors import AuthError, RateLimited, TransientError
from schemas.event import Event
from schemas.record import PollDue, Record
from streams import topics
from streams.accounts import accounts, cursors
from streams.codec import decode, encode
from streams.poll import PollAgent, PollDeps
from streams.testing import MemoryLog, batch_of
from streams.work import Output
from tests.standins import enablebanking, gocardless
from tests.standins.openbanking import OTHER, AtEnableBanking, AtGoCardless, World, noon


@pytest.fixture(params=[AtEnableBanking, AtGoCardless], ids=["enablebanking", "gocardless"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    made: World = request.param()
    with made.service:
        yield made
    assert made.service.violations == []


class Service:
    """The poll agent with one account of that bank, on a log in memory."""

    def __init__(self, world: World, now: datetime) -> None:
        self.world = world
        self.log = MemoryLog()
        self.clock = ManualClock(now)
        name = world.connector.name
        self.agent = PollAgent(
            PollDeps(
                self.log,
                accounts(self.log),
                cursors(self.log),
                {name: world.connector},
                ZoneInfo("Europe/Berlin"),
                self.clock,
                random.Random(1),
                access=self._access,
            )
        )
        state = AccountState(
            id="giro", owner="nora", connector=name, created_at=now, config=world.config.model_dump(mode="json")
        )
        asyncio.run(self.log.append([accounts(self.log).output(state)]))

    def _access(self, account: AccountState, asked: bool) -> AbstractAsyncContextManager[Access]:
        self.world.key.asked = asked
        return self.world.key.open(self.clock.now())

    def poll(self, now: datetime, *, asked: bool = False) -> AccountState:
        return asyncio.run(self._poll(now, asked))

    async def _poll(self, now: datetime, asked: bool) -> AccountState:
        self.clock.advance_to(now)
        self.world.at(now)
        due = PollDue(account="giro", due_at=now, reason="asked" if asked else "timer")
        await self.log.append([Output(topics.POLLS, b"giro", encode(due))])
        await self.agent.assigned(0)
        await self.agent.handle(batch_of(self.log.entries(topics.POLLS)[-1:]))
        fold = accounts(self.log)
        await fold.refresh()
        state = fold.get("giro")
        assert state is not None
        return state

    def records(self) -> list[Record]:
        return [decode(Record, entry.value or b"") for entry in self.log.entries(topics.RECORDS)]

    def events(self) -> list[str]:
        return [decode(Event, entry.value or b"").kind for entry in self.log.entries(topics.EVENTS)]


def test_a_consent_ends_is_given_again_and_the_gap_is_filled_without_telling_twice(world: World) -> None:
    for number in range(4):
        world.book(number)
    world.link(noon(5), days=20)
    service = Service(world, noon(5))
    state = service.poll(noon(5))
    assert state.status == "active"
    assert state.consent_expires_at == noon(25)
    assert "account.consent_expiring" not in service.events()
    world.book(12)
    service.poll(noon(13))
    service.poll(noon(14))
    assert service.events().count("account.consent_expiring") == 1
    before = [record.native_id for record in service.records()]
    for number in (26, 30, 40):
        world.book(number)
    for number in (27, 28, 41):
        state = service.poll(noon(number))
        assert state.status == "needs_reauth"
        assert "consent" in state.reason
    assert service.events().count("account.needs_reauth") == 1
    assert [record.native_id for record in service.records()] == before
    world.link(noon(45))
    state = service.poll(noon(45))
    assert state.status == "active"
    assert state.consent_expires_at == noon(135)
    assert service.events().count("account.recovered") == 1
    added = service.records()[len(before) :]
    assert len(added) == 3
    assert all(record.is_new and record.op == "upsert" for record in added)
    assert not {record.native_id for record in added} & set(before)


def test_a_day_of_polls_spends_three_reads_and_leaves_one_to_the_person(world: World) -> None:
    world.allow(4)
    world.book(1)
    world.link(noon(3))
    service = Service(world, noon(4))
    start = noon(4)
    for quarter in range(4 * 24):
        state = service.poll(start + timedelta(minutes=15 * quarter))
        assert state.status == "active"
    assert world.reads() == 2 * 3
    evening = start + timedelta(hours=23, minutes=50)
    world.book(3)
    service.poll(evening, asked=True)
    assert world.reads() == 2 * 4
    assert len(service.records()) == 2
    state = service.poll(evening + timedelta(minutes=1), asked=True)
    assert world.reads() == 2 * 4
    assert state.status == "active"
    service.poll(start + timedelta(hours=49))
    assert world.reads() == 2 * 5


def polled(world: World, number: int, cursor: object = None, *, asked: bool = True, hours: int = 0) -> Poll:
    now = noon(number) + timedelta(hours=hours)
    world.at(now)
    world.key.asked = asked
    return poll(world.connector, world.config, cursor, context_for(now), key=world.key)  # type: ignore[arg-type]


def test_a_bank_that_refuses_more_reads_is_asked_later_and_is_no_error_of_the_account(world: World) -> None:
    world.book(1)
    world.link(noon(3))
    first = polled(world, 4)
    world.allow(1)
    refused = polled(world, 4, first.cursor, hours=9)
    assert isinstance(refused.error, RateLimited)
    assert refused.error.retry_at is not None
    assert noon(4) + timedelta(hours=9) < refused.error.retry_at <= noon(5) + timedelta(hours=9)
    assert refused.cursor == first.cursor
    assert polled(world, 5, first.cursor, hours=10).error is None


def test_a_revoked_consent_says_what_to_do(world: World) -> None:
    world.book(1)
    world.link(noon(3), days=1)
    result = polled(world, 6)
    assert isinstance(result.error, AuthError)
    assert result.error.remedy == "link the bank again"


def test_a_bank_that_is_not_linked_says_so(world: World) -> None:
    result = polled(world, 1)
    assert isinstance(result.error, AuthError)
    assert "not linked" in str(result.error)


def test_a_pending_payment_that_is_booked_under_another_id_is_one_payment(world: World) -> None:
    world.announce(1, transactionId="auth-774411")
    world.link(noon(1))
    first = polled(world, 2)
    (seen,) = first.upserts
    _clear(world)
    world.book(2, transactionId="book-991122", creditorName="Shop 1", transactionAmount=_eur("-11.50"))
    second = polled(world, 4, first.cursor)
    (booked,) = second.upserts
    (gone,) = second.deletes
    assert gone.native_id == seen.native_id
    assert b'"replaces":"' + seen.native_id.encode() in booked.raw
    third = polled(world, 6, second.cursor)
    assert (third.upserts, third.deletes, third.error) == ([], [], None)


def test_ids_that_are_blank_positional_or_new_each_time_double_nothing(world: World) -> None:
    same = {"creditorName": "Cafe Rosa", "remittanceInformationUnstructured": "Espresso"}
    world.book(3, transactionId=f"{_day_of(3)}.0", **same)
    world.book(3, transactionId=f"{_day_of(3)}.1", **same)
    world.book(2, transactionId=None)
    world.book(1, transactionId="first-114455")
    world.link(noon(3))
    first = polled(world, 4)
    assert len({upsert.native_id for upsert in first.upserts}) == 4
    _clear(world)
    world.book(4, transactionId=f"{_day_of(4)}.0")
    world.book(3, transactionId=f"{_day_of(3)}.1", **same)
    world.book(3, transactionId=f"{_day_of(3)}.2", **same)
    world.book(2, transactionId=None)
    world.book(1, transactionId="other-667788")
    second = polled(world, 5, first.cursor)
    assert len(second.upserts) == 1
    assert second.upserts[0].is_new
    assert second.deletes == []


def test_a_pending_payment_that_never_comes_is_taken_back(world: World) -> None:
    world.book(1)
    world.announce(2)
    world.link(noon(1))
    first = polled(world, 3)
    world.withdraw(2)
    second = polled(world, 4, first.cursor)
    assert len(second.deletes) == 1
    assert second.upserts == []


def test_an_account_that_cannot_be_read_does_not_keep_the_other_from_it(world: World) -> None:
    world.book(1)
    world.book(1, OTHER)
    _break(world)
    world.link(noon(1))
    result = polled(world, 3)
    assert result.error is None
    assert len(result.upserts) == 1
    assert len(result.warnings) == 1
    assert "is not read" in result.warnings[0]
    assert world.reads() == 1


def test_an_account_that_fails_does_not_spend_the_reads_of_the_other(world: World) -> None:
    world.book(1)
    world.book(1, OTHER)
    world.link(noon(1))
    world.service.arm("500", after=3 if isinstance(world, AtEnableBanking) else 5)
    first = polled(world, 3, asked=False)
    assert isinstance(first.error, TransientError)
    assert len(first.upserts) == world.reads() == 1
    second = polled(world, 3, first.cursor, asked=False, hours=1)
    assert second.error is None
    assert len(second.upserts) == 1
    assert world.reads() == 2


def test_a_balance_that_closes_an_earlier_day_waits_until_it_can_be_compared(world: World) -> None:
    world.book(1)
    world.link(noon(1))
    _balance(world, 1, "100.00")
    first = polled(world, 2)
    world.book(3)
    _balance(world, 2, "90.00")
    second = polled(world, 3, first.cursor)
    assert len(second.upserts) == 1
    _balance(world, 4, "90.00")
    third = polled(world, 5, second.cursor)
    assert [upsert.native_id.partition(":")[0] for upsert in third.upserts] == ["balance"]


def test_an_account_may_be_left_out(world: World) -> None:
    world.book(1)
    world.book(1, OTHER)
    world.link(noon(1))
    config = world.config.model_copy(update={"skip": (OTHER[-4:],)})
    world.at(noon(3))
    result = poll(world.connector, config, None, context_for(noon(3)), key=world.key)
    assert len(result.upserts) == 1
    assert world.reads() == 1


def test_a_read_that_was_cut_off_may_be_repeated_at_once(world: World) -> None:
    world.book(1)
    world.link(noon(1))
    world.service.arm("cut", after=1 if isinstance(world, AtEnableBanking) else 2)
    assert polled(world, 3, asked=False).error is not None
    repeated = polled(world, 3, asked=False, hours=1)
    assert repeated.error is None
    assert len(repeated.upserts) == 1
    assert isinstance(polled(world, 3, repeated.cursor, asked=False, hours=2).error, RateLimited)


def test_a_balance_that_moved_is_told_once(world: World) -> None:
    world.book(1)
    world.link(noon(1))
    _balance(world, 1, "100.00")
    first = polled(world, 2)
    assert sum(upsert.native_id.startswith("balance:") for upsert in first.upserts) == 1
    world.book(3)
    _balance(world, 3, "86.50")
    second = polled(world, 4, first.cursor)
    assert len(second.upserts) == 2
    assert b'"consistent":true' in next(u.raw for u in second.upserts if u.native_id.startswith("balance:"))
    assert second.warnings == []
    _balance(world, 5, "86.50")
    assert polled(world, 6, second.cursor).upserts == []


def test_a_balance_that_the_rows_do_not_lead_to_is_a_warning(world: World) -> None:
    world.book(1)
    world.link(noon(1))
    _balance(world, 1, "100.00")
    first = polled(world, 2)
    _balance(world, 3, "55.00")
    second = polled(world, 4, first.cursor)
    assert any("is off by" in warning for warning in second.warnings)


def _eur(amount: str) -> dict[str, str]:
    return {"amount": amount, "currency": "EUR"}


def _day_of(number: int) -> str:
    return noon(number).date().isoformat()


def _clear(world: World) -> None:
    if isinstance(world, AtEnableBanking):
        for account in world.service.accounts.values():
            account.rows.clear()
    elif isinstance(world, AtGoCardless):
        for kept in world.service.accounts.values():
            kept.booked.clear()
            kept.pending.clear()


def _break(world: World) -> None:
    """The other account is closed to us at the bank, or suspended at the service."""
    if isinstance(world, AtEnableBanking):
        next(each for each in world.service.accounts.values() if each.iban == OTHER).blocked = True
    elif isinstance(world, AtGoCardless):
        world.service.accounts[OTHER].status = "SUSPENDED"


def _balance(world: World, number: int, amount: str) -> None:
    if isinstance(world, AtEnableBanking):
        account = next(iter(world.service.accounts.values()))
        account.balances = [enablebanking.closing(noon(number).date(), amount)]
    elif isinstance(world, AtGoCardless):
        first = next(iter(world.service.accounts.values()))
        first.balances = [gocardless.closing(noon(number).date(), amount)]
