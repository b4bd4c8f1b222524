"""What leaves a sandbox: the question a program asks of the broker, the verdict, and the account kept of both."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, Protocol
from urllib.parse import urlsplit

from actions.isolation.permissions import Host, Permissions, path_is_allowed
from schemas.model import Instant, Model

Reason = Literal[
    "", "revoked", "malformed", "host_undeclared", "port_undeclared", "method_undeclared", "path_undeclared",
    "tunnel_undeclared", "private_address", "no_secret", "too_large", "no_address", "unreachable", "broken_off",
]  # fmt: skip
"""Why it was blocked, or how it ended early; "" for neither."""


class EgressEntry(Model):
    """One line of the account. A request is one ``blocked`` line, or a ``started`` and an ``ended`` one of the same id.

    ``path`` is without its query: that may hold private words. Bytes are those of bodies, and of tunnels.
    """

    id: str
    at: Instant
    plugin: str
    version: str
    phase: Literal["blocked", "started", "ended"]
    reason: Reason = ""
    method: str
    host: str
    port: int
    path: str = ""
    address: str = ""
    """The one that was pinned for this request."""
    status: int = 0
    bytes_out: int = 0
    bytes_in: int = 0
    credential: str = ""
    """The name of the secret that the broker added."""


class EgressLedger(Protocol):
    """Where the account is kept. Quick, and never fails for what an entry says."""

    def note(self, entry: EgressEntry) -> None: ...


@dataclass(frozen=True, slots=True)
class Question:
    """``port`` None: not named. ``target`` is path and query; empty for a tunnel."""

    method: str
    host: str
    port: int | None
    target: str = ""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def is_tunnel(self) -> bool:
        return self.method == "CONNECT"


_TRICKS = re.compile(r"%2e|%2f|%5c|%25|%00|\\|//|[\x00-\x20\x7f-\xff]", re.IGNORECASE)
"""What two servers may read as two different paths."""


def question(method: str, target: str, host_header: str) -> Question | None:
    """From a request line in any of HTTP's forms (RFC 9112, 3.2); None if it makes no sense."""
    try:
        if method == "CONNECT":
            parts = urlsplit(f"//{target}")
            return Question(method, parts.hostname or "", parts.port) if parts.hostname and parts.port else None
        if target.startswith("/"):
            parts, rest = urlsplit(f"//{host_header}"), target
        else:
            parts = urlsplit(target)
            if parts.scheme not in ("http", "https"):
                return None
            rest = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if not parts.hostname or "@" in parts.netloc:
            return None
        return Question(method, parts.hostname.rstrip("."), parts.port, rest)
    except ValueError:  # a port that is no number, a broken IPv6 address
        return None


def judge(asked: Question, permissions: Permissions) -> Host | Reason:
    """The declaration that allows it, or why nothing does."""
    hosts = [host for host in permissions.hosts if host.host == asked.host]
    if not hosts:
        return "host_undeclared"
    hosts = [host for host in hosts if asked.port in (None, host.port)]
    if not hosts:
        return "port_undeclared"
    if asked.is_tunnel:
        return next((host for host in hosts if host.tunnel), "tunnel_undeclared")
    if _TRICKS.search(asked.path) or any(part in (".", "..") for part in asked.path.split("/")):
        return "malformed"
    hosts = [host for host in hosts if not host.tunnel and asked.method in host.methods]
    if not hosts:
        return "method_undeclared"
    return next((host for host in hosts if path_is_allowed(asked.path, host.paths)), "path_undeclared")
