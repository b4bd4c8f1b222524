"""MCP over the pipes of a sandboxed process: bounded lines, no trust in what is written, dead when we are done."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from actions.plain import clean_lines

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

    _Send = Callable[[SessionMessage], Awaitable[None]]

_GRACE_S = 2.0
"""For a server to end by itself once its input is closed."""
_NOISE = 200
"""Lines that are no messages, before the server counts as broken."""
_LAST_WORDS = 4_000
_CHUNK = 1 << 20


@dataclass
class Fault:
    """Why the pipe ended, as far as we know; ``heard``: the last words on stderr; ``over``: nothing comes any more."""

    reason: str = ""
    heard: bytes = b""
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def says(self) -> str:
        words = clean_lines(self.heard.decode("utf-8", "replace"), 300)
        return "; ".join(part for part in (self.reason, words[-300:]) if part)


@asynccontextmanager
async def pipe(line: list[str], most_bytes: int, fault: Fault) -> AsyncIterator[TransportStreams]:
    """Starts the program and gives the two streams that an MCP session wants. ``most_bytes``: of one message."""
    import anyio
    from mcp.shared.message import SessionMessage

    process = await asyncio.create_subprocess_exec(
        *line,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={},
        cwd="/",
        limit=most_bytes,
        start_new_session=True,
    )
    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with to_session:
            await _read(process, to_session.send, fault)
            fault.over.set()

    async def write() -> None:
        assert process.stdin is not None
        async with from_session:
            async for message in from_session:
                data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    process.stdin.write(data.encode() + b"\n")
                    await process.stdin.drain()
                except OSError:
                    await to_session.aclose()
                    return

    tasks = [asyncio.create_task(work) for work in (read(), write(), _listen(process, fault))]
    try:
        yield from_server, to_server
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (to_session, from_server, to_server, from_session):
            await stream.aclose()
        await asyncio.shield(_end(process))


async def _read(process: asyncio.subprocess.Process, send: _Send, fault: Fault) -> None:
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    assert process.stdout is not None
    noise = 0
    while True:
        try:
            line = await process.stdout.readline()
        except ValueError:
            fault.reason = "it wrote a line that is longer than allowed (output_kb)"
            return
        if not line:
            fault.reason = fault.reason or "it ended"
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            noise += 1
            if noise > _NOISE:
                fault.reason = "it writes what is not MCP"
                return
            continue
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await send(SessionMessage(message))


async def _listen(process: asyncio.subprocess.Process, fault: Fault) -> None:
    assert process.stderr is not None
    while chunk := await process.stderr.read(_LAST_WORDS):
        fault.heard = (fault.heard + chunk)[-_LAST_WORDS:]


async def _end(process: asyncio.subprocess.Process) -> None:
    """Closes its input, waits a little, kills it with all that it started. What it still says is read away: a full
    pipe would keep it, and us, for ever."""
    assert process.stdin is not None
    process.stdin.close()
    gone = asyncio.gather(process.wait(), *map(_drained, (process.stdout, process.stderr)))
    await asyncio.wait([gone], timeout=_GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await gone


async def _drained(stream: asyncio.StreamReader | None) -> None:
    assert stream is not None
    with contextlib.suppress(OSError):
        while await stream.read(_CHUNK):
            pass
