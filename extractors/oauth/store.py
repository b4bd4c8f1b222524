"""Tokens in the vault, under the account's lock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from extractors.oauth.token import Token
from extractors.oauth.tokens import RENEWAL_S
from extractors.vault import Secrets, Vault, account_lock

TOKEN = "oauth_token"
CLIENT_SECRET = "client_secret"
"""Their names among the account's secrets."""

_LOCK_S = RENEWAL_S * 2


@dataclass(frozen=True, slots=True)
class VaultTokens:
    """A ``TokenStore``. ``locks``: the folder of lock files, one for all processes."""

    vault: Vault
    locks: Path
    account: str

    async def read(self) -> Token | None:
        return _token(await asyncio.to_thread(self.vault.secrets, self.account))

    async def replace(self, old: Token | None, new: Token) -> bool:
        return await asyncio.to_thread(self._write, new, lambda secrets: _token(secrets) == old)

    async def put(self, new: Token) -> None:
        await asyncio.to_thread(self._write, new)

    def _write(self, token: Token, only_if: Callable[[Secrets], bool] | None = None) -> bool:
        return self.vault.update(self.account, {TOKEN: token.dump()}, only_if=only_if)

    def locked(self) -> AbstractAsyncContextManager[None]:
        return account_lock(self.locks, self.account, _LOCK_S)


def _token(secrets: Secrets) -> Token | None:
    text = secrets.get(TOKEN)
    return Token.load(text) if text else None
