"""Hosted Link: Plaid's own page on which the person logs in at the bank, and the access token that comes of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from extractors.connector import Context
from extractors.consent import Consent
from extractors.plaid.api import ACCESS_TOKEN, LINK_TOKEN, Client
from extractors.plaid.config import PlaidConfig
from schemas.errors import AuthError, TransientError
from schemas.ids import digest

NAME = "Forewatch"
LOOKS, WAIT_S = 10, 3.0
"""Plaid knows of what happened on the page a few seconds later."""


def held(context: Context, name: str) -> str:
    """A secret, or nothing."""
    try:
        return context.access.secret(name).strip()
    except AuthError:
        return ""


async def begin(client: Client, settings: PlaidConfig, context: Context, redirect: str, state: str) -> Consent:
    """Asks for a page, which afterwards sends the person on to ``redirect``, where Plaid allows that.

    With an access token the page renews that connection (update mode); without, it makes a new one.
    """
    page: dict[str, Any] = {
        "client_name": NAME,
        "language": settings.language,
        "country_codes": [*settings.countries],
        "user": {"client_user_id": digest(context.owner)[:32]},
    }
    if token := held(context, ACCESS_TOKEN):
        page["access_token"] = token
    else:
        page |= {"products": ["transactions"], "transactions": {"days_requested": settings.history_days}}
    joined = f"{redirect}{'&' if '?' in redirect else '?'}state={state}"
    try:
        answer = await client.call("/link/token/create", {**page, "hosted_link": {"completion_redirect_uri": joined}})
    except TransientError:
        answer = await client.call("/link/token/create", {**page, "hosted_link": {}})
    await client.access.remember({LINK_TOKEN: _said(answer, "link_token")})
    return Consent(_said(answer, "hosted_link_url"))


async def finish(client: Client, context: Context, sleep: Callable[[float], Awaitable[None]]) -> None:
    """Keeps the access token that came of the page. AuthError when nobody has been through it."""
    link_token = held(context, LINK_TOKEN)
    if not link_token:
        raise AuthError("no page of Plaid's was opened", remedy="connect the account again")
    for look in range(LOOKS):
        if look:
            await sleep(WAIT_S)
        answer = await client.call("/link/token/get", {"link_token": link_token})
        if public_token := next(_public_tokens(answer), ""):
            traded = await client.call("/item/public_token/exchange", {"public_token": public_token})
            await client.access.remember({ACCESS_TOKEN: _said(traded, "access_token"), LINK_TOKEN: ""})
            return
        if held(context, ACCESS_TOKEN):  # update mode has nothing to trade
            await client.access.remember({LINK_TOKEN: ""})
            return
    raise AuthError("nobody logged in at the bank on Plaid's page", remedy="connect the account again")


def _public_tokens(answer: Mapping[str, Any]) -> Iterator[str]:
    sessions = answer.get("link_sessions")
    for session in sessions if isinstance(sessions, list) else []:
        results = session.get("results") if isinstance(session, dict) else None
        added = results.get("item_add_results") if isinstance(results, dict) else None
        for each in added if isinstance(added, list) else []:
            if isinstance(each, dict) and isinstance(each.get("public_token"), str):
                yield each["public_token"]


def _said(answer: Mapping[str, Any], name: str) -> str:
    found = answer.get(name)
    if not isinstance(found, str) or not found:
        raise TransientError(f"Plaid's answer holds no {name}")
    return found
