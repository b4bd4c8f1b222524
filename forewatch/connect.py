"""Connecting an account: discover the server, ask for what lets us in, try it, and only then keep it.

Until the source has answered, everything is in memory: a connection that fails leaves nothing behind.
"""

from __future__ import annotations

import secrets as randomness
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from pydantic import BaseModel, ValidationError

from extractors.connector import Connector, Context, Login, Quota
from extractors.consent import Consent
from extractors.http import Http
from extractors.oauth.consent import by_browser, by_device, first_of
from extractors.oauth.device import DeviceCode
from extractors.oauth.discovery import client_of
from extractors.oauth.loopback import Loopback
from extractors.oauth.store import CLIENT_SECRET, TOKEN
from extractors.oauth.token import Token
from extractors.oauth_settings import OAuthSettings
from extractors.providers import provider_of
from forewatch.access import Credentials
from forewatch.settings import Settings
from schemas.account import Permission
from schemas.clock import Clock
from schemas.errors import AuthError, ConfigError
from schemas.model import Json
from schemas.suggest import did_you_mean

SECRET_FILE_CAP = 64_000
CONSENT_S = 900.0
"""A bank's page takes longer than a sign-in."""


class Person(Protocol):
    """Whoever is at the keyboard."""

    def tell(self, text: str) -> None: ...

    def visit(self, url: str) -> None:
        """Open this page, or say that it is to be opened."""
        ...

    async def ask(self, question: str, *, hidden: bool = False) -> str:
        """One line. ``hidden``: it is not shown while it is typed."""
        ...


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was given beforehand. ``options``: account settings; ``secrets``: by name; ``device``: sign in by a code
    that is typed on another machine; ``redirect``: the address that is registered with a bank's gateway, where a
    loopback address is not."""

    options: Mapping[str, Json] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    device: bool = False
    redirect: str = ""
    allow: Sequence[Permission] = ()
    """What tools are granted beside reading."""


@dataclass(slots=True)
class Connected:
    """What a connection needs to be kept: settings for the log, the rest for the vault."""

    config: dict[str, Json]
    secrets: dict[str, str]
    token: Token | None
    found: Sequence[str]
    """What is there, in the connector's words."""

    @property
    def ends_at(self) -> datetime | None:
        """When the consent ends by itself, where its provider says so."""
        return self.token.ends_at if self.token else None

    async def keep(self, credentials: Credentials, account: str) -> None:
        """Sealed and durable on return."""
        if self.secrets:
            await credentials.keep(account, self.secrets)
        if self.token is not None:
            await credentials.consent(account, self.token)


class _Memory:
    """The ``Access`` of an account that does not exist yet."""

    def __init__(self, http: Http, secrets: dict[str, str]) -> None:
        self.http = http
        self.secrets = secrets
        self.given: Token | None = None

    def secret(self, name: str) -> str:
        if not (value := self.secrets.get(name)):
            raise AuthError(f"there is no {name}", remedy="enter it")
        return value

    async def token(self, refused: str = "") -> str:
        if self.given is None or self.given.access_token == refused:
            raise AuthError("the source does not accept the consent that was just given", remedy="begin again")
        return self.given.access_token

    async def remember(self, secrets: Mapping[str, str]) -> None:
        self.secrets |= secrets

    async def spend(self, quota: Quota) -> None:
        """A person asked."""


@dataclass(frozen=True, slots=True)
class Connecting:
    """One attempt. ``reconnect`` asks again for an account that exists."""

    settings: Settings
    clock: Clock
    person: Person
    wishes: Wishes

    async def add(self, connector: Connector, hint: str) -> Connected:
        """AuthError, TransientError or ConfigError when it cannot be; nothing is stored then."""
        login = login_of(connector)
        self.person.tell(f"Forewatch will read {login.reads}.")
        return await self._within(connector, {}, hint)

    async def again(
        self, connector: Connector, config: Mapping[str, Json], known: Mapping[str, str] = MappingProxyType({})
    ) -> Connected:
        """The same source, let in anew. ``known``: the secrets that we hold; what a person signs in with is asked
        again, unless it is only the key to a page where the person then consents."""
        login = login_of(connector)
        asked = set() if hasattr(connector, "begin") else {each.name for each in login.secrets}
        kept = {name: value for name, value in known.items() if name not in asked and name != TOKEN}
        wishes = replace(self.wishes, secrets={**kept, **dict.fromkeys(login.voids, ""), **self.wishes.secrets})
        return await replace(self, wishes=wishes)._within(connector, config, None)

    async def check(self, connector: Connector, config: Mapping[str, Json], access: Any) -> Sequence[str]:
        """What the source shows with the credentials that we hold."""
        found: Sequence[str] = await connector.check(checked(connector, config), self._context(access))  # type: ignore[attr-defined]
        return found

    async def _within(self, connector: Connector, known: Mapping[str, Json], hint: str | None) -> Connected:
        options = {**known, **self.wishes.options}
        async with Http(self.clock.now, allow_private=options.get("allow_private") is True) as http:
            memory = _Memory(http, dict(self.wishes.secrets))
            if hint is not None:
                found = await self._discovered(connector, hint, options, memory)
                for name, value in found.items():
                    self.person.tell(f"found {name.replace('_', ' ')}: {_shown(value)}")
                options = {**found, **options}
            config = checked(connector, options)
            await self._let_in(connector, config, memory)
            there = await self._consented(connector, config, memory)
            if there is None:
                there = await self.check(connector, options, memory)
        kept = {**config.model_dump(mode="json", exclude_defaults=True), **_names(options)}
        return Connected(kept, memory.secrets, memory.given, there)

    async def _discovered(
        self, connector: Connector, hint: str, options: Mapping[str, Json], memory: _Memory
    ) -> dict[str, Json]:
        """Some sources want to know who asks before they say anything."""
        discover: Callable[[str, Context], Awaitable[dict[str, Json]]] = connector.discover  # type: ignore[attr-defined]
        try:
            return await discover(hint, self._context(memory))
        except AuthError:
            if options.get("provider") or not await self._ask_secrets(login_of(connector), memory):
                raise
            return await discover(hint, self._context(memory))

    async def _let_in(self, connector: Connector, config: BaseModel, memory: _Memory) -> None:
        login = login_of(connector, config)
        settings = OAuthSettings(
            **{name: getattr(config, name, "") for name in OAuthSettings.model_fields if hasattr(config, name)}
        )
        if settings.provider:
            memory.given = await self._signed_in(login, settings, memory)
        else:
            await self._ask_secrets(login, memory)

    async def _ask_secrets(self, login: Login, memory: _Memory) -> bool:
        """Was there anything to ask?"""
        missing = [each for each in login.secrets if each.name not in memory.secrets]
        for each in missing:
            if each.help:
                self.person.tell(f"{each.prompt}: {each.help}")
            memory.secrets[each.name] = typed_secret(await self.person.ask(each.prompt, hidden=True))
        return bool(missing)

    async def _signed_in(self, login: Login, settings: OAuthSettings, memory: _Memory) -> Token:
        provider = provider_of(settings)
        needed = login.granting(provider.name, self.wishes.allow)
        scopes = [*needed, *provider.also]
        if CLIENT_SECRET not in memory.secrets:
            question = f"Secret of the client {settings.client_id} (empty: it has none)"
            memory.secrets[CLIENT_SECRET] = typed_secret(await self.person.ask(question, hidden=True))
        client = await client_of(settings, memory.secrets[CLIENT_SECRET], memory.http)
        self.person.tell(f"It asks {client.title} for: {', '.join(scopes)}.")
        if self.wishes.device:
            token = await by_device(client, scopes, memory.http, self.clock, self._show_code)
        else:
            token = await by_browser(client, scopes, memory.http, self.clock, self.person.visit, pasted=self._pasted)
        if missing := provider.missing(needed, token.scope):
            raise AuthError(
                f"{client.title} was not allowed to give: {', '.join(missing)}",
                remedy="begin again and leave every box ticked",
            )
        return token

    def _show_code(self, code: DeviceCode) -> None:
        self.person.tell(f"On any device open {code.address} and type {code.user_code}")

    async def _pasted(self) -> str:
        return await self.person.ask("If your browser runs elsewhere, paste the address where it ended")

    async def _consented(self, connector: Connector, config: BaseModel, memory: _Memory) -> Sequence[str] | None:
        """For a bank that asks on a page of its own; None for every other source."""
        begin = getattr(connector, "begin", None)
        if begin is None:
            return None
        state = randomness.token_urlsafe(24)
        async with Loopback() as listener:
            context = self._context(memory)
            redirect = self.wishes.redirect or f"http://127.0.0.1:{listener.port}/callback"
            consent: Consent = await begin(config, context, redirect=redirect, state=state)
            self.person.visit(consent.url)
            answer = await first_of(listener.answer(lambda url: state in url, CONSENT_S), self._pasted)
        found: Sequence[str] = await connector.finish(config, context, answer=answer)  # type: ignore[attr-defined]
        return found

    def _context(self, access: Any) -> Context:
        return Context(self.settings.owner, "new", self.settings.zone, self.clock.now(), access)


def _shown(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _names(options: Mapping[str, Json]) -> dict[str, Json]:
    """What names the OAuth client is kept even where it is the connector's default: the vault looks there."""
    return {name: options[name] for name in OAuthSettings.model_fields if options.get(name)}


def login_of(connector: Connector, config: BaseModel | None = None) -> Login:
    """ConfigError for a source that lets anybody in. A connector with ``login_for`` asks for what its settings say."""
    login_for: Callable[[BaseModel], Login] | None = getattr(connector, "login_for", None)
    if config is not None and login_for is not None:
        return login_for(config)
    login: Login | None = getattr(connector, "login", None)
    if login is None:
        raise ConfigError(f"{connector.name} needs no sign-in")
    return login


def checked(connector: Connector, config: Mapping[str, Json]) -> BaseModel:
    """The settings as the connector's model; ConfigError names the one that is wrong."""
    try:
        return connector.config.model_validate(dict(config))
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = ".".join(map(str, fault["loc"]))
        if fault["type"] == "extra_forbidden":
            known = list(connector.config.model_fields)
            raise ConfigError(f"{connector.name} has no setting {name!r}", remedy=did_you_mean(name, known)) from error
        raise ConfigError(
            f"{connector.name}: {name}: {fault['msg']}", remedy=f"give it with --set {name}=VALUE"
        ) from error


def typed_secret(entered: str) -> str:
    """As it was typed; ``@FILE`` stands for what the file holds, where there is such a file: passwords begin as they
    like."""
    is_file = entered.startswith("@") and Path(entered[1:]).expanduser().is_file()
    return read_secret(entered) if is_file else entered


def read_secret(entered: str) -> str:
    """``@FILE`` stands for what the file holds, such as a key of many lines."""
    if not entered.startswith("@"):
        return entered
    path = Path(entered[1:]).expanduser()
    try:
        if path.stat().st_size > SECRET_FILE_CAP:
            raise ConfigError(f"{path} is too large for a secret", remedy="name the file that holds just the secret")
        return path.read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}", remedy="check the path") from error
