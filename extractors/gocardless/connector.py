"""The GoCardless connector: the accounts of one consent at one bank."""

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
from extractors.gocardless import linking, normalize
from extractors.gocardless.api import GoCardlessApi
from extractors.gocardless.client import Client
from extractors.gocardless.config import URL, GoCardlessConfig
from extractors.gocardless.requisition import Requisition, fetched
from extractors.openbanking.account import is_skipped
from extractors.openbanking.hint import bank_and_country
from extractors.openbanking.poll import Poll
from schemas.errors import AuthError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

PAGE_ROWS = 500


class GoCardless:
    """Deletes pending rows that were booked or never came, and booked ones that the bank twice no longer lists."""

    name = "gocardless"
    config: type[BaseModel] = GoCardlessConfig
    login = Login(
        reads="transactions and balances of the accounts that you choose at your bank; it can pay nothing",
        secrets=(
            SecretField("secret_id", "Secret ID", "GoCardless Bank Account Data portal, User secrets"),
            SecretField("secret_key", "Secret key", "shown once, when the secret is made"),
        ),
    )

    def __init__(self, page_rows: int = PAGE_ROWS, url: str = URL) -> None:
        """``url``: where banks are looked up before an account has settings."""
        self._page_rows = page_rows
        self._url = url

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        settings = _settings(config)
        requisition = Requisition.kept(context.access)
        poll = Poll(
            api=GoCardlessApi(Client(settings, context), context),
            accounts=[account for account in requisition.accounts if not is_skipped(account, settings.skip)],
            context=context,
            stored=cursor,
            days=settings.days,
            page_rows=self._page_rows,
            expires_at=requisition.valid_until,
        )
        async for page in poll.pages():
            yield page

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        return normalize.normalise(record, context)

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """``hint``: a bank and its country, such as ``Revolut GB``. Needs the secret: only GoCardless knows its ids."""
        bank, country = bank_and_country(hint)
        try:
            context.access.secret("secret_id")
        except AuthError as error:
            raise AuthError(
                "the bank cannot be looked up yet", remedy="give the setting bank, or the secret"
            ) from error
        client = Client(GoCardlessConfig(bank="--", url=self._url, allow_private=self._url != URL), context)
        return {"bank": linking.named(await linking.institutions(client, country), bank, country)}

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        """Asks GoCardless only: the bank counts no read. Keeps what has changed about the consent."""
        kept = Requisition.kept(context.access)
        requisition = await fetched(Client(_settings(config), context), kept.id)
        if requisition != kept:
            await context.access.remember(requisition.secret())
        return _told(requisition)

    async def begin(self, config: BaseModel, context: Context, *, redirect: str, state: str) -> Consent:
        return await linking.begin(_settings(config), context, redirect, state)

    async def finish(self, config: BaseModel, context: Context, *, answer: str) -> Sequence[str]:
        return _told(await linking.finish(_settings(config), context, answer))

    async def withdraw(self, config: BaseModel, context: Context) -> None:
        kept = Requisition.kept(context.access)
        await Client(_settings(config), context).delete(f"/requisitions/{kept.id}/")


def _settings(config: BaseModel) -> GoCardlessConfig:
    return GoCardlessConfig.model_validate(config.model_dump())


def _told(requisition: Requisition) -> list[str]:
    accounts = [f"{account.label}: {account.problem or 'can be read'}" for account in requisition.accounts]
    ends = [f"the consent ends on {requisition.valid_until:%Y-%m-%d}"] if requisition.valid_until else []
    return [*accounts, *ends]
