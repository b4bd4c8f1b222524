"""Where the commands work: the settings of the chosen home, the log behind them, the client of a running service."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from forewatch.client import Client
from forewatch.settings import Settings, named_home
from schemas.clock import SystemClock
from schemas.duration import Duration
from schemas.errors import ConfigError, Unreachable

if TYPE_CHECKING:
    from rules.ruleset import RuleSet
    from streams.work import Log

T = TypeVar("T")

_home: ContextVar[Path | None] = ContextVar("home", default=None)

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]


def use_home(home: str | None) -> None:
    _home.set(None if home is None else named_home(home, "--home"))


def settings() -> Settings:
    return Settings.load(_home.get())


def rules_in_use() -> RuleSet:
    """Those that a service started now would use, and those that are off."""
    from forewatch.wiring import build_setup, load_rules

    chosen = settings()
    return load_rules(chosen, build_setup(chosen, SystemClock()))


def client() -> Client:
    return Client(settings().socket)


def with_log(work: Callable[[Log, Settings], Awaitable[T]]) -> T:
    """Run ``work`` on the log of the chosen home; a running service does not mind."""

    async def go() -> T:
        from streams.log import open_log

        chosen = settings()
        chosen.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        log = await open_log(chosen.broker_url, chosen.topic_prefix, chosen.partitions)
        try:
            return await work(log, chosen)
        finally:
            await log.close()

    return asyncio.run(go())


def duration(text: str, option: str) -> timedelta:
    """ConfigError names the option whose value is not one."""
    try:
        return Duration.parse(text).timedelta()
    except ValueError as error:
        raise ConfigError(f"{option}: {error}") from error


def tell_service() -> bool:
    """A running service looks at once at what was appended; was there one to tell?"""
    try:
        client().post("/wake")
    except Unreachable:
        return False
    return True
