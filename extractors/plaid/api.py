"""Calls of Plaid's API, version 2020-09-14, and what its error codes mean for the account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from extractors.connector import Access
from extractors.http import Answer, wished
from extractors.pace import Pace
from extractors.text import one_line
from schemas.errors import AuthError, ForewatchError, RateLimited, TransientError

CLIENT_ID, SECRET, ACCESS_TOKEN, LINK_TOKEN = "client_id", "secret", "access_token", "link_token"
VERSION = "2020-09-14"
CALLS_PER_MINUTE = 50
"""Of /transactions/sync, for each Item."""
_PASSING = (400, 401, 403, 404, 409, 429)
_RELINK = "connect the account again: the how-to says how"
_PAUSE = timedelta(minutes=1)

_LOGIN_WORDS = """
ITEM_LOGIN_REQUIRED ITEM_LOCKED ITEM_NOT_FOUND INVALID_ACCESS_TOKEN INVALID_CREDENTIALS INVALID_MFA ACCESS_NOT_GRANTED
INSUFFICIENT_CREDENTIALS PASSWORD_RESET_REQUIRED USER_SETUP_REQUIRED USER_INPUT_TIMEOUT MFA_NOT_SUPPORTED NO_ACCOUNTS
USER_PERMISSION_REVOKED ITEM_NOT_SUPPORTED PRODUCTS_NOT_SUPPORTED ADDITIONAL_CONSENT_REQUIRED
INSTITUTION_REGISTRATION_REQUIRED INSTITUTION_NO_LONGER_SUPPORTED
"""
_KEY_WORDS = "INVALID_API_KEYS UNAUTHORIZED_ENVIRONMENT INVALID_PRODUCT PRODUCT_NOT_ENABLED"
_LOGIN = frozenset(_LOGIN_WORDS.split())
"""The person must go through Plaid's page again."""
_KEYS = frozenset(_KEY_WORDS.split())
"""Something is wrong with the person's Plaid application."""
MUTATION = "TRANSACTIONS_SYNC_MUTATION_DURING_PAGINATION"
NOT_READY = "PRODUCT_NOT_READY"


class LostCursor(Exception):
    """Plaid does not know the place any more; never leaves this package."""


class Mutated(Exception):
    """The data changed while it was paged through: start again from where the loop began."""


class NotReady(Exception):
    """Plaid still fetches the first rows."""


@dataclass(frozen=True, slots=True)
class Client:
    """``now`` is the poll's."""

    access: Access
    url: str
    now: datetime
    pace: Pace

    async def sync(self, cursor: str, count: int) -> Mapping[str, Any]:
        """One page of changes after ``cursor`` (empty: everything)."""
        await self.pace.turn()
        body: dict[str, Any] = {"access_token": self.access.secret(ACCESS_TOKEN), "count": count}
        return await self.call(
            "/transactions/sync",
            {**body, "cursor": cursor, "options": {"include_original_description": True}},
        )

    async def item(self) -> Mapping[str, Any]:
        return await self.call("/item/get", {"access_token": self.access.secret(ACCESS_TOKEN)})

    async def call(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """The object that Plaid answers. The secrets of the application go in headers and in no message."""
        headers = {
            "PLAID-CLIENT-ID": self.access.secret(CLIENT_ID),
            "PLAID-SECRET": self.access.secret(SECRET),
            "Plaid-Version": VERSION,
        }
        answer = await self.access.http.send(
            "POST", f"{self.url}{path}", headers=headers, json=dict(body), passing=_PASSING
        )
        if 200 <= answer.status < 300:
            return answer.object()
        raise _meaning(answer, self.now)


def _meaning(answer: Answer, now: datetime) -> Exception:
    """A refusal that is not Plaid's own (a proxy's page) says nothing about the account, unless it is a 401."""
    try:
        said = answer.object()
    except TransientError as error:
        return error
    code = str(said.get("error_code") or "")
    if code == MUTATION:
        return Mutated()
    if code == NOT_READY:
        return NotReady()
    if code == "INVALID_FIELD" and "cursor" in str(said.get("error_message")):
        return LostCursor()
    retry_at = wished(answer.headers, now)
    if answer.status == 429 or said.get("error_type") == "RATE_LIMIT_EXCEEDED":
        return RateLimited("Plaid asks for fewer calls", retry_at=retry_at or now + _PAUSE)
    return problem(said) or (
        AuthError("Plaid does not accept the credentials", remedy=_RELINK)
        if answer.status in (401, 403)
        else TransientError(f"Plaid answers {answer.status} {one_line(code, 60)}".strip(), retry_at=retry_at)
    )


def problem(said: Mapping[str, Any]) -> ForewatchError | None:
    """What a Plaid error asks of a person; None where it asks nothing."""
    code = str(said.get("error_code") or "")
    if code in _LOGIN:
        return AuthError(f"the bank wants a new login (Plaid says {code})", remedy=_RELINK)
    if code in _KEYS:
        return AuthError(f"Plaid refuses your application ({code})", remedy="look at its keys in Plaid's dashboard")
    return None
