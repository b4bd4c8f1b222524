"""Plaid against a stand-in whose every exchange is held against the published description."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from extractors.connector import Context
from extractors.consent import Consent
from extractors.plaid import Plaid
from extractors.plaid.config import PlaidConfig
from extractors.testing import START, ConnectorContract, Key, Poll, context_for, events_of, poll, records_of
from extractors.testing.faults import fault_machine
from extractors.testing.standin import Reply
from schemas.errors import AuthError, RateLimited, TransientError
from schemas.event import Event
from schemas.payloads import BalancePayload, BankPayload
from tests.standins.plaid import SECRETS, FakePlaid, PlaidSource, account, refusal, transaction
from tests.standins.plaid_contract import is_here, prepare

CASES = Path(__file__).parents[2] / "cases" / "bank"
TODAY = START.date()


class TestPlaidContract(ConnectorContract):
    connector = Plaid(page_rows=2)

    @pytest.fixture(autouse=True)
    def _close_sources(self) -> Iterator[None]:
        self.opened: list[PlaidSource] = []
        yield
        for source in self.opened:
            source.close()

    def source(self, folder: Path) -> PlaidSource:
        found = PlaidSource()
        self.opened.append(found)
        return found


TestPlaidFaults = fault_machine(PlaidSource, Plaid(page_rows=2), examples=12, steps=10).TestCase


@pytest.fixture
def bank() -> Iterator[FakePlaid]:
    with FakePlaid() as found:
        yield found
    assert found.violations == []


@pytest.mark.skipif(not is_here(), reason="Plaid's description is beside the repository, and it is not there")
def test_the_contract_is_read_and_can_fail(bank: FakePlaid) -> None:
    look(bank)
    assert bank.violations == []
    bank.put("added", {**transaction("t1", 1.0), "amount": "one"})
    look(bank)
    assert [each.partition(":")[0] for each in bank.violations] == ["TransactionsSyncResponse"]
    bank.violations.clear()


def look(bank: FakePlaid, before: Poll | None = None, *, day: int = 0, key: Key | None = None, **config: Any) -> Poll:
    settings = PlaidConfig.model_validate({"url": bank.url, **config})
    context = context_for(START + timedelta(days=day))
    cursor = before.cursor if before else None
    return poll(Plaid(), settings, cursor, context, key=key or Key(dict(SECRETS)))


def events(*polls: Poll) -> list[Event]:
    changes = [change for each in polls for change in (*each.upserts, *each.deletes)]
    found, poison = events_of(Plaid(), records_of(Plaid(), changes, context_for()), context_for())
    assert not poison
    return found


def moved(*polls: Poll) -> list[tuple[Event, BankPayload]]:
    return [(event, event.payload) for event in events(*polls) if isinstance(event.payload, BankPayload)]


def case(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return tuple(json.loads((CASES / f"{name}{end}.json").read_text("utf-8")) for end in ("", ".expected"))  # type: ignore[return-value]


def answer(page: Mapping[str, Any]) -> Reply:
    rows = {name: [{**transaction("", 0.0), **row} for row in page[name]] for name in ("added", "modified")}
    return Reply.of(
        {**page, **rows, "accounts": [account()], "request_id": "r1"}
        | {"transactions_update_status": "HISTORICAL_UPDATE_COMPLETE"}
    )


def held(*polls: Poll) -> dict[str, dict[str, Any]]:
    """The rows that the account has in the end, by the bank's id."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for event, payload in moved(*polls):
        row = {
            "amount": f"{event.amount.amount}" if event.amount else "",
            "currency": event.amount.currency if event.amount else "",
            "booked": event.occurred_at.astimezone(context_for().zone).date().isoformat(),
            "pending": payload.pending,
            "id": payload.native_id,
            "name": payload.counterparty,
            "replaces": payload.replaces,
        }
        if event.op == "retract":
            found.pop(event.subject, None)
        else:
            found[event.subject] = event.subject, row
    return {row["id"]: row for _, row in found.values()}


@pytest.mark.parametrize("is_one_poll", [True, False])
def test_the_case_of_a_pending_row_that_is_posted(bank: FakePlaid, is_one_poll: bool) -> None:
    given, expected = case("b15_plaid_pending_to_posted")
    pages = [answer(page) for page in given["pages"]]
    if is_one_poll:
        bank.script = pages
        polls = [look(bank)]
    else:
        bank.script = [answer({**given["pages"][0], "has_more": False})]
        polls = [look(bank)]
        bank.script = pages[1:]
        polls.append(look(bank, polls[0], day=1))
    found = held(*polls)
    pending = [event.subject for event, payload in moved(*polls) if payload.native_id == "p1"]
    for row in expected["transactions"]:
        wanted = {name: value for name, value in row.items() if name != "replaces"}
        assert wanted.items() <= found[row["id"]].items()
    assert len(found) == len(expected["transactions"])
    assert polls[-1].cursor["at"] == expected["stored_cursor"]  # type: ignore[index,call-overload]
    cafe = [event for event, payload in moved(*polls) if payload.counterparty == "Cafe Uno"]
    assert len({event.matter for event in cafe}) == expected["alerts_for_cafe"]
    if pending:
        assert found["q1"]["replaces"] == pending[0]


def test_the_case_of_data_that_changes_under_the_loop(bank: FakePlaid) -> None:
    given, expected = case("b16_plaid_mutation")
    bank.script = [answer({"added": [], "modified": [], "removed": [], "next_cursor": "c0", "has_more": False})]
    first = look(bank)
    for step in given["script"]:
        if "ok" in step:
            bank.script.append(answer(step["ok"]))
        else:
            error = step["error"]
            bank.script.append(refusal(error["error_code"], error["error_type"], error["status"]))
    second = look(bank, first)
    assert bank.cursors[1:] == expected["requests_with_cursor"]
    assert second.cursor["at"] == expected["stored_cursor"]  # type: ignore[index,call-overload]
    assert sorted(held(second)) == expected["transactions"]
    assert (second.error is not None) == expected["user_visible_error"]


def test_a_booking_without_a_link_is_matched_by_amount_and_merchant(bank: FakePlaid) -> None:
    pending = transaction("p1", 12.5, pending=True)
    bank.put("added", pending)
    first = look(bank)
    bank.remove(pending)
    bank.put("added", transaction("q1", 12.5, "CAFE UNO 0423 LISBOA", TODAY + timedelta(days=2)))
    second = look(bank, first, day=2)
    assert [event.kind for event, _ in moved(first, second)] == ["bank.pending", "bank.posted", "bank.removed"]
    assert len({event.matter for event, _ in moved(first, second)}) == 1


def test_a_lost_place_lists_everything_and_tells_only_what_is_new(bank: FakePlaid) -> None:
    rows = [transaction(f"t{n}", n + 0.5, f"Shop {n}") for n in range(4)]
    for row in rows:
        bank.put("added", row)
    first = look(bank)
    bank.remove(rows[0])
    bank.put("added", transaction("t9", 9.5, "Shop 9"))
    bank.epoch += 1
    second = look(bank, first)
    assert [payload.native_id for event, payload in moved(second)] == ["t9", "t0"]
    assert all(page.reset for page in second.pages)
    assert look(bank, second).upserts == []


def test_a_place_from_which_no_loop_ends_is_given_up(bank: FakePlaid) -> None:
    bank.put("added", transaction("t1", 1.5))
    first = look(bank)
    bank.script = [refusal("TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION", "TRANSACTIONS_ERROR")] * 3
    second = look(bank, first)
    assert second.error is None
    assert bank.cursors[-1] == ""
    assert second.upserts == []


def test_a_bank_that_is_linked_anew_under_other_ids_raises_nothing_again(bank: FakePlaid) -> None:
    rows = [transaction(f"t{n}", n + 0.5, f"Shop {n}", TODAY - timedelta(days=n)) for n in range(3)]
    for row in rows:
        bank.put("added", row)
    first = look(bank)
    bank.log.clear()
    bank.accounts = [account("acc9")]
    for row in rows:
        bank.put("added", {**row, "account_id": "acc9", "transaction_id": row["transaction_id"].replace("t", "u")})
    bank.put("added", transaction("u9", 9.5, "Shop 9", account_id="acc9"))
    bank.epoch += 1
    second = look(bank, first)
    assert [(payload.native_id, payload.bank_account) for _, payload in moved(second)] == [("u9", "acc1")]


REFUSALS = [
    ("ITEM_LOGIN_REQUIRED", "ITEM_ERROR", 400, AuthError),
    ("INVALID_ACCESS_TOKEN", "INVALID_INPUT", 400, AuthError),
    ("INVALID_API_KEYS", "INVALID_INPUT", 400, AuthError),
    ("TRANSACTIONS_SYNC_LIMIT", "RATE_LIMIT_EXCEEDED", 429, RateLimited),
    ("INTERNAL_SERVER_ERROR", "API_ERROR", 500, TransientError),
    ("INSTITUTION_DOWN", "INSTITUTION_ERROR", 400, TransientError),
]


@pytest.mark.parametrize(("code", "kind", "status", "error"), REFUSALS)
def test_refusals_are_translated(bank: FakePlaid, code: str, kind: str, status: int, error: type[Exception]) -> None:
    bank.put("added", transaction("t1", 1.5))
    first = look(bank)
    bank.script = [refusal(code, kind, status)]
    second = look(bank, first)
    assert type(second.error) is error
    assert second.cursor == first.cursor
    assert not any(secret in str(second.error) for secret in SECRETS.values())
    if isinstance(second.error, RateLimited):
        assert second.error.retry_at == START + timedelta(minutes=1)


def test_an_item_that_wants_a_login_asks_a_person_even_when_rows_still_come(bank: FakePlaid) -> None:
    bank.item["error"] = json.loads(refusal("ITEM_LOGIN_REQUIRED").body)
    assert isinstance(look(bank).error, AuthError)


def test_the_end_of_a_consent_is_told_and_asked_for_once_a_day(bank: FakePlaid) -> None:
    bank.item["consent_expiration_time"] = "2026-05-30T10:00:00Z"
    first = look(bank)
    assert first.pages[-1].consent_expires_at == datetime(2026, 5, 30, 10, tzinfo=UTC)
    look(bank, first)
    look(bank, first, day=1)
    assert [asked.path for asked in bank.asked].count("/item/get") == 2


@pytest.mark.parametrize("code", ["PENDING_DISCONNECT", "PENDING_EXPIRATION"])
def test_a_connection_that_ends_in_a_week_is_told(bank: FakePlaid, code: str) -> None:
    bank.webhook = {"sent_at": "2026-03-01T10:00:00Z", "code_sent": code}
    found = look(bank)
    assert found.pages[-1].consent_expires_at == datetime(2026, 3, 8, 10, tzinfo=UTC)
    assert found.warnings == ["the bank will end this connection soon: connect the account again"]


def test_an_item_that_is_not_ready_is_asked_again(bank: FakePlaid) -> None:
    bank.script = [refusal("PRODUCT_NOT_READY")]
    first = look(bank)
    assert (first.error, first.cursor) == (None, None)
    bank.script = [answer({"added": [], "modified": [], "removed": [], "next_cursor": "", "has_more": False})]
    second = look(bank)
    bank.put("added", transaction("t1", 1.5))
    assert len(moved(look(bank, second))) == 1
    assert bank.cursors[-1] == ""


NO_END: list[dict[str, Any]] = [
    {"next_cursor": None},
    {"has_more": "yes"},
    {"added": None},
    {"removed": 7},
    {"next_cursor": "", "has_more": True},
]


@pytest.mark.parametrize("fault", NO_END)
def test_an_answer_that_says_no_end_moves_nothing(bank: FakePlaid, fault: dict[str, Any]) -> None:
    bank.is_odd = True
    page = json.loads(answer({"added": [], "modified": [], "removed": [], "next_cursor": "c1", "has_more": False}).body)
    bank.script = [Reply.of({**page, **fault})]
    found = look(bank)
    assert isinstance(found.error, TransientError)
    assert found.cursor is None


def test_a_page_that_comes_twice_ends_the_loop_and_moves_nothing(bank: FakePlaid) -> None:
    page = {"added": [], "modified": [], "removed": [], "has_more": True}
    bank.script = [answer({**page, "next_cursor": each}) for each in ("c1", "c2", "c1")]
    found = look(bank)
    assert isinstance(found.error, TransientError)
    assert found.cursor is None


def test_a_row_that_cannot_be_read_is_told_once(bank: FakePlaid) -> None:
    bank.is_odd = True
    bank.put("added", transaction("t1", 1.5))
    for key, fault in enumerate([{"amount": "a lot"}, {"date": "soon"}, {"iso_currency_code": None}, {"amount": None}]):
        bank.put("added", {**transaction(f"odd{key}", 1.5), **fault})
    bank.put("added", transaction("", 1.5))
    first = look(bank)
    assert len(first.rejected) == 5
    assert len(moved(first)) == 1
    bank.put("modified", {**transaction("odd0", 1.5), "amount": "a lot"})
    assert look(bank, first).rejected == []


def test_what_is_owed_on_a_card_is_a_negative_balance_that_its_rows_explain(bank: FakePlaid) -> None:
    bank.accounts = [account(current=100.0, type="credit", subtype="credit card")]
    bank.put("added", transaction("t1", 40.0))
    first = look(bank)
    bank.put("added", transaction("t2", 25.0))
    bank.accounts = [account(current=125.0, type="credit", subtype="credit card")]
    second = look(bank, first, day=1)
    balances = [event for event in events(first, second) if isinstance(event.payload, BalancePayload)]
    found = [(str(event.amount), event.payload.consistent) for event in balances]  # type: ignore[union-attr]
    assert found == [("-100.00 EUR", None), ("-125.00 EUR", True)]
    assert look(bank, second, day=2).upserts == []


def test_a_loop_that_was_cut_short_takes_back_what_was_undone_in_between(bank: FakePlaid) -> None:
    bank.put("added", transaction("t1", 1.5, "Shop"))
    first = look(bank)
    bank.put("added", transaction("t2", 2.5, "Other shop", TODAY - timedelta(days=1)))
    bank.put("added", transaction("t3", 3.5, "Third shop"))
    settings, key = PlaidConfig(url=bank.url), Key(dict(SECRETS))
    cut = poll(Plaid(page_rows=1), settings, first.cursor, context_for(), kill_after=1, key=key)
    assert [payload.native_id for _, payload in moved(cut)] == ["t2"]
    del bank.log[1]
    second = poll(Plaid(page_rows=1), settings, cut.cursor, context_for(), key=key)
    assert [(event.kind, payload.native_id) for event, payload in moved(second)] == [
        ("bank.posted", "t3"),
        ("bank.removed", "t2"),
    ]


KEYS = {"client_id": "6a1f", "secret": "s3cret"}
LINKS = ("/link/token/create", "/link/token/get", "/item/public_token/exchange", "/accounts/get", "/item/remove")


class Linked:
    """A person who connects, and how long we wait for Plaid. ``at_look``: when Plaid knows what they did."""

    def __init__(self, bank: FakePlaid, secrets: Mapping[str, str], at_look: int = 0) -> None:
        prepare(*LINKS)
        self.bank = bank
        self.key = Key(dict(secrets))
        self.waits: list[float] = []
        self.at_look = at_look
        self.plaid = Plaid(sleep=self._sleep)

    async def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        if len(self.waits) == self.at_look:
            self.bank.public_token = "public-1"

    def does(self, step: Callable[[PlaidConfig, Context], Awaitable[Any]]) -> Any:
        async def run() -> Any:
            context = context_for()
            async with self.key.open(context.now) as access:
                return await step(PlaidConfig(url=self.bank.url), replace(context, access=access))

        return asyncio.run(run())

    def begin(self) -> Consent:
        redirect = "http://127.0.0.1:8765/callback"
        return self.does(lambda config, context: self.plaid.begin(config, context, redirect=redirect, state="s1"))  # type: ignore[no-any-return]

    def finish(self) -> list[str]:
        return list(self.does(lambda config, context: self.plaid.finish(config, context, answer="")))


@pytest.mark.parametrize("allows_redirect", [True, False])
def test_a_person_logs_in_on_plaids_own_page(bank: FakePlaid, allows_redirect: bool) -> None:
    bank.allows_redirect = allows_redirect
    person = Linked(bank, KEYS, at_look=2)
    assert person.begin().url == "https://secure.plaid.example/hl/1"
    assert person.finish() == ["Giro (checking, ends in 0000)"]
    assert len(person.waits) == 2
    assert (person.key.secrets["access_token"], person.key.secrets["link_token"]) == ("access-1", "")
    asked = [each.json()["hosted_link"] for each in bank.asked if each.path == "/link/token/create"]
    landing = {"completion_redirect_uri": "http://127.0.0.1:8765/callback?state=s1"}
    assert asked == ([landing] if allows_redirect else [landing, {}])


def test_a_page_that_nobody_went_through_keeps_nothing(bank: FakePlaid) -> None:
    person = Linked(bank, KEYS)
    person.begin()
    with pytest.raises(AuthError, match="nobody logged in"):
        person.finish()
    assert "access_token" not in person.key.secrets
    with pytest.raises(AuthError, match="no page"):
        Linked(bank, KEYS).finish()


def test_a_connection_is_renewed_under_its_token(bank: FakePlaid) -> None:
    person = Linked(bank, SECRETS)
    person.begin()
    assert bank.asked[-1].json()["access_token"] == "access-1"
    assert "products" not in bank.asked[-1].json()
    assert person.finish() == ["Giro (checking, ends in 0000)"]
    assert person.key.secrets["access_token"] == "access-1"


def test_an_account_that_is_removed_is_removed_at_plaid(bank: FakePlaid) -> None:
    person = Linked(bank, SECRETS)
    person.does(person.plaid.withdraw)
    assert bank.removed == 1
    stranger = Linked(bank, {**SECRETS, "client_id": "other"})
    stranger.does(stranger.plaid.withdraw)
    Linked(bank, KEYS).does(person.plaid.withdraw)
    assert bank.removed == 1


def test_a_country_is_a_hint() -> None:
    assert asyncio.run(Plaid().discover(" gb ", context_for())) == {"countries": ["GB"]}
    assert asyncio.run(Plaid().discover("my bank", context_for())) == {}


def test_the_address_is_encrypted() -> None:
    with pytest.raises(ValueError, match="without encryption"):
        PlaidConfig(url="http://plaid.example")
