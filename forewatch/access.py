"""How polls are let in: the vault, the tokens and the guarded client of each account, put together.

Also what the command line needs to connect an account and to part with it. Everything heavy is imported on first use:
a Forewatch that only reads files pays for none of it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError

from extractors.connector import Access, Connector, Login, NoAccess, Quota
from extractors.oauth_settings import OAuthSettings
from forewatch.settings import PREFIX, Settings, credential
from schemas.account import AccountState
from schemas.clock import Clock
from schemas.errors import AuthError, ConfigError, ForewatchError

if TYPE_CHECKING:
    from extractors.http import Http
    from extractors.oauth.client import Client
    from extractors.oauth.token import Token
    from extractors.vault import KeySource, Secrets, Vault

KEY_FILE = "vault.key"
_CREDENTIAL = "forewatch-vault-key"


def key_source(settings: Settings) -> KeySource:
    """The first there is: the variable, the systemd credential, the keyring if that is set, the key file."""
    from extractors.vault import GivenKeys, KeyFile, KeyringKeys

    if settings.vault_key is not None:
        return GivenKeys(f"{PREFIX}VAULT_KEY", settings.vault_key.get_secret_value())
    if (given := credential(_CREDENTIAL)) is not None:
        return GivenKeys(*given)
    if settings.vault_keyring:
        return KeyringKeys(str(settings.home))
    return KeyFile(settings.home / KEY_FILE)


class Credentials:
    """What this process may know of accounts. The vault is opened, or made, when it is first needed."""

    def __init__(self, settings: Settings, clock: Clock, connectors: Mapping[str, Connector]) -> None:
        self._settings = settings
        self._clock = clock
        self._connectors = connectors
        self._mutex = threading.Lock()
        self._vault: Vault | None = None

    def __repr__(self) -> str:
        return f"Credentials({str(self._settings.vault)!r})"

    @asynccontextmanager
    async def open(self, account: AccountState, asked: bool) -> AsyncIterator[Access]:
        """A ``streams.poll.OpenAccess``. A vault that does not open fails only the accounts that need it."""
        if self._login(account) is None:
            yield NoAccess()
            return
        secrets = await self.secrets(account.id) if self._settings.vault.exists() else {}
        async with self.http(account) as http:
            yield AccountAccess(self, account, asked, http, secrets)

    def http(self, account: AccountState) -> Http:
        from extractors.http import Http

        return Http(self._clock.now, allow_private=account.config.get("allow_private") is True)

    def now(self) -> datetime:
        return self._clock.now()

    async def secrets(self, account: str) -> Secrets:
        vault = await self._opened()
        return await asyncio.to_thread(vault.secrets, account)

    async def keep(self, account: str, secrets: Mapping[str, str], *, if_known: bool = False) -> None:
        """Sealed and durable on return; the account's other secrets stay.

        ``if_known``: AuthError where the account has none, because it was parted with meanwhile.
        """
        vault = await self._opened()
        only_if = bool if if_known else None
        if not await asyncio.to_thread(lambda: vault.update(account, dict(secrets), only_if=only_if)):
            raise AuthError(f"account {account} was disconnected meanwhile")

    async def consent(self, account: str, token: Token) -> None:
        """The tokens of a new consent take the place of the old ones."""
        from extractors.oauth.store import VaultTokens
        from extractors.oauth.tokens import install

        await install(VaultTokens(await self._opened(), self._settings.locks, account), token)

    async def client(self, account: AccountState, http: Http) -> Client:
        """The OAuth client that the account's settings name. ConfigError when they name none."""
        from extractors.oauth.discovery import client_of
        from extractors.oauth.store import CLIENT_SECRET

        secret = (await self.secrets(account.id)).get(CLIENT_SECRET, "") if self._settings.vault.exists() else ""
        return await client_of(oauth_settings(account), secret, http)

    async def token(self, account: AccountState, asked: bool, http: Http, refused: str) -> Token:
        """The current one, renewed where that is due. Errors as in ``TokenManager.current``."""
        from extractors.oauth.store import VaultTokens
        from extractors.oauth.tokens import TokenManager
        from extractors.providers import provider_of, title_of

        named, login = oauth_settings(account), self._login(account)
        provider = provider_of(named)
        store = VaultTokens(await self._opened(), self._settings.locks, account.id)

        async def client() -> Client:
            return await self.client(account, http)

        manager = TokenManager(
            account=account.id,
            provider=provider,
            title=title_of(provider, named),
            client=client,
            store=store,
            http=http,
            clock=self._clock,
            needed=login.scopes.get(provider.name, ()) if login else (),
            asked=asked,
        )
        return await manager.current(refused)

    async def spend(self, account: str, quota: Quota, asked: bool) -> None:
        vault = await self._opened()
        await asyncio.to_thread(lambda: vault.spend(account, quota, self._clock.now(), asked=asked))

    async def revoke(self, account: AccountState) -> str:
        """End the consent at the provider. What the person must still do there; empty when nothing is left to do.

        Never raises for what the provider says: parting must not depend on it.
        """
        from extractors.oauth.revoke import revoke
        from extractors.oauth.store import TOKEN
        from extractors.oauth.token import Token
        from extractors.providers import PROVIDERS

        if not self._settings.vault.exists() or (text := (await self.secrets(account.id)).get(TOKEN)) is None:
            return ""
        provider = PROVIDERS.get(oauth_settings(account).provider)
        place = (provider.manage if provider else "") or "the provider's page of connected programs"
        try:
            async with self.http(account) as http:
                client = await self.client(account, http)
                ended = await revoke(http, client, Token.load(text), self._clock.now())
        except ForewatchError as error:
            return f"the consent could not be ended ({error.message}): end it at {place}"
        return "" if ended else f"end the consent at {place}"

    async def shred(self, account: str) -> None:
        """Key, secrets, tokens and counted calls of an account are gone. May be repeated; makes no vault."""
        from extractors.vault.lock import remove_lock

        if self._settings.vault.exists():
            vault = await self._opened()
            await asyncio.to_thread(vault.shred, account)
        await asyncio.to_thread(remove_lock, self._settings.locks, account)

    async def rekey(self) -> None:
        """A new master key, where Forewatch keeps it itself; ConfigError with what to do where the person does."""
        vault = await self._opened()
        await asyncio.to_thread(vault.rekey)

    def close(self) -> None:
        if self._vault is not None:
            self._vault.close()
            self._vault = None

    def _login(self, account: AccountState) -> Login | None:
        """None: a source that lets anybody in, such as a file."""
        login: Login | None = getattr(self._connectors.get(account.connector), "login", None)
        return login

    async def _opened(self) -> Vault:
        if self._vault is not None:
            return self._vault
        return await asyncio.to_thread(self._open_vault)

    def _open_vault(self) -> Vault:
        from extractors.vault import Vault

        with self._mutex:
            vault = self._vault or Vault.open(self._settings.vault, key_source(self._settings))
            self._vault = vault
            return vault


class AccountAccess:
    """The ``Access`` of one poll."""

    def __init__(
        self, credentials: Credentials, account: AccountState, asked: bool, http: Http, secrets: Mapping[str, str]
    ) -> None:
        self._credentials = credentials
        self._account = account
        self._asked = asked
        self._http = http
        self._secrets = dict(secrets)
        self._token: Token | None = None

    def __repr__(self) -> str:
        return f"AccountAccess({self._account.id!r})"

    @property
    def http(self) -> Http:
        return self._http

    def secret(self, name: str) -> str:
        if not (value := self._secrets.get(name)):
            raise AuthError(
                f"account {self._account.id} has no {name}",
                remedy=f"connect it again: forewatch accounts auth {self._account.id}",
            )
        return value

    async def token(self, refused: str = "") -> str:
        if self._token is None or not self._token.is_good(self._credentials.now(), refused):
            self._token = await self._credentials.token(self._account, self._asked, self._http, refused)
        return self._token.access_token

    async def remember(self, secrets: Mapping[str, str]) -> None:
        await self._credentials.keep(self._account.id, secrets, if_known=bool(self._secrets))
        self._secrets |= secrets

    async def spend(self, quota: Quota) -> None:
        await self._credentials.spend(self._account.id, quota, self._asked)


def oauth_settings(account: AccountState) -> OAuthSettings:
    """The keys of an account's settings that name its OAuth client."""
    try:
        return OAuthSettings.model_validate(
            {k: v for k, v in account.config.items() if k in OAuthSettings.model_fields}
        )
    except ValidationError as error:
        name = error.errors()[0]["loc"][0]
        raise ConfigError(f"account {account.id!r}: setting {name!r} names no OAuth client") from None
