"""The sandbox: the command line that runs a program with what was declared and nothing else."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from actions.isolation import landlock
from actions.isolation.permissions import Files, Limits
from schemas.errors import Refused

Mode = Literal["prlimit", "landlock", "bwrap"]
"""From weak to strong: limits and a system call filter; and only declared files; and namespaces of its own."""
MODES: tuple[Mode, ...] = ("prlimit", "landlock", "bwrap")

SOCKET = "/run/egress/egress.sock"
"""The broker's door, inside."""
PORT = 3128
"""The same door for programs that know only of proxies on a port, inside."""

_HERE = Path(__file__).resolve().parent
_INSIDE = "/run/forewatch/inside.py"
_NOBODY = "65534"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")
_ETC = ("/etc/ld.so.cache", "/etc/alternatives", "/etc/ssl", "/etc/ca-certificates", "/etc/pki", "/etc/localtime")
"""Of /etc nothing but what libraries and certificates need: no accounts, no resolver, no keys."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_TMP_MB = 64


@dataclass(frozen=True)
class Program:
    """``parts``: the folders that the program itself consists of, readable inside. ``egress``: the folder in which
    the broker's socket lies; None for a program that may reach nobody."""

    command: tuple[str, ...]
    parts: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Files = field(default_factory=Files)
    limits: Limits = field(default_factory=Limits)
    egress: Path | None = None


def command(program: Program, mode: Mode, scratch: Path) -> list[str]:
    """What to execute, from this process and with no environment. ``scratch`` is an empty folder of the program's
    own, for the modes in which it sees the real file system."""
    order = {
        "mode": mode,
        "parent": os.getpid(),
        "limits": program.limits.model_dump(),
        "environment": _environment(program, mode, scratch),
        "command": list(program.command) if mode != "bwrap" else [*_inside(program), "--", *program.command],
        "bwrap": _bwrap(program) if mode == "bwrap" else [],
        "read": [*_ETC, *map(str, program.files.read)],
        "run": [*_SYSTEM, *map(str, _parts(program))],
        "write": [*_DEVICES, str(scratch), *map(str, program.files.write)],
    }
    root = str(_HERE.parent.parent)
    start = f"import sys; sys.path.insert(0, {root!r}); from actions.isolation.launch import main; main()"
    return [sys.executable, "-I", "-S", "-c", start, json.dumps(order)]


def strongest() -> Mode:
    """The strongest mode that works on this machine; it is tried once."""
    if bwrap_problem() == "":
        return "bwrap"
    return "landlock" if landlock.is_supported() else "prlimit"


@functools.cache
def bwrap_problem() -> str:
    """Why bubblewrap cannot be used here; "" if it can. Blocks some 50 ms the first time."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    trial = command(Program(("true",)), "bwrap", Path("/nonexistent"))
    done = subprocess.run(trial, capture_output=True, text=True, check=False, env={}, cwd="/", timeout=60)
    return "" if done.returncode == 0 else f"bubblewrap fails: {done.stderr.strip()[-200:] or done.returncode}"


def demand(least: Mode, found: Mode, what: str) -> None:
    """Refused where this machine cannot hold ``what`` as firmly as it needs to be held."""
    if MODES.index(found) < MODES.index(least):
        raise Refused(
            f"{what} needs the isolation {least!r}, and this machine has {found!r}",
            code="isolation",
            remedy=bwrap_problem() and "install bubblewrap and see 'forewatch doctor'",
        )


def _environment(program: Program, mode: Mode, scratch: Path) -> dict[str, str]:
    home = "/tmp" if mode == "bwrap" else str(scratch)
    base = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": home, "TMPDIR": home}
    if program.egress and mode == "bwrap":
        proxy = f"http://127.0.0.1:{PORT}"
        base |= {name: proxy for each in ("http_proxy", "https_proxy", "all_proxy") for name in (each, each.upper())}
        base["FOREWATCH_EGRESS"] = SOCKET
    elif program.egress:
        base["FOREWATCH_EGRESS"] = str(program.egress / Path(SOCKET).name)
    return base | dict(program.environment)


def _inside(program: Program) -> list[str]:
    door = str(PORT if program.egress else 0)
    return [_python(), "-I", "-S", _INSIDE, str(program.limits.processes), door, SOCKET]


def _python() -> str:
    return os.path.realpath(sys.executable)


def _parts(program: Program) -> tuple[Path, ...]:
    """The program, and the Python that opens the sandbox for it; what lies below /usr is there anyway."""
    return (*program.parts, Path(sys.base_prefix).resolve())


def _bwrap(program: Program) -> list[str]:
    """Everything bubblewrap is told, in the order in which it is mounted."""
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    words += ["--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"]
    for place in _SYSTEM:
        if os.path.islink(place):
            words += ["--symlink", os.readlink(place), place]
        elif os.path.isdir(place):
            words += ["--ro-bind", place, place]
    for place in _ETC:
        words += ["--ro-bind-try", place, place]
    words += ["--proc", "/proc", "--dev", "/dev", "--size", str(_TMP_MB << 20), "--tmpfs", "/dev/shm"]
    words += ["--remount-ro", "/dev", "--size", str(_TMP_MB << 20), "--tmpfs", "/tmp"]
    words += ["--ro-bind", str(_HERE / "inside.py"), _INSIDE]
    for part in _parts(program):
        words += [] if part.is_relative_to("/usr") else ["--ro-bind", str(part.resolve()), str(part)]
    for how, declared in (("--ro-bind", program.files.read), ("--bind", program.files.write)):
        words += [word for path in declared for word in (how, str(path.resolve()), str(path))]
    if program.egress:
        words += ["--ro-bind", str(program.egress), str(Path(SOCKET).parent)]
    return [*words, "--remount-ro", "/", "--chdir", "/tmp"]
