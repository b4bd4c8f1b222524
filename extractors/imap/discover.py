"""From a mail address, or the name of a server, to the settings of an account."""

from __future__ import annotations

import asyncio
import re

from extractors.connector import Context
from extractors.imap import autoconfig
from extractors.imap.config import ImapConfig
from extractors.imap.dial import dial, tls_for
from extractors.imap.login import Door, in_thread
from extractors.imap.providers import BRIDGED, exchanger_settings, oauth_for, provider_settings
from extractors.imap.session import hang_up
from extractors.imap.wire import Client
from schemas.errors import AuthError, ForewatchError
from schemas.model import Json

_DOMAIN = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}")
_HOST = re.compile(r"(?P<host>[A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::(?P<port>[0-9]{1,5}))?")
_HELLO_S = 5.0


async def settings(hint: str, context: Context, door: Door) -> dict[str, Json]:
    """``hint``: a mail address; or a host with or without its port, for a server that one knows; or nothing, where the
    person gives all settings. AuthError, with what to type instead, where no server can be found."""
    address = hint.strip()
    if not address:
        return {}
    if "@" not in address:
        return _server(address)
    local, _, domain = address.rpartition("@")
    domain = _ascii(domain)
    if not local or not _DOMAIN.fullmatch(domain):
        raise AuthError(f"{address[:80]!r} is no mail address", remedy="write name@domain, or the name of the server")
    known: dict[str, Json] = {"username": address}
    if (provider := provider_settings(domain)) is not None:
        return {**provider, **known}
    if domain in BRIDGED:
        raise AuthError(
            f"{domain} offers no IMAP", remedy="its bridge program on this machine does: give its host and port"
        )
    found = await autoconfig.ask(context.access.http, domain, address)
    if found is not None:
        place: dict[str, Json] = {"host": found.host, "port": found.port, "security": found.security}
        return {**place, "username": found.username, "addresses": [address.lower()], **oauth_for(found.host)}
    for exchanger in await door.exchangers(domain):
        if (kept_by := exchanger_settings(exchanger)) is not None:
            return {**kept_by, **known}
    for host in (f"imap.{domain}", f"mail.{domain}", domain):
        guess: dict[str, Json] = {"host": host, "port": 993, "security": "tls", **known}
        if await _answers(ImapConfig.model_validate(guess), door):
            return guess
    raise AuthError(
        f"no mail server of {domain} can be found",
        remedy=f"ask your provider for its IMAP server, and give that with --set username={address}",
    )


def _server(text: str) -> dict[str, Json]:
    """As it was typed: whether it is there, the login shows."""
    match = _HOST.fullmatch(text)
    if match is None or not 0 < int(match["port"] or 993) < 65_536:
        raise AuthError(f"{text[:80]!r} is no mail address and no server", remedy="write name@domain, or host:port")
    host, port = match["host"].strip("[]"), int(match["port"] or 993)
    return {"host": host, "port": port, "security": "starttls" if port == 143 else "tls", **oauth_for(host)}


def _ascii(domain: str) -> str:
    try:
        return domain.encode("idna").decode("ascii").lower()
    except UnicodeError:
        return ""


async def _answers(config: ImapConfig, door: Door) -> bool:
    """Whether an IMAP server with a valid certificate greets there. Nothing is told to it."""
    try:
        opened = await dial(config, door.resolve, _HELLO_S)
    except ForewatchError:
        return False
    handle = opened.dup()

    def greet() -> bool:
        try:
            Client(opened, config, tls_for(config, door.tls)).wire.close_all()
        except Exception:  # whatever it is, it is no server for us
            return False
        finally:
            opened.close()
        return True

    try:
        async with asyncio.timeout(2 * _HELLO_S):
            return await in_thread(greet, lambda: hang_up(handle), lambda answer: None)
    except TimeoutError:
        return False
    finally:
        handle.close()
