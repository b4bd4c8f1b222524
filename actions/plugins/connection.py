"""How a plugin is reached: a sandboxed process over pipes, or a server of somebody else's through the broker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from actions.isolation.broker import Broker, Means, Secrets, no_secrets
from actions.isolation.egress import EgressEntry, EgressLedger
from actions.isolation.sandbox import SOCKET, Mode, Program, command, demand, strongest
from actions.plain import clean
from actions.plugins.listing import MOST_BYTES
from actions.plugins.manifest import PluginManifest
from actions.plugins.manifests import START_S
from actions.plugins.pipe import Fault, pipe
from schemas.errors import Refused, StepFailed

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

IDLE_S = 120.0
"""A session that nobody used for so long is ended."""
_SILENCE_S = 600.0
"""A stream of events of an http server may be silent for so long."""
_MOST_BLOCKS = 20


@dataclass(frozen=True)
class Surroundings:
    """What a runner needs of us. ``mode``: the isolation that this machine has."""

    means: Means
    secrets: Secrets = no_secrets
    mode: Callable[[], Mode] = strongest
    idle_s: float = IDLE_S


@dataclass
class Blocks:
    """A ledger that also remembers what was blocked since it was last asked."""

    ledger: EgressLedger
    entries: list[EgressEntry] = field(default_factory=list)

    def note(self, entry: EgressEntry) -> None:
        self.ledger.note(entry)
        if entry.phase == "blocked" and len(self.entries) < _MOST_BLOCKS:
            self.entries.append(entry)

    def taken(self) -> list[str]:
        found = [clean(f"{entry.method} {entry.host}: {entry.reason}", 120) for entry in self.entries]
        self.entries.clear()
        return found


@dataclass
class Connection:
    """``broker`` is there once the streams are, for a plugin that may reach anybody."""

    plugin: PluginManifest
    host: Surroundings
    ledger: EgressLedger
    fault: Fault
    broker: Broker | None = None

    @asynccontextmanager
    async def streams(self, folder: Path) -> AsyncIterator[TransportStreams]:
        """StepFailed where this machine cannot isolate the plugin as firmly as it must. ``folder`` is empty."""
        scratch, door = folder / "scratch", folder / "egress"
        scratch.mkdir()
        door.mkdir(mode=0o700)
        if self.plugin.kind == "http":
            async with self._door(door, _SILENCE_S), self._over_http(door) as streams:
                yield streams
            return
        try:
            demand(self.plugin.isolation, mode := self.host.mode(), f"the plugin {self.plugin.plugin!r}")
        except Refused as refused:
            raise StepFailed(str(refused), code="denied") from refused
        most = (self.plugin.permissions.limits.output_kb << 10) + MOST_BYTES
        if not self.plugin.permissions.hosts:
            async with pipe(self._line(mode, scratch, None), most, self.fault) as streams:
                yield streams
            return
        async with (
            self._door(door, self.host.means.timeout_s) as egress,
            pipe(self._line(mode, scratch, egress), most, self.fault) as streams,
        ):
            yield streams

    def _line(self, mode: Mode, scratch: Path, egress: Path | None) -> list[str]:
        plugin = self.plugin
        program = Program(
            command=plugin.command,
            parts=plugin.parts,
            environment=plugin.environment,
            files=plugin.permissions.files,
            limits=plugin.permissions.limits,
            egress=egress,
        )
        return command(program, mode, scratch)

    @asynccontextmanager
    async def _door(self, folder: Path, timeout_s: float) -> AsyncIterator[Path]:
        plugin, means = self.plugin, replace(self.host.means, ledger=self.ledger, timeout_s=timeout_s)
        self.broker = Broker(plugin.plugin, plugin.version, plugin.reach, means, self.host.secrets)
        async with self.broker.listening(folder) as door:
            yield door

    @asynccontextmanager
    async def _over_http(self, door: Path) -> AsyncIterator[TransportStreams]:
        """Through the broker like all else: it adds the token, pins the address and can be told to stop."""
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        parts = urlsplit(self.plugin.url)
        # no TLS to the broker, which has its own with the server: to load certificates would take most of a start
        transport = httpx2.AsyncHTTPTransport(uds=str(door / Path(SOCKET).name), verify=False)
        timeout = httpx2.Timeout(START_S, read=_SILENCE_S)
        async with (
            httpx2.AsyncClient(transport=transport, timeout=timeout, trust_env=False) as client,
            streamable_http_client(f"http://{parts.netloc}{parts.path or '/'}", http_client=client) as streams,
        ):
            yield streams
