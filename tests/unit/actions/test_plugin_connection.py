"""How a plugin is reached, as far as nothing has to be started for it."""

from __future__ import annotations

import asyncio
import ssl
from datetime import UTC, datetime

import pytest

from actions.isolation.broker import Means
from actions.plugins.connection import Connection, Surroundings
from actions.plugins.manifest import PluginManifest, PluginTool
from actions.plugins.pipe import Fault
from actions.testing.egress import MemoryLedger
from schemas.clock import ManualClock

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
ECHO = PluginTool(description="Says it again.", says="Say it again")


def test_no_certificates_are_loaded_for_the_way_to_the_broker(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a socket of this machine. Those for the server itself are loaded once, by whoever makes the ``Means``."""

    def refuse(self: ssl.SSLContext, *arguments: object, **named: object) -> None:
        raise AssertionError("certificates are loaded")

    async def story() -> None:
        ledger = MemoryLedger()
        means = Means(ManualClock(NOW), ledger, lambda: "e", verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        plugin = PluginManifest(
            plugin="remote", version="1", kind="http", url="https://mcp.example/mcp", tools={"echo": ECHO}
        )
        async with Connection(plugin, Surroundings(means), ledger, Fault()).streams(folder):
            pass

    folder = tmp_path_factory.mktemp("p")  # short: the path of a socket has a limit
    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", refuse)
    asyncio.run(story())
