"""Ending a consent at the provider (RFC 7009)."""

from __future__ import annotations

from datetime import datetime

from extractors.http import Http
from extractors.oauth.client import Client
from extractors.oauth.errors import Denied
from extractors.oauth.token import Token

_ENDED = frozenset({"invalid_token", "invalid_grant"})


async def revoke(http: Http, client: Client, token: Token, now: datetime) -> bool:
    """Whether the provider has ended it; False where it offers no revocation (``Provider.manage`` says where to go).

    The refresh token ends the whole consent. Errors as in ``Client.ask``; what has ended already counts as ended.
    """
    if not client.endpoints.revocation:
        return False
    secret, kind = (
        (token.refresh_token, "refresh_token") if token.refresh_token else (token.access_token, "access_token")
    )
    try:
        question = {"token": secret, "token_type_hint": kind}
        await client.tell(http, client.endpoints.revocation, question, now)
    except Denied as denied:
        if denied.code not in _ENDED:
            raise
    return True
