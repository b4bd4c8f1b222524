"""Reaching a server: its address is checked, and the connection goes to the checked address itself."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl

from extractors.address import Resolve, checked
from extractors.imap.config import ImapConfig
from extractors.imap.errors import translated
from schemas.errors import AuthError

CONNECT_S = 10.0


async def dial(config: ImapConfig, resolve: Resolve, read_s: float) -> socket.socket:
    """A connected socket that waits at most ``read_s`` for each read; nothing was said on it yet."""
    addresses = await checked(config.host, config.port, resolve, allow_private=config.allow_private)
    _require_encryption(config, addresses)
    failure: Exception = OSError("no address")
    for address in addresses:
        try:
            return await _connected(address, config.port, read_s)
        except OSError as error:
            failure = error
    raise translated(failure, config.host) from failure


async def _connected(address: str, port: int, read_s: float) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setblocking(False)
        async with asyncio.timeout(CONNECT_S):
            await asyncio.get_running_loop().sock_connect(opened, (address, port))
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        opened.settimeout(read_s)
    except BaseException:
        opened.close()
        raise
    return opened


def _require_encryption(config: ImapConfig, addresses: object) -> None:
    if config.security != "none" or config.allow_unencrypted:
        return
    assert isinstance(addresses, list | tuple)
    if not all(ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in addresses):
        raise AuthError(
            f"{config.host} is not this machine, and the connection would not be encrypted",
            remedy='set security = "tls" or "starttls"',
        )


def tls_for(config: ImapConfig, given: ssl.SSLContext | None) -> ssl.SSLContext:
    """Reads files: call it in a thread."""
    if given is not None:
        return given
    try:
        return ssl.create_default_context(cafile=config.ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise AuthError(f"{config.ca_file} is no certificate: {error}", remedy="set ca_file to a PEM file") from error
