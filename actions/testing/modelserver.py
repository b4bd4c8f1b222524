"""A server on the loopback that speaks chat completions, by script: real bytes, real cuts, every request kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, assert_never

from actions.testing.modelscript import Body, Cut, Endless, Hang, Refusal, Script, Status, Text

_CHUNK = 24
"""Characters of text in one event of the stream."""


@dataclass
class ModelServer:
    """``raw`` are the bytes of each request's body; ``headers`` its headers, names in lower case."""

    script: Script
    base_url: str = ""
    requests: list[Body] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection; a client that goes away ends it."""
        self.writers.add(writer)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.writers.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """True when the connection may be used again."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {k.lower(): v for k, v in (line.split(": ", 1) for line in head[1:] if line)}
        raw = await reader.readexactly(int(headers.get("content-length", "0")))
        self.headers.append(headers)
        self.raw.append(raw)
        self.requests.append(json.loads(raw or b"{}"))
        said = self.script(self.requests[-1])
        if isinstance(said, Hang):
            await reader.read()  # until the client goes away
            return False
        return await _say(said, writer)


@asynccontextmanager
async def model_server(script: Script) -> AsyncIterator[ModelServer]:
    """Up when it is entered; every connection is closed when it is left."""
    server = ModelServer(script)
    listening = await asyncio.start_server(server.talk, "127.0.0.1", 0)
    server.base_url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listening.close()
        for writer in list(server.writers):
            writer.transport.abort()
        with suppress(TimeoutError):
            async with asyncio.timeout(10):
                await listening.wait_closed()


async def _say(said: Text | Status | Cut | Endless | Refusal, writer: asyncio.StreamWriter) -> bool:
    match said:
        case Text(text=text, finish=finish):
            await _stream(writer, [*_texts(text), _delta({}, finish), _usage(len(text)), "[DONE]"])
            return await _end(writer)
        case Refusal(text=text):
            await _stream(writer, [_delta({"refusal": text}), _delta({}, "stop"), "[DONE]"])
            return await _end(writer)
        case Cut(text=text, politely=politely):
            await _stream(writer, _texts(text))
            if politely:
                return await _end(writer)
            return False
        case Endless(text=text):
            await _stream(writer, ())
            while True:
                await _events(writer, _texts(text))
        case Status():
            await _error(writer, said)
            return True
    assert_never(said)


def _texts(text: str) -> Iterable[str]:
    return [_delta({"content": text[at : at + _CHUNK]}) for at in range(0, len(text), _CHUNK)]


def _delta(delta: dict[str, Any], finish: str | None = None) -> str:
    return _event([{"index": 0, "delta": delta, "finish_reason": finish}], None)


def _usage(length: int) -> str:
    return _event([], {"prompt_tokens": 500, "completion_tokens": length // 4, "total_tokens": 500 + length // 4})


def _event(choices: list[dict[str, Any]], usage: dict[str, int] | None) -> str:
    event = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}
    return json.dumps({**event, "usage": usage})


async def _stream(writer: asyncio.StreamWriter, events: Iterable[str]) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    await _events(writer, events)


async def _events(writer: asyncio.StreamWriter, events: Iterable[str]) -> None:
    for event in events:
        data = f"data: {event}\n\n".encode()
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await writer.drain()


async def _end(writer: asyncio.StreamWriter) -> bool:
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


async def _error(writer: asyncio.StreamWriter, said: Status) -> None:
    error = {"message": said.said, "type": "error", "code": said.error or None, "param": None}
    body = json.dumps({"error": error}).encode()
    extra = f"Retry-After: {said.retry_after}\r\n" if said.retry_after else ""
    head = f"HTTP/1.1 {said.code} No\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
