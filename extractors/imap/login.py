"""Logging in: TLS or STARTTLS first, then a password, XOAUTH2 or OAUTHBEARER."""

from __future__ import annotations

import asyncio
import imaplib
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from extractors.address import Resolve, resolve_here
from extractors.connector import Access
from extractors.imap.config import ImapConfig
from extractors.imap.dial import dial, tls_for
from extractors.imap.errors import LoginRefused, no_entry, refused, translated
from extractors.imap.exchangers import Exchangers, exchangers_of
from extractors.imap.session import Session, hang_up
from extractors.imap.wire import Client
from schemas.errors import AuthError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Door:
    """How servers are reached. ``exchangers``: who takes a domain's mail. ``tls``: None for the system's certificates,
    or those of the account. ``read_s``: the longest silence of a server that is borne."""

    resolve: Resolve = resolve_here
    exchangers: Exchangers = exchangers_of
    tls: ssl.SSLContext | None = None
    read_s: float = 60


async def log_in(config: ImapConfig, access: Access, door: Door) -> Session:
    """A session of this account. A refused token is exchanged once for a newer one. Errors as in ``Connector.pull``."""
    if not config.provider:
        password = access.secret("password")
        try:
            return await _attempt(config, password, door)
        except LoginRefused as error:
            raise no_entry(str(error), config) from error
    token = await access.token()
    try:
        return await _attempt(config, token, door)
    except LoginRefused:
        newer = await access.token(token)
    try:
        return await _attempt(config, newer, door)
    except LoginRefused as error:
        raise no_entry(str(error), config) from error


async def _attempt(config: ImapConfig, credential: str, door: Door) -> Session:
    opened = await dial(config, door.resolve, door.read_s)
    handle = opened.dup()

    def speak() -> Session:
        client: Client | None = None
        try:
            trusted = tls_for(config, door.tls)
            client = Client(opened, config, trusted)
            _secure(client, config, trusted)
            _authenticate(client, config, credential)
            session = Session(client, handle)
            session.can()
            return session
        except Exception as error:
            if client is not None:
                client.wire.close_all()
            opened.close()
            handle.close()
            raise error if isinstance(error, LoginRefused) else translated(error, config.host) from error

    return await in_thread(speak, lambda: hang_up(handle), Session.close)


async def in_thread(work: Callable[[], T], stop: Callable[[], None], drop: Callable[[T], None]) -> T:
    """Like ``asyncio.to_thread``, but a cancelled caller ends the work with ``stop`` and waits until it has ended.

    ``drop`` is given what the work returned although nobody waits for it any more.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop()
        await asyncio.wait([running])
        if not running.cancelled() and running.exception() is None:
            drop(running.result())
        raise


def _secure(client: Client, config: ImapConfig, tls: ssl.SSLContext) -> None:
    if config.security != "starttls":
        return
    if not client.has_capability("STARTTLS"):
        raise AuthError(
            f"{config.host} offers no encryption on port {config.port}", remedy='try security = "tls" on port 993'
        )
    client.starttls(tls)


def _authenticate(client: Client, config: ImapConfig, credential: str) -> None:
    """LoginRefused, or another error of ours, where the server says no."""
    if any(ord(letter) < 32 for letter in credential):
        raise AuthError("a password or token holds a control character", remedy="enter it again")
    try:
        if config.provider:
            _by_token(client, config, credential)
        elif credential.isascii() and config.username.isascii() and not client.has_capability("LOGINDISABLED"):
            client.login(config.username, credential)
        else:
            client.plain_login(config.username, credential)
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error as error:
        raise refused(str(error), config) from error


def _by_token(client: Client, config: ImapConfig, token: str) -> None:
    """XOAUTH2 is what most servers know, OAUTHBEARER the standard. One that explains its no wants one more word."""
    if client.has_capability("AUTH=OAUTHBEARER") and not client.has_capability("AUTH=XOAUTH2"):
        name = config.username.replace("=", "=3D").replace(",", "=2C")
        words = [f"n,a={name},\1auth=Bearer {token}\1\1", "\1"]
        mechanism = "OAUTHBEARER"
    else:
        words = [f"user={config.username}\1auth=Bearer {token}\1\1", ""]
        mechanism = "XOAUTH2"
    client.sasl_login(mechanism, lambda challenge: words.pop(0) if len(words) > 1 else words[0])
