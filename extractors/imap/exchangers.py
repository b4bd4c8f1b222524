"""Who takes the mail of a domain: its MX records, a hint at who keeps its mailboxes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dns.asyncresolver import Resolver

Exchangers = Callable[[str], Awaitable[Sequence[str]]]
"""From a domain to the names of its mail exchangers, the preferred one first; none where nothing is known."""

_WAIT_S = 5.0
_MOST = 20


async def exchangers_of(domain: str, resolver: Resolver | None = None) -> Sequence[str]:
    """By DNS. A hint must not fail anything: whatever goes wrong means that nothing is known."""
    from dns import asyncresolver
    from dns.exception import DNSException

    try:
        asked = resolver or asyncresolver.get_default_resolver()
        answer = await asked.resolve(domain, "MX", lifetime=_WAIT_S)
    except (DNSException, OSError):
        return ()
    found = sorted((record.preference, record.exchange.to_text(omit_final_dot=True)) for record in answer)
    return [name for _, name in found[:_MOST]]
