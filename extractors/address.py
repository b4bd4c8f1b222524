"""Which network addresses may be called: the guard against requests that a person or a server aims inside.

A name is resolved once, each address is checked, and the connection goes to the checked address itself: a name that
answers differently a moment later (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

import httpx

from schemas.errors import AuthError, TransientError

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port to numeric addresses, best first; OSError when there are none."""

_METADATA = frozenset(
    map(ipaddress.ip_address, ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16"))
)
"""Where clouds hand out credentials."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")

_ADDRESSES_TRIED = 3


DEFAULT_PORTS = {"http": 80, "https": 443}


class NoAddress(TransientError):
    """A name leads nowhere now: nothing was asked."""


async def resolve_here(host: str, port: int) -> Sequence[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))


async def checked(host: str, port: int, resolve: Resolve, *, allow_private: bool) -> Sequence[str]:
    """The numeric addresses to try. AuthError when even one of them must not be called; TransientError when none is."""
    try:
        addresses = await resolve(host, port)
    except (OSError, UnicodeError) as error:
        raise NoAddress(f"{host} has no address now: {error}") from error
    for address in addresses:
        if reason := refusal(address, allow_private=allow_private):
            raise AuthError(f"{host} leads to {address}, {reason[0]}", remedy=reason[1])
    if not addresses:
        raise NoAddress(f"{host} has no address now")
    return addresses[:_ADDRESSES_TRIED]


def origin(url: httpx.URL) -> tuple[str, str, int]:
    """Scheme, host and port: what a credential is for."""
    return url.scheme, url.host, url.port or DEFAULT_PORTS.get(url.scheme, 0)


def parse_url(url: str) -> httpx.URL:
    """webcal is https by convention. AuthError for what cannot be fetched or hides a password in the address."""
    scheme, colon, rest = url.strip().partition(":")
    if scheme.lower() in ("webcal", "webcals"):
        scheme = "https"
    try:
        target = httpx.URL(f"{scheme}{colon}{rest}")
    except (httpx.InvalidURL, ValueError) as error:
        raise AuthError(f"not a web address: {error}", remedy="copy it again") from error
    if target.scheme not in ("http", "https") or not target.host:
        raise AuthError(f"not a web address: {url[:40]!r}", remedy="it begins with https://, http:// or webcal://")
    if target.userinfo:
        raise AuthError(
            f"the address of {target.host} holds a password", remedy="leave it out: secrets are asked for separately"
        )
    return target.copy_with(fragment=None)


def refusal(address: str, *, allow_private: bool) -> tuple[str, str] | None:
    """Why this numeric address must not be called, and the remedy; None if it may be."""
    ip = _innermost(address.partition("%")[0])
    is_odd = ip.is_link_local or ip.is_multicast or ip.is_unspecified or (ip.is_reserved and not ip.is_loopback)
    if is_odd or ip in _METADATA:
        return "which is no address of a web server", "use another address"
    if not ip.is_global and not allow_private:
        return "which is inside a private network", "if that is meant, set allow_private = true for this account"
    return None


def _innermost(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The IPv4 address that an IPv6 one wraps, if it wraps one."""
    ip = ipaddress.ip_address(address)
    if isinstance(ip, ipaddress.IPv6Address):
        wrapped = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _NAT64:
            wrapped = ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
        return wrapped or ip
    return ip
