"""A process that asks for an access token when told to, and may die at a given point: run by test_oauth_processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from extractors.connector import Login
from extractors.oauth.store import VaultTokens
from extractors.oauth.token import Token
from forewatch.access import Credentials
from forewatch.log import configure
from forewatch.settings import Settings
from schemas.account import AccountState
from schemas.clock import SystemClock
from schemas.errors import ForewatchError


class Source:
    login = Login(reads="mail", scopes={"oidc": ("mail",)})


def account_at(issuer: str) -> AccountState:
    config = {"provider": "oidc", "client_id": "forewatch", "issuer": issuer, "allow_private": True}
    return AccountState(id="nora", owner="me", connector="source", config=config, created_at=SystemClock().now())


def credentials(home: Path) -> Credentials:
    return Credentials(Settings(home=home), SystemClock(), {"source": Source()})  # type: ignore[dict-item]


def die_at(point: str) -> None:
    original = VaultTokens.replace

    async def replace(self: VaultTokens, old: Token | None, new: Token) -> bool:
        is_mark = new.renewing_since is not None
        if point == "before storing" and not is_mark:
            os.kill(os.getpid(), signal.SIGKILL)
        done = await original(self, old, new)
        if (point, is_mark) in (("before asking", True), ("after storing", False)):
            os.kill(os.getpid(), signal.SIGKILL)
        return done

    VaultTokens.replace = replace  # type: ignore[method-assign]


async def main(home: str, issuer: str, point: str) -> None:
    die_at(point)
    async with credentials(Path(home)).open(account_at(issuer), asked=False) as access:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        try:
            said = {"token": await access.token()}
        except ForewatchError as error:
            said = {"error": f"{type(error).__name__}: {error}"}
    sys.stdout.write(json.dumps(said) + "\n")


def start(home: str, issuer: str, point: str) -> None:
    configure("debug")
    asyncio.run(main(home, issuer, point))
