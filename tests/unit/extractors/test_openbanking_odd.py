"""Services that do not answer as they promised: nothing is concluded from it, and a person hears what matters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any, TypeVar

import pytest

from extractors.connector import Context
from extractors.enablebanking import EnableBanking
from extractors.fints import FinTS
from extractors.gocardless import GoCardless
from extractors.openbanking.cursor import load
from extractors.testing import START, Key, Poll, context_for, poll
from extractors.testing.standin import Asked, Reply
from schemas.errors import AuthError, CursorExpired, TransientError
from tests.standins import enablebanking, gocardless
from tests.standins.enablebanking import REDIRECT, EnableBankingStandIn
from tests.standins.gocardless import GoCardlessStandIn
from tests.standins.openbanking import IBAN

T = TypeVar("T")


class Odd:
    """Mixed into a stand-in: what it says at each path that ends so, in place of its own answer."""

    said: dict[str, Reply]

    def answer(self, asked: Asked) -> Reply:
        for end, reply in self.said.items():
            if asked.path.rstrip("/").endswith(end):
                return reply
        return super().answer(asked)  # type: ignore[misc,no-any-return]

    def check(self, asked: Asked, reply: Reply) -> list[str]:
        return []


class OddBank(Odd, EnableBankingStandIn):
    pass


class OddLegacy(Odd, GoCardlessStandIn):
    pass


def at_bank(said: dict[str, Reply], **settings: Any) -> Poll:
    with OddBank() as bank:
        bank.said = said
        bank.open(IBAN).rows.append(enablebanking.transaction(1))
        key = Key(secrets=bank.secrets(bank.consent(START + timedelta(days=9))), asked=True)
        return poll(EnableBanking(), bank.config(**settings), None, context_for(), key=key)


def at_legacy(said: dict[str, Reply], **settings: Any) -> Poll:
    with OddLegacy() as bank:
        bank.said = said
        bank.open(IBAN).booked.append(gocardless.transaction(1))
        key = Key(secrets=bank.secrets(bank.consent(START)), asked=True)
        return poll(GoCardless(), bank.config(**settings), None, context_for(), key=key)


@pytest.mark.parametrize("read", [at_bank, at_legacy])
@pytest.mark.parametrize("reply", [Reply(500, b"oops"), Reply.of({"error": "ASPSP_ERROR"}, 400), Reply.of({}, 429)])
def test_rows_without_a_balance_are_better_than_none(read: Callable[..., Poll], reply: Reply) -> None:
    result = read({"/balances": reply})
    assert result.error is None
    assert len(result.upserts) == 1
    assert any("no balance" in warning for warning in result.warnings)


@pytest.mark.parametrize("read", [at_bank, at_legacy])
@pytest.mark.parametrize(
    "body", [{}, {"transactions": None}, {"transactions": {"booked": None}}, {"transactions": "none"}, {"detail": "x"}]
)
def test_an_answer_without_a_list_is_no_empty_list(read: Callable[..., Poll], body: Any) -> None:
    result = read({"/transactions": Reply.of(body)})
    assert isinstance(result.error, TransientError)
    assert (result.pages, result.cursor) == ([], None)


@pytest.mark.parametrize("read", [at_bank, at_legacy])
@pytest.mark.parametrize("reply", [Reply.of([1, 2]), Reply(200, b"<html>"), Reply(302, b"", {"Location": "/login"})])
def test_what_is_no_answer_is_tried_again_later(read: Callable[..., Poll], reply: Reply) -> None:
    result = read({"/transactions": reply})
    assert isinstance(result.error, TransientError)
    assert result.error.retry_at == START + timedelta(hours=1)


@pytest.mark.parametrize("read", [at_bank, at_legacy])
def test_a_bank_that_never_goes_back_far_enough_is_tried_again_later(read: Callable[..., Poll]) -> None:
    refusal = {"error": "WRONG_TRANSACTIONS_PERIOD", "summary": "Incorrect date range"}
    for days in (30, 400):
        result = read({"/transactions": Reply.of(refusal, 400)}, days=days)
        assert isinstance(result.error, TransientError), days
        assert "does not go back that far" in str(result.error)


def test_a_legacy_bank_that_does_not_go_back_that_far_is_asked_for_less() -> None:
    class Short(GoCardlessStandIn):
        def _transactions(self, account: gocardless.Account, since: str) -> dict[str, Any]:
            if since < "2025-12-01":
                raise gocardless.Refused(400, "Incorrect date range")
            return super()._transactions(account, since)

    with Short() as bank:
        bank.open(IBAN).booked.append(gocardless.transaction(1))
        key = Key(secrets=bank.secrets(bank.consent(START)), asked=True)
        result = poll(GoCardless(), bank.config(days=400), None, context_for(), key=key)
    assert len(result.upserts) == 1
    assert any("gives nothing before 2025-12-03" in warning for warning in result.warnings)
    assert bank.violations == []


def test_an_account_that_the_service_forgot_is_left_out() -> None:
    with GoCardlessStandIn() as bank:
        bank.open(IBAN)
        secrets = bank.secrets(bank.consent(START))
        kept = json.loads(secrets["requisition"])
        kept["accounts"][0]["ref"] = "00000000-0000-0000-0000-000000000000"
        key = Key(secrets={**secrets, "requisition": json.dumps(kept)}, asked=True)
        result = poll(GoCardless(), bank.config(), None, context_for(), key=key)
    assert isinstance(result.error, AuthError)
    assert "does not know it any more" in str(result.error)


def test_a_consent_without_accounts_is_for_a_person() -> None:
    with EnableBankingStandIn() as bank:
        key = Key(secrets=bank.secrets(bank.consent(START + timedelta(days=9))), asked=True)
        result = poll(EnableBanking(), bank.config(), None, context_for(), key=key)
    assert isinstance(result.error, AuthError)
    assert "covers no account" in str(result.error)


@pytest.mark.parametrize(
    "cursor", [{"v": 9}, {"v": 1}, [], "x", {"v": 1, "places": {"k": []}, "refused": [], "ledger": None}]
)
def test_a_cursor_of_somebody_else_is_listed_anew(cursor: Any) -> None:
    with pytest.raises(CursorExpired):
        load(cursor)


def run(secrets: dict[str, str], use: Callable[[Context], Awaitable[T]]) -> T:
    async def go() -> T:
        async with Key(secrets=secrets).open(START) as access:
            return await use(replace(context_for(), access=access))

    return asyncio.run(go())


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"/aspsps": Reply.of({"aspsps": "none"})}, "no list of banks"),
        ({"/auth": Reply.of({"url": "javascript:alert(1)"})}, "no address"),
        ({"/auth": Reply.of({})}, "no address"),
    ],
)
def test_a_page_that_is_no_web_address_is_never_opened(said: dict[str, Reply], words: str) -> None:
    with OddBank() as bank:
        bank.said = said
        with pytest.raises(TransientError, match=words):
            run(bank.secrets(), lambda c: EnableBanking().begin(bank.config(), c, redirect=REDIRECT, state="s"))


@pytest.mark.parametrize("body", [{}, {"session_id": "x"}, {"session_id": "x", "accounts": [1], "access": {}}])
def test_what_is_no_session_is_not_kept(body: Any) -> None:
    with OddBank() as bank:
        bank.said = {"/sessions": Reply.of(body)}
        secrets = {**bank.secrets(), "consent_state": "s"}
        with pytest.raises(TransientError, match="no session"):
            run(secrets, lambda c: EnableBanking().finish(bank.config(), c, answer=f"{REDIRECT}?state=s&code=c"))
        with pytest.raises(AuthError, match="no answer of the bank"):
            run(secrets, lambda c: EnableBanking().finish(bank.config(), c, answer=f"{REDIRECT}?state=s"))
    assert "session" not in secrets


def test_a_requisition_without_an_address_is_no_consent() -> None:
    with OddLegacy() as bank:
        bank.said = {"/requisitions": Reply.of({"id": "x", "link": "ftp://bank.example"}, 201)}
        with pytest.raises(TransientError, match="no address"):
            run(bank.secrets(), lambda c: GoCardless().begin(bank.config(), c, redirect=REDIRECT, state="s"))


def test_a_bank_that_gocardless_does_not_have_is_answered_with_the_nearest() -> None:
    with GoCardlessStandIn() as bank:
        connector = GoCardless(url=bank.url)
        with pytest.raises(AuthError, match="did you mean 'Volksbank'"):
            run(bank.secrets(), lambda c: connector.discover("Volksbnak DE", c))
        with pytest.raises(AuthError, match="look it up"):
            run(bank.secrets(), lambda c: connector.discover("zzz DE", c))
        with pytest.raises(AuthError, match="cannot be looked up"):
            run({}, lambda c: connector.discover("Volksbank DE", c))


def test_a_fints_bank_is_given_by_its_address_and_code() -> None:
    found = run({}, lambda c: FinTS().discover("37040044, https://fints.example/x", c))
    assert found == {"server": "https://fints.example/x", "bank_code": "37040044"}
    with pytest.raises(AuthError, match="which bank"):
        run({}, lambda c: FinTS().discover("Commerzbank", c))
