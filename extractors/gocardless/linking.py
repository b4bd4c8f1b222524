"""Linking a bank: the person is sent to its page, and the consent becomes a requisition that is linked."""

from __future__ import annotations

import difflib
from datetime import timedelta
from typing import Any

from extractors.connector import Context
from extractors.consent import Consent, answered
from extractors.gocardless.client import Client
from extractors.gocardless.config import GoCardlessConfig
from extractors.gocardless.requisition import Requisition, fetched
from schemas.errors import AuthError, TransientError

STATE, ASKED = "consent_state", "consent_asked"


async def begin(config: GoCardlessConfig, context: Context, redirect: str, state: str) -> Consent:
    """Asks for no more days than the bank allows. Both calls together are what GoCardless counts as one connection."""
    client = Client(config, context)
    bank = (await client.get(f"/institutions/{config.bank}/")).object()
    days = min(config.consent_days, _number(bank.get("max_access_valid_for_days"), 90))
    agreement = await client.post(
        "/agreements/enduser/",
        {
            "institution_id": config.bank,
            "max_historical_days": min(config.days, _number(bank.get("transaction_total_days"), 90)),
            "access_valid_for_days": days,
            "access_scope": ["balances", "details", "transactions"],
        },
    )
    body = {"institution_id": config.bank, "redirect": redirect, "reference": state}
    if isinstance(agreed := agreement.object().get("id"), str):
        body["agreement"] = agreed
    answer = (await client.post("/requisitions/", body)).object()
    url, requisition = answer.get("link"), answer.get("id")
    if not isinstance(requisition, str) or not isinstance(url, str) or not url.startswith(("https://", "http://")):
        raise TransientError("GoCardless gives no address for the consent")
    await context.access.remember({STATE: state, ASKED: requisition})
    return Consent(url, context.now + timedelta(days=days))


async def finish(config: GoCardlessConfig, context: Context, answer: str) -> Requisition:
    """The requisition is kept before this returns; the one before it, if any, is no longer used."""
    answered(answer, _secret(context, STATE), state_name="ref")
    asked = _secret(context, ASKED)
    requisition = await fetched(Client(config, context), asked)
    await context.access.remember({**requisition.secret(), STATE: "", ASKED: ""})
    return requisition


async def institutions(client: Client, country: str) -> list[dict[str, Any]]:
    found = (await client.get("/institutions/", {"country": country.lower()})).json()
    if not isinstance(found, list):
        raise TransientError("GoCardless answers with something that is no list of banks")
    return [each for each in found if isinstance(each, dict) and isinstance(each.get("id"), str)]


def named(banks: list[dict[str, Any]], wanted: str, country: str) -> str:
    """The id of the bank of this name or id. AuthError with the nearest names."""
    word = " ".join(wanted.split()).casefold()
    names = {str(bank.get("name") or bank["id"]): str(bank["id"]) for bank in banks}
    equal = [bank_id for name, bank_id in names.items() if word in (name.casefold(), bank_id.casefold())]
    near = [name for name in names if word and word in name.casefold()]
    if len(equal) == 1:
        return equal[0]
    if not equal and len(near) == 1:
        return names[near[0]]
    close = near or difflib.get_close_matches(wanted, list(names), n=5, cutoff=0.5)
    remedy = f"did you mean {', '.join(map(repr, close[:5]))}?" if close else "look it up in the GoCardless portal"
    raise AuthError(f"GoCardless has no bank {wanted!r} in {country}", remedy=remedy)


def _number(found: Any, usual: int) -> int:
    """Of days; GoCardless writes it as text."""
    try:
        return max(1, int(found))
    except (TypeError, ValueError):
        return usual


def _secret(context: Context, name: str) -> str:
    try:
        return context.access.secret(name)
    except AuthError:
        return ""
