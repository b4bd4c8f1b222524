"""Addresses: which of them are the public Internet, and the one that a request is pinned to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

Resolver = Callable[[str, int], Awaitable[list[str]]]
"""Host and port -> numeric addresses, best first; OSError if there is none."""

_NAT64 = IPv6Network("64:ff9b::/96")


async def resolve(host: str, port: int) -> list[str]:
    """By the machine's own resolver: the program in the sandbox has none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def is_public(address: str) -> bool:
    """False for loopback, private networks, link-local (a cloud's metadata), multicast and all that is reserved, also
    when it hides in an IPv6 address."""
    ip = _unwrapped(ip_address(address.partition("%")[0]))
    return ip is not None and ip.is_global and not ip.is_multicast


def _unwrapped(ip: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address | None:
    """The IPv4 address that an IPv6 one stands for; None for the tunnels, which may end anywhere."""
    if isinstance(ip, IPv4Address):
        return ip
    if ip.ipv4_mapped is not None:
        return ip.ipv4_mapped
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFFFFFF)
    return None if ip.sixtofour or ip.teredo else ip


def pinned(addresses: list[str], *, private: bool) -> str | None:
    """The address to ask; None if any of them is not public: a name that is both is a trick."""
    if not addresses or not (private or all(map(is_public, addresses))):
        return None
    return addresses[0]
