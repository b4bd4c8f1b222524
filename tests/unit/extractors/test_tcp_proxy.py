"""The proxy that misbehaves, for the tests of others."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from extractors.testing.tcp_proxy import TcpProxy


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that says everything twice."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(opened: socket.socket) -> None:
        with opened, contextlib.suppress(OSError):
            while said := opened.recv(100):
                opened.sendall(said * 2)

    def listen() -> None:
        with contextlib.suppress(OSError):
            while True:
                threads.append(threading.Thread(target=serve, args=(listener.accept()[0],)))
                threads[-1].start()

    threads.append(threading.Thread(target=listen))
    threads[0].start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()
    listener.close()


def asked(client: socket.socket, what: bytes) -> bytes:
    try:
        client.sendall(what)
        return client.recv(1_000)
    except ConnectionError:
        return b""


def test_what_is_said_goes_both_ways_and_is_counted(echo: int) -> None:
    with TcpProxy(("127.0.0.1", echo)) as proxy:
        with socket.create_connection(("127.0.0.1", proxy.port), 5) as client:
            assert [asked(client, b"a"), asked(client, b"b")] == [b"aa", b"bb"]
        assert (proxy.turns, proxy.connections) == (2, 1)


def test_a_fault_does_not_meet_the_farewell_of_a_client_that_has_gone(echo: int) -> None:
    with TcpProxy(("127.0.0.1", echo)) as proxy:
        for _ in range(50):
            with socket.create_connection(("127.0.0.1", proxy.port), 5) as client:
                assert asked(client, b"a") == b"aa"
                client.sendall(b"bye")
            proxy.arm("cut")
            with socket.create_connection(("127.0.0.1", proxy.port), 5) as client:
                assert asked(client, b"b") == b""


@pytest.mark.parametrize(("fault", "said"), [("cut", b""), ("half", b"b"), ("html", b"HTTP"), ("garbage", b"\x00\xff")])
def test_a_fault_meets_the_turn_that_it_is_armed_for(echo: int, fault: str, said: bytes) -> None:
    with TcpProxy(("127.0.0.1", echo)) as proxy:
        proxy.arm(fault, after=1)
        with socket.create_connection(("127.0.0.1", proxy.port), 5) as client:
            assert asked(client, b"a") == b"aa"
            assert asked(client, b"b").startswith(said)
            assert asked(client, b"c") == b""
        with socket.create_connection(("127.0.0.1", proxy.port), 5) as client:
            assert asked(client, b"d") == b"dd"


def test_a_stalled_line_says_nothing_and_ends_with_the_client(echo: int) -> None:
    with TcpProxy(("127.0.0.1", echo)) as proxy:
        proxy.arm("stall")
        with socket.create_connection(("127.0.0.1", proxy.port), 0.1) as client, pytest.raises(TimeoutError):
            asked(client, b"a")


def test_connections_are_refused_until_it_is_healed(echo: int) -> None:
    with TcpProxy(("127.0.0.1", echo)) as proxy:
        proxy.arm("refused")
        with socket.create_connection(("127.0.0.1", proxy.port), 5) as client:
            assert asked(client, b"a") == b""
        proxy.heal()
        with socket.create_connection(("127.0.0.1", proxy.port), 5) as client:
            assert asked(client, b"a") == b"aa"


def test_all_lines_can_be_cut_at_once(echo: int) -> None:
    with TcpProxy(("127.0.0.1", echo)) as proxy, socket.create_connection(("127.0.0.1", proxy.port), 5) as client:
        assert asked(client, b"a") == b"aa"
        proxy.cut_all()
        assert client.recv(10) == b""


def test_an_unknown_fault_is_a_mistake(echo: int) -> None:
    with TcpProxy(("127.0.0.1", echo)) as proxy, pytest.raises(ValueError, match="unknown fault"):
        proxy.arm("lightning")
