"""Linking a bank: the person is sent to its page, and the answer is traded for a session."""

from __future__ import annotations

from datetime import timedelta

from extractors.connector import Context
from extractors.consent import Consent, answered
from extractors.enablebanking.banks import listed, longest, named
from extractors.enablebanking.client import Client
from extractors.enablebanking.config import EnableBankingConfig
from extractors.enablebanking.session import Session
from schemas.errors import AuthError, TransientError

STATE = "consent_state"


async def begin(config: EnableBankingConfig, context: Context, redirect: str, state: str) -> Consent:
    client = Client(config, context)
    bank = named(await listed(client, config.country), config.bank, config.country)
    until = context.now + longest(bank, timedelta(days=config.consent_days))
    answer = await client.post(
        "/auth",
        {
            "access": {"valid_until": until.isoformat(), "balances": True, "transactions": True},
            "aspsp": {"name": bank["name"], "country": config.country},
            "state": state,
            "redirect_url": redirect,
            "psu_type": config.kind,
        },
    )
    url = answer.get("url")
    if not isinstance(url, str) or not url.startswith(("https://", "http://")):
        raise TransientError("Enable Banking gives no address for the consent")
    await context.access.remember({STATE: state})
    return Consent(url, until)


async def finish(config: EnableBankingConfig, context: Context, answer: str) -> Session:
    """The session is kept before this returns; the one before it, if any, is no longer used."""
    query = answered(answer, kept_state(context))
    if not (code := query.get("code")):
        raise AuthError("this address holds no answer of the bank", remedy="paste the whole address where you landed")
    session = Session.of(await Client(config, context).post("/sessions", {"code": code}))
    await context.access.remember({**session.secret(), STATE: ""})
    return session


def kept_state(context: Context) -> str:
    try:
        return context.access.secret(STATE)
    except AuthError:
        return ""
