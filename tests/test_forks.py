"""A command that is forked behaves like one that is started: see ``forks.py``."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forewatch.storage import process as workers
from tests import forks
from tests.forkserver import IMPORTED, WORKERS

STATE = """
import gc, importlib, json, os, signal, sys, threading, warnings
for module in sys.argv[1:]:
    importlib.import_module(module)
handlers = {one.name: str(signal.getsignal(one)).split(" at ")[0] for one in signal.Signals}
print(json.dumps({
    "threads": [threading.active_count(), len(os.listdir("/proc/self/task"))],
    "files": sorted(fd for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")),
    "signals": handlers, "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "cwd": os.getcwd(), "argv": sys.argv, "path": sys.path, "environment": dict(os.environ),
    "name": __name__, "package": __package__, "group": os.getpgrp(), "session": os.getsid(0), "gc": gc.get_threshold(),
    "filters": [str(one) for one in warnings.filters], "encodings": [sys.stdout.encoding, sys.stderr.errors],
    "buffered": [sys.stdout.line_buffering, sys.stderr.line_buffering], "umask": os.umask(0o22),
}))
"""
"""All that a command could take from the process that it is forked from."""
FREE = {**os.environ, "FOREWATCH_LOG_LEVEL": "debug"}
OURS = ("actions", "extractors", "forewatch", "rules", "schemas", "streams")
Start = Callable[..., subprocess.Popen[Any]]


@pytest.fixture(params=[subprocess.Popen, forks.Popen], ids=["started", "forked"])
def start(request: pytest.FixtureRequest) -> Start:
    """A process that runs this code, in text, with pipes."""

    def started(code: str, *arguments: str, **options: Any) -> subprocess.Popen[Any]:
        pipe = subprocess.PIPE
        options = {"stdin": pipe, "stdout": pipe, "stderr": pipe, "text": True, "env": FREE, **options}
        return request.param([sys.executable, "-c", code, *arguments], **options)

    return started


def state(run: Callable[..., subprocess.CompletedProcess[str]], cwd: Path) -> dict[str, Any]:
    command = [sys.executable, "-c", STATE, *IMPORTED]
    done = run(command, cwd=cwd, env=FREE, capture_output=True, text=True, check=True, input="")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_fork_finds_what_a_started_process_finds(tmp_path: Path) -> None:
    assert state(forks.run, tmp_path) == state(subprocess.run, tmp_path)


def test_a_fork_is_another_process_with_another_parent_and_a_hash_seed_that_is_not_the_last_one(
    tmp_path: Path,
) -> None:
    code = [sys.executable, "-c", "import os; print(os.getppid(), hash('seed'))"]
    (first, one), (second, other) = (
        forks.run(code, capture_output=True, text=True, check=True).stdout.split() for _ in range(2)
    )
    assert str(os.getpid()) not in (first, second), "it was started"
    assert one != other


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("pass", 0),
        ("raise SystemExit(7)", 7),
        ("raise SystemExit('text')", 1),
        ("1 / 0", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os; os.kill(os.getpid(), 9)", -signal.SIGKILL),
        ("import os; os._exit(3)", 3),
        ("from forewatch.cli.main import main; main()", 2),
        ("1 +", 1),
    ],
)
def test_its_end_is_told(start: Start, code: str, status: int) -> None:
    with start(code) as process:
        assert process.wait(60) == status
        assert process.poll() == process.returncode == status


def test_it_reads_and_writes_where_it_is_told_and_ends_as_an_interpreter_does(start: Start, tmp_path: Path) -> None:
    code = (
        "import atexit, sys, threading, time; atexit.register(print, 'left');"
        "threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start();"
        "print(sys.stdin.read()); print('wrong', file=sys.stderr)"
    )
    with start(code) as process:
        assert process.communicate("said", 60) == ("said\nthread\nleft\n", "wrong\n")
    with (tmp_path / "out").open("w") as out, start("print('here')", stdout=out) as process:
        assert process.wait(60) == 0
    assert (tmp_path / "out").read_text() == "here\n"


def test_nobody_else_holds_its_pipes(start: Start) -> None:
    """Or the reader of one that closes its output, or is dead, would wait for ever."""
    with start("import os, time; os.close(1); os.close(2); time.sleep(60)") as process:
        assert process.stdout is not None
        assert process.stdout.read() == ""
        assert process.poll() is None
        process.kill()
        assert process.wait(60) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("sent", "status"), [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGKILL, -9)]
)
def test_a_signal_reaches_it_and_no_other(start: Start, sent: int, status: int) -> None:
    code = (
        "import signal, time; signal.signal(signal.SIGINT, signal.default_int_handler);"  # who started us may ignore it
        "print('up', flush=True); time.sleep(60)"
    )
    with start(code) as process, start("input()") as other:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.send_signal(sent)
        assert process.wait(60) == status
        assert other.poll() is None
        other.communicate("", 60)


def test_a_pipe_that_nobody_reads_is_an_error_to_it_and_not_its_end(start: Start) -> None:
    code = "import sys; sys.stdin.read()\ntry: print('x', flush=True)\nexcept BrokenPipeError: import os; os._exit(5)"
    with start(code) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.close()
        assert process.wait(60) == 5


@pytest.mark.parametrize("variable", ["PYTHONHASHSEED", "LANG", "COLUMNS"])
def test_what_an_interpreter_or_an_import_reads_makes_it_a_start(variable: str) -> None:
    code = f"import os; print(os.getppid(), os.environ[{variable!r}])"
    environment = {**os.environ, variable: "7"}
    done = forks.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(os.getpid()), "7"]


@pytest.mark.parametrize("run", [subprocess.run, forks.run], ids=["started", "forked"])
def test_a_command_that_takes_too_long_is_killed(run: Callable[..., Any]) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2)
    with pytest.raises(subprocess.CalledProcessError):
        run([sys.executable, "-c", "raise SystemExit(3)"], check=True)


@pytest.mark.parametrize("command", [("rules", "list"), ("accounts", "list"), ("proposals", "list")])
def test_of_ours_a_command_finds_everything_imported(command: tuple[str, ...], tmp_path: Path) -> None:
    """Otherwise the forks are slow: ``forkserver.IMPORTED`` lacks what a command imports."""
    code = (
        "import sys; before = set(sys.modules)\nfrom forewatch.cli.main import main\ntry: main()\n"
        "finally: print(*sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    environment = {**FREE, "FOREWATCH_HOME": str(tmp_path), "FOREWATCH_TIMEZONE": "UTC"}
    done = forks.run([sys.executable, "-c", code, *command], env=environment, capture_output=True, text=True)
    later = done.stderr.splitlines()[-1].split()
    assert [name for name in later if name.split(".")[0] in OURS] == []


@pytest.mark.parametrize("module", WORKERS)
def test_a_worker_of_history_says_and_ends_the_same(module: str, real_workers: None) -> None:
    def said(start: Callable[[str], subprocess.Popen[bytes]], job: bytes) -> tuple[bytes, bool, int]:
        with start(module) as worker:
            out, err = worker.communicate(job, 60)
        return out, bool(err), worker.returncode

    for job in (b"not JSON", b'["SELECT 1"]', b'["SELECT nothing"]'):
        assert said(forks.start_worker, job) == said(workers.start, job)
