"""What lets a test's polls in: secrets and tokens in memory, and a client that may call this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime

from extractors.connector import Access, Quota
from extractors.http import Http, Limits
from schemas.errors import AuthError, RateLimited


@dataclass
class Key:
    """Kept between polls, like the vault: ``secrets`` by name, ``tokens(refused) -> token``, calls by quota."""

    secrets: dict[str, str] = field(default_factory=dict)
    tokens: Callable[[str], str] | None = None
    limits: Limits = field(default_factory=lambda: Limits(connect_s=10, read_s=20, total_s=40))
    spent: dict[str, list[datetime]] = field(default_factory=dict)
    asked: bool = False

    @asynccontextmanager
    async def open(self, now: datetime) -> AsyncIterator[Access]:
        async with Http(lambda: now, allow_private=True, limits=self.limits) as http:
            yield _Access(self, http, now)


@dataclass(frozen=True)
class _Access:
    key: Key
    http: Http
    now: datetime

    def secret(self, name: str) -> str:
        if name not in self.key.secrets:
            raise AuthError(f"this account has no {name}", remedy="connect it again")
        return self.key.secrets[name]

    async def token(self, refused: str = "") -> str:
        if self.key.tokens is None:
            raise AuthError("this account has no consent", remedy="connect it again")
        return self.key.tokens(refused)

    async def remember(self, secrets: Mapping[str, str]) -> None:
        self.key.secrets |= secrets

    async def spend(self, quota: Quota) -> None:
        calls = self.key.spent.setdefault(quota.name, [])
        recent = [at for at in calls if at > self.now - quota.per]
        if len(recent) >= quota.calls - (0 if self.key.asked else quota.reserve):
            raise RateLimited(f"{quota.name}: no call left", retry_at=min(recent, default=self.now) + quota.per)
        calls.append(self.now)
