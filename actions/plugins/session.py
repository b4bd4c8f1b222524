"""One MCP session: the SDK's client, with our own bounds, and its answers as our own values."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from actions.plain import clean
from actions.plugins.listing import MOST_TOOLS, Listed, Listing, listing
from schemas.errors import OutcomeUnknown, StepFailed

if TYPE_CHECKING:
    from mcp.client.session import ClientSession
    from mcp_types import CallToolResult

_PAGES = 20
_REFUSED = (-32600, -32601, -32602)
"""JSON-RPC's codes of a server that understood that it will not act: invalid request, unknown method, bad arguments."""


@asynccontextmanager
async def session(read: Any, write: Any, on_list_changed: Callable[[], None]) -> AsyncIterator[ClientSession]:
    """Over the streams of a transport, not introduced yet. A server that asks something of us gets no answer."""
    from mcp.client.session import ClientSession
    from mcp_types import Implementation, ToolListChangedNotification

    class Session(ClientSession):
        async def validate_tool_result(self, name: str, result: CallToolResult) -> None:
            """Not here: a hostile schema's patterns may take for ever. What we rely on is checked by our own types."""

    async def heard(message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            on_list_changed()

    info = Implementation(name="forewatch", version="1")
    async with Session(read, write, message_handler=heard, client_info=info) as live:
        yield live


async def listing_of(live: ClientSession) -> Listing:
    """All that it lists; StepFailed if there is no end of it."""
    from mcp_types import PaginatedRequestParams

    found: list[Listed] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        page = await live.list_tools(params=PaginatedRequestParams(cursor=cursor) if cursor else None)
        found += [_listed(tool) for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None or len(found) > MOST_TOOLS:
            break
    if cursor is not None or len(found) > MOST_TOOLS:
        raise StepFailed(f"it lists more than {MOST_TOOLS} tools", code="invalid")
    return listing(found)


def _listed(tool: Any) -> Listed:
    said = tool.annotations.model_dump(by_alias=True, exclude_none=True, mode="json") if tool.annotations else {}
    return Listed(
        name=tool.name,
        title=tool.title or "",
        description=tool.description or "",
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=said,
    )


def complete(result: object) -> CallToolResult:
    """StepFailed where the server wants an answer of us first: a question could be anything, also a trap."""
    from mcp_types import CallToolResult

    if not isinstance(result, CallToolResult):
        raise StepFailed("the server asks something back before it acts, which is not allowed", code="needs_input")
    return result


def translated(error: Any, plugin: str, why: str) -> Exception:
    """One table for what MCP may raise: a definite no, or nobody can tell."""
    words = clean("; ".join(part for part in (str(error), why) if part))
    if error.code in _REFUSED:
        return StepFailed(f"{plugin}: {words}", code="invalid")
    return OutcomeUnknown(f"{plugin}: {words}")


def leaf(error: BaseException) -> BaseException:
    """The first real cause in a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
