"""The FinTS connector: the accounts of one login at a German bank."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pydantic import BaseModel

from extractors.connector import (
    Context,
    Login,
    Page,
    SecretField,
)
from extractors.fints import normalize
from extractors.fints.api import REFUSED, FinTSApi
from extractors.fints.config import FinTSConfig
from extractors.openbanking.account import is_skipped
from extractors.openbanking.poll import Poll
from schemas.errors import AuthError
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

PAGE_ROWS = 500


class FinTS:
    """Reads booked rows only. A TAN is never asked for in a poll: where the bank wants one, the person hears of it."""

    name = "fints"
    config: type[BaseModel] = FinTSConfig
    login = Login(
        reads="statements of all your accounts there; FinTS knows no login for reading only: with a TAN it could pay",
        secrets=(
            SecretField("user", "User or account number", "as in your bank's own online banking"),
            SecretField("pin", "PIN", "as in your bank's own online banking; sent to your bank only"),
            SecretField("product", "FinTS product ID", "registered at fints.org; some banks do without"),
        ),
        voids=(REFUSED,),
    )

    def __init__(self, page_rows: int = PAGE_ROWS) -> None:
        self._page_rows = page_rows

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        settings = FinTSConfig.model_validate(config.model_dump())
        api = FinTSApi(settings, context)
        poll = Poll(
            api=api,
            accounts=[account for account in await api.accounts() if not is_skipped(account, settings.skip)],
            context=context,
            stored=cursor,
            days=settings.days,
            page_rows=self._page_rows,
        )
        async for page in poll.pages():
            yield page

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        return normalize.normalise(record, context)

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """``hint``: the bank's FinTS address and its BLZ, in any order; there is no free list of them."""
        words = hint.replace(",", " ").split()
        server = next((word for word in words if word.startswith(("https://", "http://"))), "")
        code = next((word for word in words if len(word) == 8 and word.isdecimal()), "")
        if not server or not code:
            raise AuthError(
                "which bank?", remedy="type its FinTS address and its BLZ; your bank's help pages have both"
            )
        return {"server": server, "bank_code": code}

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        api = FinTSApi(FinTSConfig.model_validate(config.model_dump()), context)
        return [f"{account.label}: can be read" for account in await api.accounts(fresh=True)]
