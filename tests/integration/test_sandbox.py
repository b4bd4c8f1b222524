"""Real processes in the sandbox, each trying what it may not do."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from actions.isolation import landlock, processes, seccomp
from actions.isolation.permissions import Files, Limits
from actions.isolation.sandbox import MODES, Mode, Program, command, demand, strongest
from schemas.errors import Refused

PYTHON = os.path.realpath(sys.executable)


def run(mode: Mode, scratch: Path, *words: str, files: Files | None = None, limits: Limits | None = None) -> str:
    """What the program says on stdout; it must end well."""
    done = attempt(mode, scratch, *words, files=files, limits=limits)
    assert done.returncode == 0, done.stderr
    return done.stdout


def attempt(
    mode: Mode, scratch: Path, *words: str, files: Files | None = None, limits: Limits | None = None
) -> subprocess.CompletedProcess[str]:
    program = Program(words, files=files or Files(), limits=limits or Limits())
    line = command(program, mode, scratch)
    return subprocess.run(line, capture_output=True, text=True, check=False, env={}, cwd="/", timeout=120)


TRIES = """
import ctypes, json, mmap, os, socket, sys
def tried(work):
    try:
        work()
    except BaseException as error:
        return type(error).__name__
    return "done"
def refused(number, *arguments):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *arguments) == -1:
        raise OSError(ctypes.get_errno(), "refused")
places, is_intel = json.loads(sys.argv[1]), os.uname().machine == "x86_64"
print(json.dumps({
    name: tried(work)
    for name, work in {
        "read declared": lambda: open(places["read"] + "/letter.txt").read(),
        "write read-only": lambda: open(places["read"] + "/letter.txt", "w").write("x"),
        "write declared": lambda: open(places["write"] + "/new.txt", "w").write("x"),
        "read elsewhere": lambda: open(places["elsewhere"]).read(),
        "read accounts": lambda: open("/etc/passwd").read(),
        "list the root's home": lambda: os.listdir("/home"),
        "write the system": lambda: open("/usr/forewatch-was-here", "w"),
        "write the root": lambda: open("/forewatch-was-here", "w"),
        "write its own temporary folder": lambda: open(os.environ["TMPDIR"] + "/x", "w").write("x"),
        "connect": lambda: socket.create_connection(("127.0.0.1", places["port"]), timeout=5),
        "send a datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)),
        "ask the machine's host": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM),
        "make a namespace": lambda: refused(272 if is_intel else 97, 0x10000000),
        "trace": lambda: refused(101 if is_intel else 117, 0, 0, 0, 0),
    }.items()
}))
"""


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, object]]:
    for name in ("read", "write", "scratch"):
        (tmp_path / name).mkdir()
    (tmp_path / "read" / "letter.txt").write_text("Dear Ann")
    (tmp_path / "elsewhere.txt").write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield {
            "read": str(tmp_path / "read"),
            "write": str(tmp_path / "write"),
            "elsewhere": str(tmp_path / "elsewhere.txt"),
            "port": listener.getsockname()[1],
        }


@pytest.fixture(params=["bwrap", "landlock"])
def mode(request: pytest.FixtureRequest) -> Mode:
    if request.param == "landlock" and not landlock.is_supported():
        pytest.skip("this kernel has no Landlock")
    if request.param == "bwrap":
        request.getfixturevalue("bwrap_mode")
    chosen: Mode = request.param
    return chosen


def test_a_program_reaches_what_it_declared_and_nothing_else(
    mode: Mode, places: dict[str, object], tmp_path: Path
) -> None:
    files = Files(read=(Path(str(places["read"])),), write=(Path(str(places["write"])),))
    tried = json.loads(run(mode, tmp_path / "scratch", PYTHON, "-c", TRIES, json.dumps(places), files=files))
    may = ("read declared", "write declared", "write its own temporary folder")
    assert [tried.pop(each) for each in may] == ["done"] * 3
    assert {name for name, how in tried.items() if how == "done"} == set()
    assert (tmp_path / "write" / "new.txt").read_text() == "x"
    assert (tmp_path / "read" / "letter.txt").read_text() == "Dear Ann"


def test_a_program_sees_no_variable_of_ours_and_no_other_process(bwrap_mode: Mode, tmp_path: Path) -> None:
    look = "import json, os; print(json.dumps([sorted(os.environ), [p for p in os.listdir('/proc') if p.isdigit()]]))"
    names, processes = json.loads(run(bwrap_mode, tmp_path, PYTHON, "-c", look))
    assert set(names) <= {"PATH", "LANG", "HOME", "TMPDIR", "PWD", "LC_CTYPE"}
    assert len(processes) <= 2  # the sandbox's own first process, and the program


def test_a_program_has_no_capabilities_and_can_gain_none(bwrap_mode: Mode, tmp_path: Path) -> None:
    status = run(bwrap_mode, tmp_path, "cat", "/proc/self/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert int(fields["CapEff"], 16) == 0
    assert int(fields["CapBnd"], 16) == 0
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"


FILL = "data = bytearray(400 << 20); print(len(data))"


@pytest.mark.parametrize("held", MODES)
def test_memory_is_bounded(held: Mode, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if held == "bwrap":
        request.getfixturevalue("bwrap_mode")
    assert run(held, tmp_path, PYTHON, "-c", FILL, limits=Limits(memory_mb=512)) == f"{400 << 20}\n"
    refused = attempt(held, tmp_path, PYTHON, "-c", FILL, limits=Limits(memory_mb=256))
    assert refused.returncode != 0
    assert "MemoryError" in refused.stderr


def test_shared_memory_is_bounded_too(bwrap_mode: Mode, tmp_path: Path) -> None:
    share = "import mmap; mmap.mmap(-1, 700 << 20); print('got it')"
    assert run(bwrap_mode, tmp_path, PYTHON, "-c", share, limits=Limits(address_mb=1_024)) == "got it\n"
    assert "got it" not in attempt(bwrap_mode, tmp_path, PYTHON, "-c", share, limits=Limits(address_mb=64)).stdout


@pytest.mark.parametrize("held", MODES)
def test_processor_time_is_bounded(held: Mode, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """It would spin for ever; the kernel ends it after one second of processor time."""
    if held == "bwrap":
        request.getfixturevalue("bwrap_mode")
    ended = attempt(held, tmp_path, PYTHON, "-c", "while True: pass", limits=Limits(cpu_s=1))
    assert ended.returncode in (-9, 137)


def test_files_are_bounded_in_size_and_number(bwrap_mode: Mode, tmp_path: Path) -> None:
    big = "open('/tmp/big', 'wb').write(b'x' * (3 << 20))"
    assert attempt(bwrap_mode, tmp_path, PYTHON, "-c", big, limits=Limits(file_mb=4)).returncode == 0
    assert "OSError" in attempt(bwrap_mode, tmp_path, PYTHON, "-c", big, limits=Limits(file_mb=2)).stderr
    many = "kept = [open('/dev/null') for _ in range(60)]"
    assert attempt(bwrap_mode, tmp_path, PYTHON, "-c", many, limits=Limits(open_files=80)).returncode == 0
    assert "OSError" in attempt(bwrap_mode, tmp_path, PYTHON, "-c", many, limits=Limits(open_files=40)).stderr


@pytest.mark.skipif(not processes.are_bounded(), reason="root, and no control group can be made here")
def test_processes_are_bounded(bwrap_mode: Mode, tmp_path: Path) -> None:
    breed = "import subprocess; kept = [subprocess.Popen(['sleep', '30']) for _ in range(20)]"
    assert attempt(bwrap_mode, tmp_path, PYTHON, "-c", breed, limits=Limits(processes=40)).returncode == 0
    assert "BlockingIOError" in attempt(bwrap_mode, tmp_path, PYTHON, "-c", breed, limits=Limits(processes=10)).stderr


def test_a_program_dies_with_the_process_that_started_it(bwrap_mode: Mode, tmp_path: Path) -> None:
    line = command(Program(("sleep", "600")), bwrap_mode, tmp_path)
    with subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env={}, cwd="/") as sandbox:
        assert sandbox.stdout is not None
        sandbox.kill()
        assert sandbox.stdout.read() == b""  # ends only when all that held the pipe is gone


def test_what_needs_a_strong_sandbox_is_refused_in_a_weak_one() -> None:
    demand("landlock", "bwrap", "plugin x")
    with pytest.raises(Refused, match=r"plugin x needs the isolation 'bwrap', and this machine has 'landlock'"):
        demand("bwrap", "landlock", "plugin x")
    assert strongest() in MODES


@pytest.mark.skipif(not seccomp.is_supported(), reason="the filter knows x86-64 and 64-bit ARM")
def test_the_filter_fits_every_machine_that_it_knows() -> None:
    """Jumps are relative and one byte wide: a block that grew too long would jump into nowhere."""
    for machine in ("x86_64", "aarch64"):
        code = seccomp.program(machine, internet=True)
        steps = [code[at : at + 8] for at in range(0, len(code), 8)]
        for at, step in enumerate(steps):
            opcode = step[0]
            if opcode in (0x15, 0x35, 0x45):
                assert at + 1 + max(step[2], step[3]) < len(steps)
        assert steps[-1][0] == 0x06
        assert len(steps) < 4096
