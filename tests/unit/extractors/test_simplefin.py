"""SimpleFIN against a server on this machine whose every answer is held against the published text."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from extractors.simplefin import SimpleFin
from extractors.simplefin.api import door
from extractors.simplefin.config import SimpleFinConfig
from extractors.testing import START, ConnectorContract, Key, Poll, context_for, events_of, poll, records_of
from extractors.testing.faults import fault_machine
from extractors.testing.standin import Reply
from schemas.errors import AuthError, RateLimited, TransientError
from schemas.event import Event
from schemas.payloads import BalancePayload, BankPayload
from tests.standins.simplefin import FakeSimpleFin, SimpleFinSource, stamp, transaction

TODAY = START.date()
CONFIG = SimpleFinConfig(history_days=60)
CASES = Path(__file__).parents[2] / "cases" / "bank"


class TestSimpleFinContract(ConnectorContract):
    connector = SimpleFin(page_rows=2, pause=timedelta(0))

    @pytest.fixture(autouse=True)
    def _close_sources(self) -> Iterator[None]:
        self.opened: list[SimpleFinSource] = []
        yield
        for source in self.opened:
            source.close()

    def source(self, folder: Path) -> SimpleFinSource:
        found = SimpleFinSource()
        self.opened.append(found)
        return found


TestSimpleFinFaults = fault_machine(
    SimpleFinSource, SimpleFin(page_rows=2, pause=timedelta(0)), examples=12, steps=10
).TestCase


@pytest.fixture
def bank() -> Iterator[FakeSimpleFin]:
    with FakeSimpleFin() as found:
        yield found
    assert found.violations == []


def key_of(bank: FakeSimpleFin) -> Key:
    return Key({"access_url": bank.access_url})


def look(
    bank: FakeSimpleFin, key: Key | None = None, before: Poll | None = None, *, day: int = 0, **config: Any
) -> Poll:
    settings = CONFIG.model_copy(update=config)
    context = context_for(START + timedelta(days=day))
    return poll(SimpleFin(), settings, before.cursor if before else None, context, key=key or key_of(bank))


def events(*polls: Poll) -> list[Event]:
    changes = [change for each in polls for change in (*each.upserts, *each.deletes)]
    found, poison = events_of(SimpleFin(), records_of(SimpleFin(), changes, context_for()), context_for())
    assert not poison
    return found


def moved(*polls: Poll) -> list[Event]:
    return [event for event in events(*polls) if isinstance(event.payload, BankPayload)]


def days_ago(days: int) -> date:
    return TODAY - timedelta(days=days)


def test_a_setup_token_is_claimed_once_and_then_forgotten(bank: FakeSimpleFin) -> None:
    bank.add_account("card-1")
    key = Key({"setup_token": bank.setup_token})
    assert check(key) == ["Card-1 (card-1): -120.50 USD"]
    assert key.secrets == {"setup_token": "", "access_url": bank.access_url}
    assert check(key) == ["Card-1 (card-1): -120.50 USD"]
    assert [asked.method for asked in bank.asked] == ["POST", "GET", "GET"]


def check(key: Key) -> list[str]:
    async def run() -> list[str]:
        context = context_for()
        async with key.open(context.now) as access:
            return list(await SimpleFin().check(CONFIG, replace(context, access=access)))

    return asyncio.run(run())


def test_a_setup_token_that_somebody_else_claimed_is_told_as_a_danger(bank: FakeSimpleFin) -> None:
    bank.claims.clear()
    with pytest.raises(AuthError, match="perhaps by somebody else; disable it"):
        check(Key({"setup_token": bank.setup_token}))


@pytest.mark.parametrize("decoded", [b"", b"no address", b"ftp://example.org/claim", b"\xff"])
def test_what_is_no_setup_token_is_refused(decoded: bytes) -> None:
    with pytest.raises(AuthError):
        check(Key({"setup_token": base64.b64encode(decoded).decode()}))


@pytest.mark.parametrize(
    "url",
    ["", "https://example.org/simplefin", "http://demo:secret@example.org/simplefin", "https://demo:@example.org"],
)
def test_an_access_url_has_a_password_and_is_encrypted(url: str) -> None:
    with pytest.raises(AuthError) as caught:
        door(url)
    assert "secret" not in str(caught.value)


def test_an_account_that_was_never_connected_asks_a_person(bank: FakeSimpleFin) -> None:
    assert isinstance(look(bank, Key()).error, AuthError)


def test_the_case_of_a_row_that_is_not_posted(bank: FakeSimpleFin) -> None:
    case = json.loads((CASES / "b18_simplefin.json").read_text("utf-8"))
    expected = json.loads((CASES / "b18_simplefin.expected.json").read_text("utf-8"))
    (account,) = case["accounts"]
    bank.accounts["card-1"] = {**account, "conn_id": "CON-1"}
    found = [
        {
            "amount": f"{event.amount.amount}",
            "currency": event.amount.currency,
            "booked": event.occurred_at.astimezone(context_for().zone).date().isoformat(),
            "id": event.payload.native_id,
            "pending": event.payload.pending,
        }
        for event in moved(look(bank))
        if event.amount and isinstance(event.payload, BankPayload)
    ]
    assert sorted(found, key=lambda row: row["id"]) == expected["transactions"]
    assert expected["no_date"] not in json.dumps(found)


def test_history_is_read_in_windows_of_ninety_days_that_meet(bank: FakeSimpleFin) -> None:
    rows = bank.add_account()
    rows += [transaction(f"T{n}", days_ago(n), f"-{n}.00") for n in (0, 89, 90, 91, 179, 180, 181, 199)]
    assert len(moved(look(bank, history_days=200))) == 8
    windows = [(int(a.query["start-date"]), int(a.query.get("end-date", 0))) for a in bank.asked]
    assert windows == [
        (stamp(days_ago(200)), stamp(days_ago(110))),
        (stamp(days_ago(110)), stamp(days_ago(89))),
        (stamp(days_ago(89)), 0),
    ]


def test_each_poll_looks_two_weeks_back_and_as_far_as_a_row_waits(bank: FakeSimpleFin) -> None:
    rows = bank.add_account()
    rows.append(transaction("T1", days_ago(1), "-1.00"))
    first = look(bank)
    rows.append(transaction("T2", days_ago(14), "-2.00", "Garage", pending=True))
    second = look(bank, None, first, day=1)
    third = look(bank, None, second, day=9)
    look(bank, None, third, day=40)
    starts = [int(asked.query["start-date"]) for asked in bank.asked]
    assert starts == [stamp(days_ago(each)) for each in (60, 14, 14, 5)]


def test_a_pending_row_that_is_posted_under_another_id_is_one_movement(bank: FakeSimpleFin) -> None:
    rows = bank.add_account()
    rows.append(transaction("TRN-1", days_ago(3), "-45.00", pending=True))
    first = look(bank)
    rows[:] = [transaction("TRN-9", days_ago(1), "-45.00", "HOTEL BELLEVUE 0423")]
    second = look(bank, None, first, day=1)
    assert [event.kind for event in moved(first, second)] == ["bank.pending", "bank.posted", "bank.removed"]
    pending, posted, removed = moved(first, second)
    assert pending.subject == removed.subject
    assert {event.matter for event in (pending, posted, removed)} == {f"bank:{pending.subject}"}
    assert look(bank, None, second, day=2).upserts == []


def test_a_pending_row_without_any_day_keeps_the_day_on_which_it_was_seen(bank: FakeSimpleFin) -> None:
    rows = bank.add_account()
    rows.append({"id": "TRN-1", "posted": 0, "amount": "-45.00", "description": "HOTEL", "pending": True})
    first = look(bank)
    (event,) = moved(first)
    assert event.occurred_at.astimezone(context_for().zone).date() == TODAY
    assert look(bank, None, first, day=3).upserts == []


def test_what_the_server_says_went_wrong_is_told_and_removes_nothing(bank: FakeSimpleFin) -> None:
    card, giro = bank.add_account("card-1"), bank.add_account("giro", "EUR", "5.00")
    card.append(transaction("T1", days_ago(1), "-1.00", pending=True))
    giro.append(transaction("T2", days_ago(1), "-2.00", pending=True))
    first = look(bank)
    card.clear()
    giro.clear()
    bank.errlist = [{"code": "act.missingdata", "msg": "Try <b>again</b>\u202e later", "account_id": "card-1"}]
    second = look(bank, None, first, day=1)
    assert second.warnings == ["the SimpleFIN server says: Try <b>again</b> later"]
    assert [event.amount.currency for event in moved(second) if event.amount] == ["EUR"]
    bank.errlist = []
    assert len(look(bank, None, second, day=2).deletes) == 1


def test_errors_of_version_one_hold_for_all_accounts(bank: FakeSimpleFin) -> None:
    rows = bank.add_account()
    rows.append(transaction("T1", days_ago(1), "-1.00", pending=True))
    first = look(bank)
    rows.clear()
    bank.is_odd = True
    answered = bank.answer

    def old(asked: Any) -> Any:
        reply = answered(asked)
        document = json.loads(reply.body)
        return type(reply).of({"errors": ["Bank is slow today"], "accounts": document["accounts"]})

    bank.answer = old  # type: ignore[method-assign]
    second = look(bank, None, first, day=1)
    assert second.warnings == ["the SimpleFIN server says: Bank is slow today"]
    assert second.deletes == []


def test_a_bank_that_wants_a_login_is_for_a_person_only_when_no_account_is_whole(bank: FakeSimpleFin) -> None:
    bank.add_account().append(transaction("T1", days_ago(1), "-1.00"))
    bank.errlist = [{"code": "con.auth", "msg": "Log in again", "conn_id": "CON-1"}]
    assert isinstance(look(bank).error, AuthError)
    bank.errlist = [{"code": "con.auth", "msg": "Log in again", "conn_id": "CON-2"}]
    partly = look(bank)
    assert partly.error is None
    assert partly.warnings == ["the SimpleFIN server says: Log in again"]


REFUSALS = [(402, AuthError), (403, AuthError), (404, AuthError), (503, TransientError)]


@pytest.mark.parametrize(("status", "error"), REFUSALS)
def test_refusals_are_translated(bank: FakeSimpleFin, status: int, error: type[Exception]) -> None:
    bank.add_account()
    bank.status = status
    found = look(bank)
    assert isinstance(found.error, error)
    assert "s%" not in str(found.error)


@pytest.mark.parametrize("document", ["[]", "{}", '{"accounts": 7}', '{"accounts": [7]}', "null"])
def test_what_is_no_account_set_says_nothing(bank: FakeSimpleFin, document: str) -> None:
    bank.is_odd = True
    bank.answer = lambda asked: Reply(200, document.encode())  # type: ignore[method-assign]
    found = look(bank)
    assert isinstance(found.error, TransientError)
    assert found.cursor is None


def test_polls_are_spread_over_the_day_unless_a_person_asks(bank: FakeSimpleFin) -> None:
    bank.add_account()
    key = key_of(bank)
    last = Poll()
    for minute in range(0, 24 * 60, 5):
        last = poll(SimpleFin(), CONFIG, last.cursor, context_for(START + timedelta(minutes=minute)), key=key)
        assert last.error is None
    assert len(bank.asked) == 23
    key.asked = True
    now = context_for(START + timedelta(minutes=24 * 60 - 5))
    assert poll(SimpleFin(), CONFIG, last.cursor, now, key=key).error is None
    assert len(bank.asked) == 24


def test_a_day_has_twenty_four_calls_of_which_one_is_the_persons(bank: FakeSimpleFin) -> None:
    bank.add_account()
    key = key_of(bank)
    polls = [look(bank, key) for _ in range(24)]
    assert [each.error is None for each in polls] == [True] * 23 + [False]
    assert isinstance(polls[-1].error, RateLimited)
    assert polls[-1].error.retry_at == START + timedelta(days=1)
    key.asked = True
    assert look(bank, key).error is None


def test_a_row_that_cannot_be_read_is_told_once_and_is_not_taken_for_gone(bank: FakeSimpleFin) -> None:
    rows = bank.add_account()
    rows.append(transaction("T1", days_ago(1), "-1.00", pending=True))
    first = look(bank)
    bank.is_odd = True
    rows[0]["amount"] = "a lot"
    second = look(bank, None, first, day=1)
    assert [(each.where, each.code) for each in second.rejected] == [("Card-1: transaction T1", "malformed")]
    assert second.deletes == []
    third = look(bank, None, second, day=2)
    assert (third.rejected, third.deletes) == ([], [])


def test_points_are_no_money_and_ignored_accounts_are_not_watched(bank: FakeSimpleFin) -> None:
    for key, currency in (("miles", "https://example.org/miles"), ("giro", "EUR"), ("old", "EUR")):
        bank.add_account(key, currency, "10.00").append(transaction("T1", days_ago(1), "-1.00"))
    found = look(bank, ignored=("old",))
    assert [event.payload.bank_account for event in moved(found) if isinstance(event.payload, BankPayload)] == ["giro"]
    assert found.warnings == ["Miles holds no money but points: it is passed over"]


def test_a_loan_may_be_turned(bank: FakeSimpleFin) -> None:
    bank.add_account("loan", "EUR", "9000.00").append(transaction("T1", days_ago(1), "250.00"))
    found = events(look(bank, turned=("loan",)))
    assert sorted(str(event.amount) for event in found) == ["-250.00 EUR", "-9000.00 EUR"]


def test_one_id_at_two_banks_is_two_accounts(bank: FakeSimpleFin) -> None:
    bank.add_account("giro").append(transaction("T1", days_ago(1), "-1.00"))
    bank.add_account("other").append(transaction("T1", days_ago(1), "-1.00"))
    bank.accounts["other"] |= {"id": "giro", "conn_id": "CON-2"}
    accounts = {event.payload.bank_account for event in moved(look(bank)) if isinstance(event.payload, BankPayload)}
    assert accounts == {"CON-1/giro", "CON-2/giro"}


def test_an_account_that_joins_later_has_its_history_read(bank: FakeSimpleFin) -> None:
    bank.add_account("card-1").append(transaction("T1", days_ago(1), "-1.00"))
    first = look(bank)
    bank.add_account("giro", "EUR").append(transaction("T2", days_ago(50), "-2.00"))
    second = look(bank, None, first, day=1)
    third = look(bank, None, second, day=2)
    assert len(moved(second)) == 0
    assert len(moved(third)) == 1
    assert look(bank, None, third, day=3).upserts == []
    assert int(bank.asked[-1].query["start-date"]) == stamp(days_ago(12))


def test_a_balance_is_held_against_the_rows(bank: FakeSimpleFin) -> None:
    rows = bank.add_account("giro", "EUR", "100.00")
    rows.append(transaction("T1", days_ago(1), "-1.00"))
    first = look(bank)
    rows.append(transaction("T2", TODAY, "-10.00"))
    bank.accounts["giro"] |= {"balance": "80.00", "balance-date": stamp(TODAY)}
    second = look(bank, None, first, day=1)
    balances = [event.payload for event in events(first, second) if isinstance(event.payload, BalancePayload)]
    assert [each.consistent for each in balances] == [None, False]
    said = "account giro: the balance of 2026-03-02 is off by -10.00 EUR from the rows since 2026-01-12"
    assert second.warnings == [said]
