"""mcp: Forewatch itself as an MCP server over stdin and stdout, for looking only."""

from __future__ import annotations

import asyncio

import typer


def register(app: typer.Typer) -> None:
    app.command()(mcp)


def mcp() -> None:
    """Let another program look: your history and what is proposed, over MCP on stdin and stdout. It can only read:
    answers to proposals stay with you."""
    from forewatch.cli.place import settings
    from forewatch.lookout import create_server

    asyncio.run(create_server(settings()).run_stdio_async())
