"""A program that the workers of a run share: see ``tests/peers/process.py``."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import forks
from tests.forks import ROOT
from tests.peers.process import Left, free_port, leave_running, shared

SERVER = """
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        server.accept()[0].close()
"""


WORKER = """
import sys
from pathlib import Path
from tests.peers.process import shared
with shared(Path(sys.argv[1]), None) as port:
    print(port, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def starts() -> list[Path]:
    """The folder of each start."""
    return []


@pytest.fixture
def start(starts: list[Path]) -> Callable[[Path], Left]:
    def start(folder: Path) -> Left:
        starts.append(folder)
        port = free_port()
        return leave_running([sys.executable, "-c", SERVER, str(port)], port, folder / "log")

    return start


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def ends(port: int) -> bool:
    """What is killed takes a moment to be gone."""
    deadline = time.monotonic() + 60
    while listens(port) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not listens(port)


def test_the_first_that_comes_starts_it_and_the_last_that_goes_ends_it(
    tmp_path: Path, start: Callable[[Path], Left], starts: list[Path]
) -> None:
    first, second = shared(tmp_path, start), shared(tmp_path, start)
    port = first.__enter__()
    assert second.__enter__() == port
    first.__exit__(None, None, None)
    assert listens(port)
    second.__exit__(None, None, None)
    assert ends(port)
    with shared(tmp_path, start) as anew:
        assert listens(anew)
    assert len(starts) == len(set(starts)) == 2


def test_a_worker_that_was_killed_has_gone(tmp_path: Path, start: Callable[[Path], Left]) -> None:
    with shared(tmp_path, start) as port:
        command = [sys.executable, "-c", WORKER, str(tmp_path)]
        with forks.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
            assert int(worker.stdout.readline()) == port
            worker.kill()
    assert ends(port)
