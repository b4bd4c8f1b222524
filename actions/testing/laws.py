"""ToolContract: the laws of every tool that changes something, as a mixin; a class of tests names its own tool."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from actions.attempt import schema_fault
from actions.testing.desk import Desk
from actions.tools.tool import Args, Tool
from schemas.clock import ManualClock
from schemas.model import Json

KEY, OTHER = "a" * 32, "b" * 32
AT = datetime(2025, 3, 3, 9, tzinfo=UTC)


class ToolContract:
    """``name`` and ``args`` of a call; ``prepare`` sets the desk up; ``destroy`` undoes the effect behind our back."""

    name: str
    args: Args

    def prepare(self, desk: Desk) -> None:
        """What must be on the desk before the call; nothing by default."""

    def destroy(self, desk: Desk) -> None:
        raise NotImplementedError

    def desks(self) -> Iterator[tuple[Desk, Tool]]:
        with TemporaryDirectory() as folder:
            desk = Desk(Path(folder).resolve(), ManualClock(AT))
            self.prepare(desk)
            tool = desk.registry().tool(self.name)
            assert tool is not None
            yield desk, tool

    def test_a_call_answers_as_its_manifest_promises(self) -> None:
        for _, tool in self.desks():
            out = asyncio.run(tool.call(self.args, KEY))
            assert schema_fault(tool.manifest.returns, out) == ""

    def test_the_effect_is_found_and_seen_after_the_call_and_not_before(self) -> None:
        async def story(tool: Tool) -> None:
            assert await tool.look_up(self.args, KEY) is None
            out = await tool.call(self.args, KEY)
            assert await tool.look_up(self.args, KEY) == out
            assert await tool.look_up(self.args, OTHER) is None
            assert await tool.verify(self.args, KEY, out) is not None

        for _, tool in self.desks():
            asyncio.run(story(tool))

    def test_a_second_call_with_the_same_key_changes_nothing(self) -> None:
        for desk, tool in self.desks():
            first = asyncio.run(tool.call(self.args, KEY))
            before = contents(desk.root)
            assert asyncio.run(tool.call(self.args, KEY)) == first
            assert contents(desk.root) == before

    def test_two_calls_at_once_make_one_effect(self) -> None:
        async def both(tool: Tool) -> tuple[dict[str, Json], dict[str, Json]]:
            return await asyncio.gather(tool.call(self.args, KEY), tool.call(self.args, KEY))

        for desk, tool in self.desks():
            first, second = asyncio.run(both(tool))
            assert first == second
            once = contents(desk.root)
            asyncio.run(tool.call(self.args, KEY))
            assert contents(desk.root) == once

    def test_an_effect_that_is_gone_is_not_seen(self) -> None:
        for desk, tool in self.desks():
            out = asyncio.run(tool.call(self.args, KEY))
            self.destroy(desk)
            assert asyncio.run(tool.verify(self.args, KEY, out)) is None

    def test_looking_changes_nothing(self) -> None:
        async def looks(tool: Tool, out: Args) -> None:
            await tool.look_up(self.args, KEY)
            await tool.look_up(self.args, OTHER)
            await tool.verify(self.args, KEY, out)

        for desk, tool in self.desks():
            out = asyncio.run(tool.call(self.args, KEY))
            before = contents(desk.root)
            asyncio.run(looks(tool, out))
            assert contents(desk.root) == before

    def test_nothing_half_done_is_left_behind(self) -> None:
        for desk, tool in self.desks():
            asyncio.run(tool.call(self.args, KEY))
            assert [path for path in contents(desk.root) if path.endswith(".tmp")] == []


def contents(root: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
