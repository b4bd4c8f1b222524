"""Published MCP servers from PyPI and npm: what a person would add as plugins.

Test peers, never shipped. Those of PyPI are under the MIT licence; those of npm only point at a LICENSE file that their
packages do not hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.peers.packages import fetched_npm, fetched_pip, from_npm, from_pip
from tests.peers.process import CHECKOUT

_NAME = "mcp-servers"
_PIP = ("mcp-server-time==2026.10.19", "mcp-server-fetch==2026.10.24")
_NPM = ("@modelcontextprotocol/server-everything@2026.8.31", "@modelcontextprotocol/server-filesystem@2026.8.31")


@dataclass(frozen=True)
class Servers:
    """``pip`` and ``npm`` are the folders that the programs consist of."""

    pip: Path
    npm: Path

    def python(self, module: str) -> tuple[str, ...]:
        return str(self.pip / "bin" / "python"), "-m", module

    def node(self, name: str) -> tuple[str, ...]:
        return "node", str(self.npm / "node_modules" / "@modelcontextprotocol" / name / "dist" / "index.js")


def fetch_mcp_servers() -> str:
    """The four servers, unless they are here; says where."""
    pip, npm = from_pip(_NAME, *_PIP), from_npm(_NAME, *_NPM)
    return f"MCP servers are in {pip.parent.relative_to(CHECKOUT)} and {npm.relative_to(CHECKOUT)}"


@contextmanager
def mcp_servers(folder: Path) -> Iterator[Servers]:
    yield Servers(fetched_pip(_NAME).parent.resolve(), fetched_npm(_NAME).resolve())
