"""The person at the terminal, for commands that sign in to a source."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import webbrowser
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from rich.console import Console

from extractors import registry
from extractors.connector import Connector, Context, Login
from forewatch.access import Credentials
from forewatch.cli.console import say, talk
from forewatch.cli.place import settings
from forewatch.connect import Connected, Connecting, Wishes, checked, read_secret
from schemas.account import AccountState, Permission
from schemas.clock import SystemClock
from schemas.errors import AuthError, ConfigError, ForewatchError
from schemas.model import Json

T = TypeVar("T")


class Terminal:
    """Questions go to stderr, answers come from the terminal, or line by line from a pipe."""

    def tell(self, text: str) -> None:
        say(text)

    def visit(self, url: str) -> None:
        say(f"Open this page to give your consent:\n{url}")
        if sys.stdin.isatty() and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            webbrowser.open(url)

    async def ask(self, question: str, *, hidden: bool = False) -> str:
        answer = await _in_daemon(lambda: _line(question, hidden))
        if answer is None:
            raise AuthError(f"{question}: nothing was entered", remedy="run it in a terminal, or give it with --secret")
        return answer


def _line(question: str, hidden: bool) -> str | None:
    """None at the end of the input."""
    if sys.stdin.isatty():
        return Console(stderr=True).input(f"{question}: ", password=hidden, markup=False)
    line = sys.stdin.readline()
    return line.removesuffix("\n") if line else None


async def _in_daemon(work: Callable[[], T]) -> T:
    """In a thread that the end of the process does not wait for: somebody may never answer."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]  # what work gave

    def run() -> None:
        result, fault = None, None
        try:
            result = work()
        except BaseException as error:
            fault = error
        try:
            loop.call_soon_threadsafe(settle, result, fault)
        except RuntimeError:  # the loop has ended: nobody asks any more
            return

    threading.Thread(target=run, daemon=True).start()
    return await done


def wishes(
    options: Mapping[str, Json],
    secrets: Sequence[str],
    device: bool,
    redirect: str,
    allow: Sequence[Permission] = (),
) -> Wishes:
    """``secrets``: NAME=@FILE each; a secret on the command line itself would be there for everybody to see."""
    given = {}
    for each in secrets:
        name, equals, value = each.partition("=")
        if not equals or not value.startswith("@"):
            raise ConfigError(f"--secret {name}: not of the form NAME=@FILE", remedy="or enter it when asked")
        given[name] = read_secret(value)
    return Wishes(options, given, device, redirect, allow)


def permissions(account: AccountState, given: Sequence[str]) -> tuple[Permission, ...]:
    """ConfigError for a word that is none, or that this kind of source cannot give."""
    login: Login | None = getattr(registry.connector(account.connector), "login", None)
    possible = login.allows if login is not None else {}
    if list(given) == ["nothing"]:
        return ()
    for word in given:
        if word not in possible:
            remedy = f"it can: {', '.join(possible)}, nothing" if possible else "tools can only read it"
            raise ConfigError(f"--allow {word}: not for a {account.connector} account", remedy=remedy)
    return tuple(each for each in possible if each in given)


def needs_consent(account: AccountState, granted: Sequence[Permission]) -> bool:
    """Whether a page of the provider must be seen: not for a password, and not to take something back."""
    return bool(account.config.get("provider")) and not set(granted) <= set(account.allow)


def granted(account: AccountState, wanted: Wishes) -> dict[str, Json]:
    """The settings of an account whose password opens more than reading, after trying that. Errors as in ``check``."""
    connector = registry.connector(account.connector)
    config = checked(connector, {**account.config, **wanted.options})

    async def go(credentials: Credentials) -> None:
        from forewatch.outgoing.accounts import can_send

        state = account.model_copy(update={"config": {**account.config, **wanted.options}})
        async with credentials.open(state, True) as access:
            await can_send(config, access)

    if "send" in wanted.allow:
        _with_credentials(go)
    return {**account.config, **wanted.options}


def connect(connector: Connector, hint: str, wanted: Wishes, account: str) -> Connected:
    """Signed in, tried and kept. The errors of ``Connecting.add``; nothing is kept then."""

    async def go(credentials: Credentials) -> Connected:
        connected = await Connecting(settings(), SystemClock(), Terminal(), wanted).add(connector, hint)
        await connected.keep(credentials, account)
        return connected

    return _told(_with_credentials(go))


def reconnect(account: AccountState, wanted: Wishes) -> Connected:
    async def go(credentials: Credentials) -> Connected:
        connector = registry.connector(account.connector)
        attempt = Connecting(settings(), SystemClock(), Terminal(), wanted)
        known = await credentials.secrets(account.id) if settings().vault.exists() else {}
        connected = await attempt.again(connector, account.config, known)
        await connected.keep(credentials, account.id)
        return connected

    return _told(_with_credentials(go))


def check(account: AccountState) -> Sequence[str]:
    """What the source shows now. Files and public addresses have nothing to log in to."""
    connector = registry.connector(account.connector)
    if getattr(connector, "login", None) is None:
        return [f"{account.id} needs no sign-in; 'forewatch events preview {account.title}' shows what is there"]

    async def go(credentials: Credentials) -> Sequence[str]:
        async with credentials.open(account, True) as access:
            attempt = Connecting(settings(), SystemClock(), Terminal(), Wishes())
            return await attempt.check(connector, account.config, access)

    return _with_credentials(go)


def part(account: AccountState) -> None:
    """End the consent at the provider and destroy the secrets."""

    async def go(credentials: Credentials) -> str:
        await _withdraw(credentials, account)
        left = await credentials.revoke(account)
        await credentials.shred(account.id)
        return left

    if left := _with_credentials(go):
        say(left)


async def _withdraw(credentials: Credentials, account: AccountState) -> None:
    """At a bank's gateway, where the consent was given there. Parting must not depend on its answer."""
    connector = registry.connector(account.connector)
    withdraw = getattr(connector, "withdraw", None)
    if withdraw is None:
        return
    try:
        async with credentials.open(account, True) as access:
            context = Context(account.owner, account.id, settings().zone, SystemClock().now(), access)
            await withdraw(checked(connector, account.config), context)
    except ForewatchError as error:
        say(f"the consent could not be ended there ({error.message}); it ends by itself")


def rekey() -> None:
    async def go(credentials: Credentials) -> None:
        await credentials.rekey()

    _with_credentials(go)


def _told(connected: Connected) -> Connected:
    for line in connected.found:
        talk.print(line, markup=False)
    return connected


def _with_credentials(work: Callable[[Credentials], Coroutine[Any, Any, T]]) -> T:
    chosen = settings()
    chosen.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    credentials = Credentials(chosen, SystemClock(), registry.Connectors())
    try:
        return asyncio.run(work(credentials))
    finally:
        credentials.close()
