"""The Enable Banking connector: the accounts of one consent at one bank."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pydantic import BaseModel

from extractors.connector import (
    Context,
    Login,
    Page,
    SecretField,
)
from extractors.consent import Consent
from extractors.enablebanking import linking, normalize
from extractors.enablebanking.api import EnableBankingApi
from extractors.enablebanking.banks import listed, named
from extractors.enablebanking.client import Client
from extractors.enablebanking.config import URL, EnableBankingConfig
from extractors.enablebanking.session import Session, ends
from extractors.openbanking.account import is_skipped
from extractors.openbanking.hint import bank_and_country
from extractors.openbanking.poll import Poll
from schemas.errors import AuthError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

PAGE_ROWS = 500


class EnableBanking:
    """Deletes pending rows that were booked or never came, and booked ones that the bank twice no longer lists."""

    name = "enablebanking"
    config: type[BaseModel] = EnableBankingConfig
    login = Login(
        reads="transactions and balances of the accounts that you choose at your bank; it can pay nothing",
        secrets=(
            SecretField("application", "Application ID", "Enable Banking control panel, API applications"),
            SecretField("key", "Private key (PEM)", "the .pem file that was saved when you registered the application"),
        ),
    )

    def __init__(self, page_rows: int = PAGE_ROWS, url: str = URL) -> None:
        """``url``: where banks are looked up before an account has settings."""
        self._page_rows = page_rows
        self._url = url

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        settings = _settings(config)
        session = Session.kept(context.access)
        poll = Poll(
            api=EnableBankingApi(Client(settings, context), context),
            accounts=[account for account in session.accounts if not is_skipped(account, settings.skip)],
            context=context,
            stored=cursor,
            days=settings.days,
            page_rows=self._page_rows,
            expires_at=session.valid_until,
        )
        async for page in poll.pages():
            yield page

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        return normalize.normalise(record, context)

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """``hint``: a bank and its country, such as ``Nordea FI``. With the application's secrets at hand the bank is
        looked up, without them it is taken as typed."""
        bank, country = bank_and_country(hint)
        try:
            context.access.secret("key")
        except AuthError:
            return {"bank": bank, "country": country}
        client = Client(
            EnableBankingConfig(bank=bank, country=country, url=self._url, allow_private=self._url != URL), context
        )
        return {"bank": named(await listed(client, country), bank, country)["name"], "country": country}

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        """Asks Enable Banking only: the bank counts no read."""
        session = Session.kept(context.access)
        answer = await Client(_settings(config), context).get(f"/sessions/{session.id}")
        status = answer.get("status")
        if status != "AUTHORIZED":
            raise AuthError(f"the consent at the bank is {str(status).lower()[:40]}", remedy="link the bank again")
        until = ends(answer) or session.valid_until
        return _told(session.model_copy(update={"valid_until": until}))

    async def begin(self, config: BaseModel, context: Context, *, redirect: str, state: str) -> Consent:
        return await linking.begin(_settings(config), context, redirect, state)

    async def finish(self, config: BaseModel, context: Context, *, answer: str) -> Sequence[str]:
        return _told(await linking.finish(_settings(config), context, answer))

    async def withdraw(self, config: BaseModel, context: Context) -> None:
        kept = Session.kept(context.access)
        await Client(_settings(config), context).delete(f"/sessions/{kept.id}")


def _settings(config: BaseModel) -> EnableBankingConfig:
    return EnableBankingConfig.model_validate(config.model_dump())


def _told(session: Session) -> list[str]:
    accounts = [f"{account.label}: {account.problem or 'can be read'}" for account in session.accounts]
    return [*accounts, f"the consent ends on {session.valid_until:%Y-%m-%d}"]
