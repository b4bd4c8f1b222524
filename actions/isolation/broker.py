"""The egress broker: outside of the sandbox, behind the only door of it.

A program asks it as it would ask a web proxy, over a Unix socket. The broker checks host, method and path against what
the person agreed to, looks the name up itself, refuses what lies in a private network, asks the address that it
checked, adds the credential, takes it out of the reply, and keeps an account of each request. Redirects are not
followed: they go back to the program, whose next request is checked like the first. One request per connection.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from actions.isolation.addresses import Resolver, resolve
from actions.isolation.egress import EgressLedger
from actions.isolation.permissions import Permissions
from actions.isolation.sandbox import SOCKET
from schemas.clock import Clock

if TYPE_CHECKING:
    import httpx

Secrets = Callable[[], Awaitable[Mapping[str, str]]]
"""The secrets of one plugin by name, read anew for each request: what was taken away is gone at once."""

AT_ONCE = 32
"""Connections of one sandbox; further ones wait."""


async def no_secrets() -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Means:
    """What a broker works with. ``verify``: how the TLS of the far side is checked."""

    clock: Clock
    ledger: EgressLedger
    new_id: Callable[[], str]
    resolve: Resolver = resolve
    verify: ssl.SSLContext | bool = True
    timeout_s: float = 30.0
    most_bytes: int = 32 << 20
    """Of one body, in either direction."""


@dataclass
class Broker:
    """For one plugin in one version. ``revoke`` ends what is under way: no further byte passes."""

    plugin: str
    version: str
    permissions: Permissions
    means: Means
    secrets: Secrets = no_secrets
    is_revoked: bool = False
    _open: set[asyncio.Task[None]] = field(default_factory=set)
    _client: httpx.AsyncClient | None = None

    @asynccontextmanager
    async def listening(self, folder: Path) -> AsyncIterator[Path]:
        """The socket's folder, to be given to the sandbox. Only this user may open the door."""
        import httpx

        path = folder / Path(SOCKET).name
        slots = asyncio.Semaphore(AT_ONCE)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._open.add(task)
            try:
                async with slots:
                    await self._serve(reader, writer)
            except asyncio.CancelledError:
                writer.transport.abort()
            finally:
                self._open.discard(task)
                writer.close()

        # no connection is kept: one that was opened for a name must not serve another name at the same address
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(
            verify=self.means.verify, trust_env=False, timeout=self.means.timeout_s, limits=limits
        ) as self._client:
            server = await asyncio.start_unix_server(serve, path)
            path.chmod(0o600)
            try:
                yield folder
            finally:
                server.close()
                path.unlink(missing_ok=True)
                await self._end()

    def revoke(self) -> None:
        self.is_revoked = True
        for task in self._open:
            task.cancel()

    async def idle(self) -> None:
        """Returns when nothing is under way."""
        while self._open:
            await asyncio.wait(self._open)

    async def _end(self) -> None:
        for task in (open_ := list(self._open)):
            task.cancel()
        await asyncio.gather(*open_, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from actions.isolation.exchange import Exchange

        assert self._client is not None
        await Exchange(self, self._client, reader, writer).run()
