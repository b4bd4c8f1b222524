"""A stateful service on this machine that answers like a real one, and can be told to misbehave.

Subclasses keep the state and answer; every exchange can be checked against a published contract::

    class FakeBank(StandIn):
        def answer(self, asked: Asked) -> Reply:
            return Reply.of({"accounts": []})

    with FakeBank() as bank:
        bank.arm("cut", after=2)
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

FAULTS = ("cut", "half", "429", "500", "html", "revoked")
"""``cut``: no answer; ``half``: half of one; ``html``: a captive portal's 200; ``revoked``: 401 until ``heal``."""


@dataclass(frozen=True, slots=True)
class Asked:
    """``path`` without the query; header names in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))


@dataclass(frozen=True, slots=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Any, status: int = 200, **headers: str) -> Self:
        return cls(status, json.dumps(document).encode(), {"Content-Type": "application/json", **headers})


class StandIn:
    """``asked``: every exchange so far. ``violations``: what the contract check found."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.violations: list[str] = []
        self.revoked = False
        self._armed: dict[int, str] = {}
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self.port = 0

    def answer(self, asked: Asked) -> Reply:
        raise NotImplementedError

    def check(self, asked: Asked, reply: Reply) -> list[str]:
        """What of this exchange breaks the published contract."""
        return []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def arm(self, fault: str, after: int = 0) -> None:
        """The request after the next ``after`` ones meets this fault, once (``revoked``: and all that follow)."""
        if fault not in FAULTS:
            raise ValueError(f"unknown fault {fault!r}")
        self._armed[len(self.asked) + after] = fault

    def heal(self) -> None:
        self._armed.clear()
        self.revoked = False

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        """By name, what arms each fault for the n-th request from now."""
        return {name: self._arming(name) for name in FAULTS}

    def _arming(self, name: str) -> Callable[[int], None]:
        return lambda after: self.arm(name, after)

    def start(self) -> None:
        """On the port of the last time, if there was one."""
        self._server = _Server(("127.0.0.1", self.port), _handler(self))
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        """Nobody answers at the port from now on."""
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
            self._server = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def handle(self, asked: Asked) -> tuple[Reply, str]:
        """The reply, and the fault that it meets on its way."""
        with self._lock:
            fault = self._armed.pop(len(self.asked), "")
            self.asked.append(asked)
            self.revoked = self.revoked or fault == "revoked"
            if self.revoked:
                return Reply.of({"error": "invalid_token"}, 401), ""
            if fault == "429":
                return Reply.of({"error": "slow down"}, 429, **{"Retry-After": "30"}), ""
            if fault == "500":
                return Reply(500, b"oops", {"Content-Type": "text/plain"}), ""
            if fault == "html":
                return Reply(200, b"<html><body>Log in to this Wi-Fi</body></html>", {"Content-Type": "text/html"}), ""
            if fault == "cut":
                return Reply(), fault
            reply = self.answer(asked)
            self.violations += self.check(asked, reply)
            return reply, fault


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what some tests are about."""


def _handler(service: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else the body, written after the head, waits 40 ms for the client's word

        def _serve(self) -> None:
            address = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            query = dict(parse_qsl(address.query, keep_blank_values=True))
            reply, fault = service.handle(Asked(self.command, address.path, query, headers, body))
            self.close_connection = bool(fault) or self.close_connection
            if fault == "cut":
                return
            self.send_response_only(reply.status)
            own = {"Date": self.date_time_string()}  # a reply may have another clock
            for name, value in {**own, **reply.headers, "Content-Length": str(len(reply.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body[: len(reply.body) // 2] if fault == "half" else reply.body)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = _serve
        do_PROPFIND = do_REPORT = do_MKCALENDAR = _serve

        def log_message(self, format: str, *args: Any) -> None:
            """Tests are silent."""

    return Handler
