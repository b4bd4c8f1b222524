"""One request of a sandboxed program: read, judged, carried, written back."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import h11
import httpx

from actions.isolation.addresses import pinned
from actions.isolation.egress import EgressEntry, Question, Reason, judge, question
from actions.isolation.permissions import Host
from actions.isolation.redact import Redactor

if TYPE_CHECKING:
    from actions.isolation.broker import Broker

_CHUNK = 65_536
_OF_ONE_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding "
    b"upgrade host content-length expect".split()
)
"""Headers that are between neighbours, or that are set anew."""
_SAYS: dict[Reason, str] = {
    "revoked": "the permission was taken away",
    "malformed": "the request makes no sense, or could be read in two ways",
    "host_undeclared": "this host is not among the declared ones",
    "port_undeclared": "this port of the host is not declared",
    "method_undeclared": "this method is not declared for the host",
    "path_undeclared": "this path is not declared for the host",
    "tunnel_undeclared": "TLS of the program's own is not declared for the host; ask with http:// instead",
    "private_address": "the name leads into a private network",
    "no_secret": "the secret that belongs to this host is not in the vault",
    "too_large": "the body is too large",
    "no_address": "the name has no address",
    "unreachable": "the host cannot be reached",
    "broken_off": "the host broke the connection off",
}


class _Blocked(Exception):
    def __init__(self, reason: Reason, status: int = 403) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status


@dataclass
class _Tally:
    """``end`` is set in any way that the exchange may end; the account is written from it."""

    out: int = 0
    back: int = 0
    status: int = 0
    reason: Reason = ""
    address: str = ""
    credential: str = ""


@dataclass
class Exchange:
    broker: Broker
    client: httpx.AsyncClient
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    _http: h11.Connection = field(default_factory=lambda: h11.Connection(h11.SERVER))

    async def run(self) -> None:
        """Never raises for what either side does; only cancellation goes through."""
        with contextlib.suppress(h11.ProtocolError, OSError, TimeoutError):
            async with asyncio.timeout(self.broker.means.timeout_s):
                request = await self._next()
            if isinstance(request, h11.Request):
                await self._answer(request)

    async def _answer(self, request: h11.Request) -> None:
        headers = dict(request.headers)
        host = headers.get(b"host", b"").decode("latin-1")
        asked = question(request.method.decode("latin-1"), request.target.decode("latin-1"), host)
        means, tally, id_ = self.broker.means, _Tally(), self.broker.means.new_id()
        try:
            asked, allowed = self._judged(asked)
            address, secrets = await self._address(asked, allowed), await self._secrets(allowed)
        except _Blocked as blocked:
            means.ledger.note(self._entry(id_, asked, "blocked", _Tally(status=blocked.status, reason=blocked.reason)))
            await self._refuse(blocked)
            return
        tally.address, tally.credential = address, allowed.credential.secret if allowed.credential else ""
        means.ledger.note(self._entry(id_, asked, "started", tally))
        tally.reason = "broken_off"
        try:
            if asked.is_tunnel:
                await self._tunnel(address, allowed, tally)
            else:
                await self._forward(request, asked, allowed, secrets, tally)
        except _Blocked as blocked:
            tally.reason, tally.status = blocked.reason, tally.status or blocked.status
            await self._refuse(blocked)
        finally:
            if self.broker.is_revoked:
                tally.reason = "revoked"
            means.ledger.note(self._entry(id_, asked, "ended", tally))

    def _judged(self, asked: Question | None) -> tuple[Question, Host]:
        if self.broker.is_revoked:
            raise _Blocked("revoked")
        if asked is None:
            raise _Blocked("malformed", 400)
        verdict = judge(asked, self.broker.permissions)
        if not isinstance(verdict, Host):
            raise _Blocked(verdict)
        return asked, verdict

    async def _address(self, asked: Question, allowed: Host) -> str:
        try:
            found = await self.broker.means.resolve(asked.host, allowed.port)
        except OSError as error:
            raise _Blocked("no_address", 502) from error
        address = pinned(found, private=allowed.private)
        if address is None:
            raise _Blocked("private_address" if found else "no_address")
        return address

    async def _secrets(self, allowed: Host) -> dict[str, str]:
        if allowed.credential is None:
            return {}
        text = (await self.broker.secrets()).get(allowed.credential.secret)
        if not text:
            raise _Blocked("no_secret")
        return {allowed.credential.secret: text}

    async def _forward(
        self, request: h11.Request, asked: Question, allowed: Host, secrets: dict[str, str], tally: _Tally
    ) -> None:
        headers = [(name, value) for name, value in request.headers if name not in _OF_ONE_HOP]
        hidden = list(secrets.values())
        if allowed.credential:
            own = allowed.credential.header.encode()
            value = allowed.credential.value.replace("{secret}", secrets[allowed.credential.secret])
            headers = [pair for pair in headers if pair[0] != own]
            headers.append((own, value.encode()))
            hidden.append(value)
        port = "" if allowed.port == {"https": 443, "http": 80}[allowed.scheme] else f":{allowed.port}"
        # what comes packed could not be looked through for the secret
        headers = [pair for pair in headers if pair[0] != b"accept-encoding"]
        headers += [(b"host", f"{allowed.host}{port}".encode()), (b"accept-encoding", b"identity")]
        address = f"[{tally.address}]" if ":" in tally.address else tally.address
        outward = self.client.build_request(
            asked.method,
            f"{allowed.scheme}://{address}:{allowed.port}{asked.target}",
            headers=headers,
            content=self._body(tally) if _has_body(request) else None,
            extensions={"sni_hostname": allowed.host},
        )
        try:
            reply = await self.client.send(outward, stream=True)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise _Blocked("unreachable", 502) from error
        except httpx.HTTPError as error:
            raise _Blocked("broken_off", 502) from error
        try:
            await self._reply(reply, Redactor(hidden), tally)
        finally:
            await reply.aclose()

    async def _body(self, tally: _Tally) -> AsyncIterator[bytes]:
        while isinstance(event := await self._next(), h11.Data):
            tally.out += len(event.data)
            if tally.out > self.broker.means.most_bytes:
                raise _Blocked("too_large", 413)
            yield bytes(event.data)

    async def _reply(self, reply: httpx.Response, redactor: Redactor, tally: _Tally) -> None:
        tally.status = reply.status_code
        headers = [
            (name, redactor.whole(value))
            for name, value in reply.headers.raw
            if name.lower() not in _OF_ONE_HOP and name.lower() != b"content-encoding"
        ]
        await self._send(h11.Response(status_code=reply.status_code, headers=[*headers, (b"connection", b"close")]))
        try:
            async for chunk in reply.aiter_bytes():
                tally.back += len(chunk)
                if tally.back > self.broker.means.most_bytes:
                    tally.reason = "too_large"
                    self.writer.transport.abort()
                    return
                await self._data(redactor.feed(chunk))
            await self._data(redactor.flush())
            await self._send(h11.EndOfMessage())
        except httpx.HTTPError:
            self.writer.transport.abort()  # cut short: the program must not take it for the whole
            return
        tally.reason = ""

    async def _tunnel(self, address: str, allowed: Host, tally: _Tally) -> None:
        try:
            async with asyncio.timeout(self.broker.means.timeout_s):
                reader, writer = await asyncio.open_connection(address, allowed.port)
        except (OSError, TimeoutError) as error:
            raise _Blocked("unreachable", 502) from error
        try:
            self.writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            early, _ = self._http.trailing_data
            writer.write(early)
            tally.out += len(early)

            async def outward() -> None:
                while chunk := await self.reader.read(_CHUNK):
                    tally.out += len(chunk)
                    writer.write(chunk)
                    await writer.drain()
                writer.write_eof()

            async def back() -> None:
                while chunk := await reader.read(_CHUNK):
                    tally.back += len(chunk)
                    self.writer.write(chunk)
                    await self.writer.drain()
                self.writer.write_eof()

            async with asyncio.TaskGroup() as both:
                both.create_task(outward())
                both.create_task(back())
            tally.reason = ""
        except* OSError:
            pass  # one side is gone: the account says that it was broken off
        finally:
            writer.transport.abort()

    async def _refuse(self, blocked: _Blocked) -> None:
        body = {"error": f"egress: {_SAYS[blocked.reason]}", "reason": blocked.reason}
        with contextlib.suppress(h11.ProtocolError, OSError):
            headers = [("content-type", "application/json"), ("connection", "close")]
            await self._send(h11.Response(status_code=blocked.status, headers=headers))
            await self._data(json.dumps(body).encode())
            await self._send(h11.EndOfMessage())

    def _entry(self, id_: str, asked: Question | None, phase: str, tally: _Tally) -> EgressEntry:
        return EgressEntry.model_validate(
            {
                "id": id_,
                "at": self.broker.means.clock.now(),
                "plugin": self.broker.plugin,
                "version": self.broker.version,
                "phase": phase,
                "reason": tally.reason if phase != "started" else "",
                "method": asked.method[:16] if asked else "?",
                "host": asked.host[:255] if asked else "?",
                "port": (asked.port if asked else 0) or 0,
                "path": asked.path[:500] if asked else "",
                "address": tally.address,
                "status": tally.status,
                "bytes_out": tally.out,
                "bytes_in": tally.back,
                "credential": tally.credential,
            }
        )

    async def _next(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self.reader.read(_CHUNK))
        return event

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            self.writer.write(data)
            await self.writer.drain()

    async def _data(self, chunk: bytes) -> None:
        if chunk:
            await self._send(h11.Data(data=chunk))


def _has_body(request: h11.Request) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in request.headers)
