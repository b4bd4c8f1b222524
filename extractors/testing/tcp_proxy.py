"""A proxy on this machine between a connector and a real server, which can be told to misbehave.

It knows no protocol: it counts *turns*, the times that the client spoke after the server did. With TLS it sees the
records alone, and cuts and delays them like a bad line does. What a client has said is carried by a thread that may be
late, so whoever arms a fault or asks for the turns waits until nothing is left to carry: a client's farewell would
else be counted among the turns of the next one::

    with TcpProxy(("127.0.0.1", server_port)) as proxy:
        proxy.arm("cut", after=3)
"""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

FAULTS = ("cut", "half", "stall", "garbage", "html", "refused")
"""``cut``: the line ends instead of an answer; ``half``: in the middle of it; ``stall``: nothing more comes until the
client hangs up; ``garbage``: noise instead of an answer; ``html``: a web server's page; ``refused``: new connections
end at once, until ``heal``."""

_PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>Log in to this Wi-Fi</html>"


_PATIENCE_S = 30.0


@dataclass(slots=True)
class _Line:
    """One connection through the proxy."""

    client: socket.socket
    server: socket.socket
    fault: str = ""
    is_clients_turn: bool = False
    carrying: threading.Lock = field(default_factory=threading.Lock)
    """Held from reading what one side said until it is counted and passed on."""

    def is_quiet(self) -> bool:
        with self.carrying:
            return not select.select([self.client, self.server], [], [], 0)[0]


@dataclass
class TcpProxy:
    """``connections``: how many there were."""

    target: tuple[str, int]
    connections: int = 0
    port: int = 0
    _armed: dict[int, str] = field(default_factory=dict)
    _turns: int = 0
    _is_refusing: bool = False
    _lines: list[_Line] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)
    _listener: socket.socket | None = None
    _lock: threading.Condition = field(default_factory=threading.Condition)
    """Of the lines; notified whenever something was carried on one."""
    _counting: threading.Lock = field(default_factory=threading.Lock)
    """Of turns and armed faults; nothing else is taken while it is held."""

    @property
    def turns(self) -> int:
        """How often clients asked something so far."""
        with self._lock:
            self._settle()
            return self._turns

    def _settle(self) -> None:
        """Returns when everything that was said is carried, and the lines that ended are gone."""
        if not self._lock.wait_for(lambda: all(line.is_quiet() for line in self._lines), _PATIENCE_S):
            raise TimeoutError("somebody speaks all the time")

    def arm(self, fault: str, after: int = 0) -> None:
        """The turn after the next ``after`` ones meets this fault, once (``refused``: from now on)."""
        if fault not in FAULTS:
            raise ValueError(f"unknown fault {fault!r}")
        with self._lock:
            self._settle()
            if fault == "refused":
                self._is_refusing = True
                return
            with self._counting:
                self._armed[self._turns + after] = fault

    def heal(self) -> None:
        with self._counting:
            self._armed.clear()
        with self._lock:
            self._is_refusing = False

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        """By name, what arms each fault for the n-th turn from now."""
        return {name: self._arming(name) for name in FAULTS}

    def _arming(self, name: str) -> Callable[[int], None]:
        return lambda after: self.arm(name, after)

    def cut_all(self) -> None:
        """Every open connection ends now."""
        with self._lock:
            for line in self._lines:
                _end(line.client, line.server)

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self._listener.getsockname()[1]
        self._start(self._listen, self._listener)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._listener is not None
        _end(self._listener)
        self.cut_all()
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _start(self, work: Callable[..., None], *words: object) -> None:
        thread = threading.Thread(target=work, args=words)
        self._threads.append(thread)
        thread.start()

    def _listen(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # shut down
                return
            with self._lock:
                self.connections += 1
                is_refusing = self._is_refusing
            if is_refusing:
                client.close()
                continue
            try:
                server = socket.create_connection(self.target, 10)
            except OSError:
                client.close()
                continue
            for each in (client, server):  # pieces are carried as they come: none waits for word of the one before
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            line = _Line(client, server)
            with self._lock:
                self._lines.append(line)
            self._start(self._carry, line)

    def _carry(self, line: _Line) -> None:
        """Until one side hangs up."""
        try:
            while self._carried(line):
                pass
        except OSError:
            pass  # either side has ended
        finally:
            with self._lock:
                self._lines.remove(line)
                self._lock.notify_all()
            for each in (line.client, line.server):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()

    def _carried(self, line: _Line) -> bool:
        ready, _, _ = select.select([line.client, line.server], [], [])
        with line.carrying:
            is_open = self._passed_on(line, is_clients=line.client in ready)
        with self._lock:
            self._lock.notify_all()
        return is_open

    def _passed_on(self, line: _Line, *, is_clients: bool) -> bool:
        said = (line.client if is_clients else line.server).recv(65_536)
        if not is_clients:
            line.is_clients_turn = False
            return bool(said) and self._answered(line, said)
        if said and not line.is_clients_turn:
            line.is_clients_turn = True
            line.fault = self._next_fault()
        if said and line.fault != "stall":
            line.server.sendall(said)
        return bool(said)

    def _next_fault(self) -> str:
        with self._counting:
            fault = self._armed.pop(self._turns, "")
            self._turns += 1
        return fault

    def _answered(self, line: _Line, said: bytes) -> bool:
        """False: the line has ended."""
        match line.fault:
            case "cut":
                return False
            case "half":
                line.client.sendall(said[: len(said) // 2])
                return False
            case "garbage":
                line.client.sendall(b"\x00\xff)]}\r\n* what?\r\n" * 3)
                return False
            case "html":
                line.client.sendall(_PAGE)
                return False
        line.client.sendall(said)
        return True


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        with contextlib.suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
