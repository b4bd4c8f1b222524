"""The planner's model as the person set it up: what it may cost, and the client that asks it. Off by default (L1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from actions.journal import JournalPort
from actions.planning.spending import ModelSettings
from actions.proposal.book import Book
from actions.setup import Setup
from forewatch.access import Credentials
from forewatch.settings import PREFIX, Settings, credential
from schemas.clock import Clock
from schemas.errors import ConfigError
from schemas.model import Json

if TYPE_CHECKING:
    from actions.model import ServerModel
    from actions.planning.ask import Model
    from actions.planning.asker import Asker

VAULT_ACCOUNT = "forewatch-planner"
"""Under which the vault keeps the key."""
_CREDENTIAL = "forewatch-planner-key"


def model_settings(settings: Settings) -> ModelSettings | None:
    """None: no model is asked. ConfigError where only half is set."""
    if not settings.planner_model and not settings.planner_url:
        return None
    if not settings.planner_model or not settings.planner_url:
        missing = "planner_url" if settings.planner_model else "planner_model"
        raise ConfigError(f"{missing} is not set", remedy=f"set it in config.toml or as {PREFIX}{missing.upper()}")
    return ModelSettings(
        name=settings.planner_model,
        host=urlsplit(settings.planner_url).netloc.rpartition("@")[2],
        timeout_s=settings.planner_timeout_s,
        max_tokens=settings.planner_max_tokens,
        patience=timedelta(seconds=settings.planner_wait_s),
        tokens_per_plan=settings.planner_tokens_per_plan,
        tokens_per_day=settings.planner_tokens_per_day,
        price_in=settings.planner_price_in,
        price_out=settings.planner_price_out,
        currency=settings.planner_currency,
        cost_per_day=settings.planner_cost_per_day,
    )


def port_of(url: str) -> int:
    """The URL's own, else its scheme's. ValueError where it names one that cannot be."""
    parts = urlsplit(url)
    return parts.port or {"http": 80}.get(parts.scheme, 443)


async def planner_key(settings: Settings, credentials: Credentials) -> str:
    """The first there is: the variable, the systemd credential, the vault; "" for a server that wants none."""
    if settings.planner_key is not None:
        return settings.planner_key.get_secret_value()
    if (given := credential(_CREDENTIAL)) is not None:
        return given[1].strip()
    if not await asyncio.to_thread(settings.vault.exists):
        return ""
    return (await credentials.secrets(VAULT_ACCOUNT)).get("key") or ""


async def server_model(settings: Settings, credentials: Credentials, clock: Clock) -> ServerModel:
    from pydantic import SecretStr

    from actions.model import Server, ServerModel

    key = SecretStr(await planner_key(settings, credentials))
    return ServerModel(Server(settings.planner_url, settings.planner_model, key), clock)


def with_replanning(model: Model | None, setup: Setup, port: JournalPort, book: Book, clock: Clock) -> Setup:
    """One owner's setup: where no playbook names another way on, the model is asked for one."""
    if model is None or setup.replanner is None:
        return setup
    from actions.planning.modelreplan import ModelReplanner

    return replace(setup, replanner=ModelReplanner(setup.replanner, port, book, model, clock))


def asker(model: Model, setup: Setup, clock: Clock) -> Callable[[JournalPort, Book], Asker]:
    from actions.planning.asker import Asker

    return lambda port, book: Asker(port, book, setup, model, clock)


async def tried(model: ServerModel, limits: ModelSettings) -> dict[str, str | int]:
    """One small question outside of any plan: how the server takes a schema, and how the asking ended."""
    from actions.planning.ask import Failure, Form, FreeMeter, Limits, Message

    word: dict[str, Json] = {"type": "string", "maxLength": 20}
    schema: dict[str, Json] = {"type": "object", "properties": {"word": word}, "required": ["word"]}
    schema["additionalProperties"] = False
    meter = FreeMeter()
    asked = (Message("system", "Reply with one JSON object."), Message("user", 'Say {"word": "ready"}.'))
    form = Form("word", schema, schema, lambda flat: flat)
    try:
        outcome = await model.ask(asked, form, Limits(max_tokens=200, timeout_s=limits.timeout_s), meter)
    finally:
        await model.close()
    code = outcome.code if isinstance(outcome, Failure) else "answer"
    way = f"asked by {model.rung}" if model.rung else "no way of asking was found"
    return {"model": limits.name, "host": limits.host, "outcome": code, "requests": len(meter.requests), "way": way}
