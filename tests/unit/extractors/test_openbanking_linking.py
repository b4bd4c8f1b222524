"""Linking a bank at both services: the person is sent away, comes back, and only the right answer is taken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

import pytest
from pydantic import BaseModel, ValidationError

from extractors.connector import Context
from extractors.consent import ConsentConnector, answered
from extractors.enablebanking import EnableBanking
from extractors.enablebanking.config import EnableBankingConfig
from extractors.enablebanking.jwt import signed
from extractors.fints.config import FinTSConfig
from extractors.gocardless import GoCardless
from extractors.gocardless.config import GoCardlessConfig
from extractors.gocardless.requisition import ends
from extractors.openbanking.account import BankAccount, told_apart
from extractors.openbanking.hint import bank_and_country
from extractors.openbanking.reading import PAGES_CAP
from extractors.testing import START, Key, context_for, poll
from extractors.testing.standin import Asked
from schemas.errors import AuthError, TransientError
from streams.poll import CONSENT_NOTICE
from tests.standins import gocardless
from tests.standins.enablebanking import REDIRECT, EnableBankingStandIn, pem, transaction
from tests.standins.gocardless import GoCardlessStandIn
from tests.standins.openbanking import IBAN, OTHER

CASES = Path(__file__).parents[2] / "cases" / "oauth"


@pytest.fixture
def bank() -> Iterator[EnableBankingStandIn]:
    with EnableBankingStandIn() as service:
        service.open(IBAN)
        service.open(OTHER)
        yield service
    assert service.violations == []


@pytest.fixture
def legacy() -> Iterator[GoCardlessStandIn]:
    with GoCardlessStandIn() as service:
        service.open(IBAN)
        yield service
    assert service.violations == []


T = TypeVar("T")


def run(key: Key, use: Callable[[Context], Awaitable[T]], now: datetime = START) -> T:
    async def go() -> T:
        async with key.open(now) as access:
            return await use(replace(context_for(now), access=access))

    return asyncio.run(go())


def begun(connector: ConsentConnector, config: Any, key: Key, state: str = "s-1") -> str:
    return run(key, lambda context: connector.begin(config, context, redirect=REDIRECT, state=state)).url


def finished(connector: ConsentConnector, config: Any, key: Key, answer: str) -> list[str]:
    return list(run(key, lambda context: connector.finish(config, context, answer=answer)))


def test_a_bank_is_linked_and_read(bank: EnableBankingStandIn) -> None:
    key = Key(secrets=bank.secrets())
    url = begun(EnableBanking(), bank.config(), key)
    lines = finished(EnableBanking(), bank.config(), key, bank.landed(url))
    assert len(lines) == 3
    assert "…3000 EUR: can be read" in lines[0]
    assert lines[-1] == "the consent ends on 2026-08-29"
    assert list(run(key, lambda context: EnableBanking().check(bank.config(), context))) == lines
    assert poll(EnableBanking(), bank.config(), None, context_for(), key=key).error is None


def test_a_consent_is_asked_for_no_longer_than_the_bank_allows(bank: EnableBankingStandIn) -> None:
    bank.longest = timedelta(days=90)
    key = Key(secrets=bank.secrets())
    consent = run(key, lambda context: EnableBanking().begin(bank.config(), context, redirect=REDIRECT, state="s"))
    assert consent.until is not None
    assert timedelta(days=89) < consent.until - START < timedelta(days=90)


def test_an_answer_counts_once_and_for_its_own_question_only(bank: EnableBankingStandIn) -> None:
    connector, key = EnableBanking(), Key(secrets=bank.secrets())
    first = begun(connector, bank.config(), key, "s-1")
    second = begun(connector, bank.config(), key, "s-2")
    with pytest.raises(AuthError, match="another request"):
        finished(connector, bank.config(), key, bank.landed(first))
    finished(connector, bank.config(), key, bank.landed(second))
    with pytest.raises(AuthError, match="no consent was asked for"):
        finished(connector, bank.config(), key, bank.landed(second))
    key.secrets["consent_state"] = "s-2"
    with pytest.raises(AuthError, match="used before"):
        finished(connector, bank.config(), key, bank.landed(second))


def test_a_person_may_say_no(bank: EnableBankingStandIn) -> None:
    key = Key(secrets=bank.secrets())
    url = begun(EnableBanking(), bank.config(), key)
    answer = bank.landed(url, error="access_denied", error_description="Cancelled by the user")
    with pytest.raises(AuthError, match="no consent was given: Cancelled by the user"):
        finished(EnableBanking(), bank.config(), key, answer)
    assert "session" not in key.secrets


def test_a_bank_that_is_not_known_is_answered_with_the_nearest(bank: EnableBankingStandIn) -> None:
    key = Key(secrets=bank.secrets())
    with pytest.raises(AuthError, match=r"did you mean 'Testbank'"):
        begun(EnableBanking(), bank.config(bank="Tesbank"), key)
    with pytest.raises(AuthError, match=r"did you mean .*'Testbank Direkt'"):
        begun(EnableBanking(), bank.config(bank="test"), key)
    assert begun(EnableBanking(), bank.config(bank="TESTBANK"), key).startswith("https://bank.example/")


def test_a_redirect_that_is_not_registered_says_where_to_register_it(bank: EnableBankingStandIn) -> None:
    key = Key(secrets=bank.secrets())
    with pytest.raises(AuthError, match="control panel"):
        run(
            key,
            lambda context: EnableBanking().begin(
                bank.config(), context, redirect="https://elsewhere.example/", state="s"
            ),
        )


def test_a_wrong_key_is_an_auth_error_that_shows_nothing_of_it(bank: EnableBankingStandIn) -> None:
    secret = "-----BEGIN NONSENSE-----\nMARKER\n-----END NONSENSE-----"
    for wrong in (secret, "MARKER", ""):
        key = Key(secrets={**bank.secrets(), "key": wrong})
        with pytest.raises(AuthError, match="cannot be read") as caught:
            begun(EnableBanking(), bank.config(), key)
        assert "MARKER" not in str(caught.value)


def test_a_key_that_lost_its_line_ends_still_signs() -> None:
    flat = " ".join(pem().split("\n"))
    assert signed(flat, "app", START) == signed(pem(), "app", START)
    assert signed(pem().replace("\n", "\\n"), "app", START) == signed(pem(), "app", START)


def test_a_withdrawn_consent_is_over_at_the_source(bank: EnableBankingStandIn, legacy: GoCardlessStandIn) -> None:
    session = bank.consent(START + timedelta(days=9))
    key = Key(secrets=bank.secrets(session))
    for _ in range(2):
        run(key, lambda context: EnableBanking().withdraw(bank.config(), context))
    assert session.status == "CLOSED"
    with pytest.raises(AuthError, match="closed"):
        run(key, lambda context: EnableBanking().check(bank.config(), context))
    requisition = legacy.consent(START)
    old = Key(secrets=legacy.secrets(requisition))
    run(old, lambda context: GoCardless().withdraw(legacy.config(), context))
    assert legacy.consents[requisition].status == "GONE"


def test_an_older_customer_links_a_bank(legacy: GoCardlessStandIn) -> None:
    key = Key(secrets=legacy.secrets())
    url = begun(GoCardless(), legacy.config(), key)
    requisition = url.rpartition("/")[2]
    with pytest.raises(AuthError, match="not complete"):
        finished(GoCardless(), legacy.config(), key, f"{REDIRECT}?ref=s-1")
    answer = legacy.accept(requisition, START)
    with pytest.raises(AuthError, match="another request"):
        finished(GoCardless(), legacy.config(), key, f"{REDIRECT}?ref=s-0")
    lines = finished(GoCardless(), legacy.config(), key, answer)
    assert lines == ["Nora Example …3000: can be read", "the consent ends on 2026-05-31"]
    assert legacy.reads == {}, "linking asks no bank"


def test_a_bank_is_found_by_its_name(legacy: GoCardlessStandIn, bank: EnableBankingStandIn) -> None:
    def discovered(connector: Any, secrets: dict[str, str], hint: str) -> Any:
        return run(Key(secrets=secrets), lambda context: connector.discover(hint, context))

    old, new = GoCardless(url=legacy.url), EnableBanking(url=bank.url)
    assert discovered(old, legacy.secrets(), "volksbank, DE") == {"bank": "VOLKSBANK_X"}
    assert discovered(new, bank.secrets(), "DE volks") == {"bank": "Volksbank", "country": "DE"}
    assert discovered(new, {}, "Nordea FI") == {"bank": "Nordea", "country": "FI"}


def test_tokens_are_made_once_renewed_when_they_end_and_made_anew_when_all_else_fails(
    legacy: GoCardlessStandIn,
) -> None:
    key = Key(secrets=legacy.secrets(legacy.consent(START)))

    def check(now: datetime) -> None:
        legacy.now = now
        run(key, lambda context: GoCardless().check(legacy.config(), context), now)

    check(START)
    check(START + timedelta(hours=2))
    assert legacy.made == 1
    check(START + timedelta(hours=25))
    assert legacy.made == 2
    legacy.tokens.clear()
    check(START + timedelta(hours=26))
    assert legacy.made == 3
    legacy.tokens.clear()
    legacy.refreshers.clear()
    check(START + timedelta(hours=27))
    assert legacy.made == 5
    check(START + timedelta(days=40))
    assert legacy.made == 6
    key.secrets["secret_key"] = "wrong"
    legacy.tokens.clear()
    legacy.refreshers.clear()
    with pytest.raises(AuthError, match="enter secret id and key again"):
        check(START + timedelta(days=40))


def test_case_o11_a_consent_that_ends_is_told_before_and_after(legacy: GoCardlessStandIn) -> None:
    case = json.loads((CASES / "o11_bank_consent_expiry.json").read_text("utf-8"))
    expected = json.loads((CASES / "o11_bank_consent_expiry.expected.json").read_text("utf-8"))
    now = datetime.fromisoformat(case["now"])
    until = ends(case["agreement"])
    assert until == datetime.fromisoformat(expected["expires_at"])
    assert (until - now).days == expected["days_left"]
    assert (until - CONSENT_NOTICE <= now) is expected["warn_now"]
    requisition = legacy.consent(
        datetime.fromisoformat(case["agreement"]["accepted"]), case["agreement"]["access_valid_for_days"]
    )
    key = Key(secrets=legacy.secrets(requisition))
    legacy.now = now
    pages = poll(GoCardless(), legacy.config(), None, context_for(now), key=key).pages
    assert pages[-1].consent_expires_at == until
    legacy.consents[requisition].status = "EX"
    key.asked = True
    result = poll(GoCardless(), legacy.config(), None, context_for(now), key=key)
    assert expected["on_api_error"] == "needs_reauth"
    assert isinstance(result.error, AuthError)


def test_a_refused_token_is_renewed_and_an_ended_consent_is_not(legacy: GoCardlessStandIn) -> None:
    key = Key(secrets=legacy.secrets(legacy.consent(START, days=1)), asked=True)
    legacy.now = START + timedelta(days=2)
    assert isinstance(poll(GoCardless(), legacy.config(), None, context_for(legacy.now), key=key).error, AuthError)
    assert legacy.made == 1
    assert sum(asked.path.endswith("/transactions/") for asked in legacy.asked) == 1


def test_a_bank_that_insists_on_the_person_gets_the_headers_of_the_settings_only(bank: EnableBankingStandIn) -> None:
    bank.demands_psu = True
    account = next(iter(bank.accounts.values()))
    account.rows.append(transaction(1))
    key = Key(secrets=bank.secrets(bank.consent(START + timedelta(days=9))), asked=True)
    refused = poll(EnableBanking(), bank.config(), None, context_for(), key=key)
    assert isinstance(refused.error, AuthError)
    assert "set psu" in str(refused.error)
    assert not any("psu-ip-address" in asked.headers for asked in bank.asked)
    config = bank.config(psu={"Psu-Ip-Address": "192.0.2.7", "Psu-User-Agent": "browser"})
    assert len(poll(EnableBanking(), config, None, context_for(), key=key).upserts) == 1


def test_a_bank_that_does_not_go_back_that_far_is_asked_for_less(bank: EnableBankingStandIn) -> None:
    bank.reaches = 89
    account = next(iter(bank.accounts.values()))
    account.rows.append(transaction(1))
    key = Key(secrets=bank.secrets(bank.consent(START + timedelta(days=9))), asked=True)
    result = poll(EnableBanking(), bank.config(days=400), None, context_for(), key=key)
    assert len(result.upserts) == 1
    assert any("gives nothing before 2025-12-03" in warning for warning in result.warnings)


class Endless(EnableBankingStandIn):
    """Lists that go wrong after some pages: ``repeats`` one, or goes on for ever with new keys."""

    repeats = False
    pages = 0

    def _transactions(self, ref: str, asked: Asked) -> Any:
        self._read(ref, asked, "transactions")
        self.pages += 1
        return {"transactions": [], "continuation_key": "again" if self.repeats else f"key-{self.pages}"}


@pytest.mark.parametrize(("repeats", "pages"), [(True, 2), (False, PAGES_CAP)])
def test_a_list_that_does_not_end_is_left(repeats: bool, pages: int) -> None:
    with Endless() as bank:
        bank.repeats = repeats
        bank.open(IBAN)
        key = Key(secrets=bank.secrets(bank.consent(START + timedelta(days=9))), asked=True)
        result = poll(EnableBanking(), bank.config(), None, context_for(), key=key)
    assert isinstance(result.error, TransientError)
    assert "does not end" in str(result.error)
    assert (bank.pages, result.pages, result.cursor) == (pages, [], None)
    assert bank.violations == []


class Forgetful(EnableBankingStandIn):
    """Loses its place in a list after the first page."""

    def _page(self, key: str) -> int:
        self.salt += 1
        return super()._page(key)


def test_a_list_that_cannot_be_continued_is_begun_anew_by_the_next_poll() -> None:
    with Forgetful() as bank:
        bank.open(IBAN).rows.append(transaction(1))
        key = Key(secrets=bank.secrets(bank.consent(START + timedelta(days=9))), asked=True)
        result = poll(EnableBanking(), bank.config(), None, context_for(), key=key)
    assert isinstance(result.error, TransientError)
    assert "lost our place" in str(result.error)
    assert result.error.retry_at == START + timedelta(hours=1)


def test_a_bank_that_lists_fewer_days_than_before_takes_nothing_back(bank: EnableBankingStandIn) -> None:
    account = next(iter(bank.accounts.values()))
    account.rows += [transaction(number) for number in (1, 2, 9, 10, 11)]
    key = Key(secrets=bank.secrets(bank.consent(START + timedelta(days=9))), asked=True)
    cursor = poll(EnableBanking(), bank.config(), None, context_for(), key=key).cursor
    del account.rows[:2]
    for hours in (1, 2, 3):
        result = poll(EnableBanking(), bank.config(), cursor, context_for(START + timedelta(hours=hours)), key=key)
        assert (result.error, result.deletes) == (None, [])
        cursor = result.cursor


def test_the_last_read_that_is_allowed_says_when_the_next_one_is(legacy: GoCardlessStandIn) -> None:
    legacy.reads_a_day = 1
    legacy.accounts[IBAN].booked.append(gocardless.transaction(1))
    key = Key(secrets=legacy.secrets(legacy.consent(START)), asked=True)
    first = poll(GoCardless(), legacy.config(), None, context_for(), key=key)
    assert first.error is None
    asked = len(legacy.asked)
    later = START + timedelta(hours=20)
    legacy.now = later
    second = poll(GoCardless(), legacy.config(), first.cursor, context_for(later), key=key)
    assert second.error is not None
    assert getattr(second.error, "retry_at", None) == START + timedelta(days=1)
    assert len(legacy.asked) == asked, "nobody was asked"


def test_pockets_that_share_a_number_are_told_apart() -> None:
    euro, pound = (BankAccount(key="k", ref=ref, number=IBAN, currency=ref) for ref in ("EUR", "GBP"))
    apart = told_apart([euro, pound])
    assert [account.key for account in apart] == ["k/EUR", "k/GBP"]
    assert len({account.name for account in apart}) == 2
    twins = told_apart([euro, euro, pound.model_copy(update={"key": "other", "number": OTHER})])
    assert len({account.key for account in twins}) == len({account.name for account in twins}) == 3
    assert twins[2].key == "other"


@pytest.mark.parametrize(
    ("hint", "found"),
    [
        ("Nordea, FI", ("Nordea", "FI")),
        ("de Sparkasse Köln", ("Sparkasse Köln", "DE")),
        ("N26 (de)", ("N26", "DE")),
        ("ING DE", ("ING", "DE")),
    ],
)
def test_a_bank_and_its_country_are_typed_in_any_order(hint: str, found: tuple[str, str]) -> None:
    assert bank_and_country(hint) == found


@pytest.mark.parametrize("hint", ["", "Sparkasse", "x" * 500])
def test_a_bank_without_its_country_is_asked_for_again(hint: str) -> None:
    with pytest.raises(AuthError, match="type both"):
        bank_and_country(hint)


def test_an_answer_that_is_no_address_is_refused() -> None:
    for answer in ("", "hello", "https://x.example/?state=", f"{REDIRECT}?{urlencode({'state': 'ß'})}", "http://[x"):
        with pytest.raises(AuthError):
            answered(answer, "s-1")


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        (EnableBankingConfig, {"bank": "Nordea", "country": "FI", "url": "http://api.example"}),
        (GoCardlessConfig, {"bank": "NORDEA_X", "url": "http://api.example"}),
        (FinTSConfig, {"bank_code": "37040044", "server": "http://fints.example"}),
    ],
)
def test_no_secret_is_sent_in_clear_text(model: type[BaseModel], settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="clear text"):
        model.model_validate(settings)
    assert model.model_validate({**settings, "allow_private": True})
