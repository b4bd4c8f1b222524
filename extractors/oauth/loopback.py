"""A listener on this machine for one answer: where the browser is sent after the consent (RFC 8252 §7.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self

from schemas.errors import AuthError

_HEAD_CAP = 32_768
_HEAD_S = 10.0
_CONNECTIONS = 16

_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Forewatch</title>
<p style="font: 1.2rem sans-serif; margin: 3rem">{text}</p></html>
"""
_DONE = "Thank you. You may close this page and go back to Forewatch."
_OTHER = "This page belongs to no question that Forewatch has asked. Please close it."


class Loopback:
    """``async with Loopback() as listener``: 127.0.0.1, a port of the system's choice, closed when left."""

    def __init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_answer: Callable[[str], bool] = lambda url: False
        self._answer: asyncio.Future[str] | None = None
        self.port = 0

    async def __aenter__(self) -> Self:
        self._answer = asyncio.get_running_loop().create_future()
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_HEAD_CAP)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._server.wait_closed()

    async def answer(self, is_answer: Callable[[str], bool], limit_s: float = 300) -> str:
        """The address of the first request that is one, whole. AuthError when none came in time.

        Other requests (a browser's icon, a prying page) are refused and change nothing.
        """
        assert self._answer is not None
        self._is_answer = is_answer
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.shield(self._answer)
        except TimeoutError as error:
            raise AuthError(f"nobody consented within {limit_s / 60:g} minutes", remedy="begin again") from error

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if len(self._tasks) <= _CONNECTIONS:
                async with asyncio.timeout(_HEAD_S):
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(self._reply(head.decode("latin-1")))
                    await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            """A connection that a browser opened just in case, or not a browser."""
        finally:
            self._tasks.discard(task)
            writer.close()

    def _reply(self, head: str) -> bytes:
        first, _, rest = head.partition("\r\n")
        method, _, target = first.partition(" ")
        target = target.partition(" ")[0]
        url = f"http://127.0.0.1:{self.port}{target}"
        if method != "GET" or not target.startswith("/") or not self._is_for_us(rest):
            return _page("400 Bad Request", _OTHER)
        if self._answer is None or self._answer.done() or not self._is_answer(url):
            return _page("404 Not Found", _OTHER)
        self._answer.set_result(url)
        return _page("200 OK", _DONE)

    def _is_for_us(self, headers: str) -> bool:
        """The Host must be this machine's: else a name was made to lead here (DNS rebinding)."""
        hosts = [
            line.partition(":")[2].strip().lower() for line in headers.split("\r\n") if line.lower().startswith("host:")
        ]
        return len(hosts) == 1 and hosts[0] in (f"127.0.0.1:{self.port}", f"localhost:{self.port}")


def _page(status: str, text: str) -> bytes:
    body = _PAGE.format(text=text).encode()
    headers = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\r\n"
    )
    return headers.encode() + body
