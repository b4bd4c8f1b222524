"""mcp.<plugin>.<tool>: a tool of somebody else's MCP server, behind the same manifest and the same laws as our own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actions.plain import clean, clean_lines
from actions.plugins.listing import Listed
from actions.plugins.schema import given
from actions.tools.tool import Args, Manifest, Receipt
from schemas.errors import StepFailed
from schemas.model import Json

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from actions.plugins.manifest import PluginSeen
    from actions.plugins.runner import Runner

TEXT = 8_000
"""Characters of a tool's answer that are kept."""


class McpTool:
    """What it answers is outside text, whatever the server says of it. It has no look-up: a call whose outcome is
    unknown is asked about. What it changed is read back by the tool that the person named (``seen``), else it stays
    unverified."""

    def __init__(
        self, manifest: Manifest, listed: Listed, runner: Runner, timeout_s: float, seen: PluginSeen | None = None
    ) -> None:
        self.manifest = manifest
        self._listed = listed
        self._runner = runner
        self._timeout_s = timeout_s
        self._seen = seen

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        arguments = given(args, self._listed.input_schema)
        result = await self._runner.call(self._listed.name, arguments, key, self._timeout_s)
        blocked = self._runner.blocks.taken()
        text = _text(result)
        if result.is_error:
            told = "; ".join([clean(text), *(f"blocked: {each}" for each in blocked)])
            raise StepFailed(f"{self.manifest.name} says no: {told}", code="invalid")
        out: dict[str, Json] = {"text": text, **self._promised(result.structured_content)}
        return out | {"blocked": list(blocked)} if blocked else out

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        seen = self._seen
        if seen is None or not set(seen.args.values()) <= set(result):
            return None
        asked: dict[str, Json] = {name: result[field] for name, field in seen.args.items()}
        answer = await self._runner.call(seen.by, asked, f"{key}/seen", self._timeout_s)
        fields = answer.structured_content if isinstance(answer.structured_content, Mapping) else {}
        if answer.is_error or str(fields.get(seen.field)) != seen.equals:
            return None
        return Receipt(what=f"{seen.field} is {clean(seen.equals, 80)}, says {seen.by}", details=asked)

    def _promised(self, structured: Any) -> dict[str, Json]:
        """The fields that the manifest names; a missing or a wrong one is found by whoever called."""
        fields = structured if isinstance(structured, Mapping) else {}
        names = (name for name in self.manifest.returns if name != "text" and name in fields)
        return {name: _plain(fields[name]) for name in names}


def _plain(value: Json) -> Json:
    return clean_lines(value, TEXT)[:TEXT] if isinstance(value, str) else value


def _text(result: CallToolResult) -> str:
    parts = [str(getattr(block, "text", "")) or f"[{clean(str(block.type), 20)}]" for block in result.content]
    return clean_lines("\n".join(parts)[: TEXT * 2], TEXT)[:TEXT]
