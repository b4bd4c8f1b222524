"""Forewatch as an MCP server: another program looks, over the real SDK's client, at a home that lived for some days."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from forewatch.demo import Play, run, settings_of

COMMAND = ["-c", "from forewatch.cli.main import main; main()", "mcp"]
DAYS = 12


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    play = Play(home=tmp_path_factory.mktemp("home"), days=DAYS)
    assert asyncio.run(run(play)).proposals
    return settings_of(play).home


def told(home: Path, story: Callable[[Client], Awaitable[None]]) -> None:
    async def whole() -> None:
        environment = {
            "FOREWATCH_HOME": str(home), "FOREWATCH_TIMEZONE": "Europe/Berlin",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }  # fmt: skip
        async with Client(StdioServerParameters(command=sys.executable, args=COMMAND, env=environment)) as client:
            await story(client)

    asyncio.run(asyncio.wait_for(whole(), 240))


async def asked(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    words = "".join(getattr(block, "text", "") for block in result.content)
    assert not result.is_error, words
    found = result.structured_content
    return found["result"] if isinstance(found, dict) and set(found) == {"result"} else found


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return "".join(getattr(block, "text", "") for block in result.content)


def test_another_program_can_look_at_history_and_proposals_and_do_nothing(home: Path) -> None:
    before = {path: path.read_bytes() for path in home.rglob("*.jsonl")}

    async def story(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == {
            "history_query", "history_columns", "proposals_list", "proposals_show",
        }  # fmt: skip
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)

        table = await asked(client, "history_query", sql="SELECT count(*) AS n FROM events")
        assert table["columns"][0]["name"] == "n"
        assert table["rows"][0][0] > 0
        few = await asked(client, "history_query", sql="SELECT title FROM events", limit=3)
        assert (len(few["rows"]), few["truncated"]) == (3, True)
        assert "events" in await asked(client, "history_columns")

        rows = await asked(client, "proposals_list", everything=True)
        assert rows
        card = await asked(client, "proposals_show", proposal=rows[0]["id"])
        assert (card["id"], card["title"]) == (rows[0]["id"], rows[0]["title"])

        for sql in ("DELETE FROM events", "SELECT * FROM read_text('/etc/passwd')", "SELECT 1; SELECT 2",
                    "COPY (SELECT 1) TO '/tmp/out.csv'"):  # fmt: skip
            assert "root:" not in await refused(client, "history_query", sql=sql)
        assert "there is no proposal 'nothing'" in await refused(client, "proposals_show", proposal="nothing")
        assert "nknown tool" in await refused(client, "proposals_approve", proposal=rows[0]["id"])

    told(home, story)
    assert {path: path.read_bytes() for path in home.rglob("*.jsonl")} == before
