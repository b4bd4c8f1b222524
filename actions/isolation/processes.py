"""How many processes a sandbox may have when root starts it: a control group of its own, where one can be made.

The kernel's limit for each user (RLIMIT_NPROC, ``inside.py``) does not hold for root, whatever namespace it is in.
Groups whose sandbox has ended are removed by the next launcher.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_OURS = "forewatch-"
_OWN = 4
"""Processes of ours in the group: the launcher, the sandbox's first ones, the door to the broker."""


def are_bounded() -> bool:
    """Does the number of processes in a sandbox have a bound, for whoever we are?"""
    return os.geteuid() != 0 or _base() is not None


def bound(count: int) -> None:
    """For this process and all that it starts. As root only; does nothing where no group can be made."""
    base = _base() if os.geteuid() == 0 else None
    if base is None:
        return
    _sweep(base)
    group = base / f"{_OURS}{os.getpid()}"
    with contextlib.suppress(OSError):
        group.mkdir(exist_ok=True)
        (group / "pids.max").write_text(str(count + _OWN))
        (group / "cgroup.procs").write_text(str(os.getpid()))


def _base() -> Path | None:
    """Where this process may make a group that counts processes."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, place = line.split(":", 2)
        root = Path("/sys/fs/cgroup", *(["pids"] if controllers else []))
        base = root / place.lstrip("/")
        if "pids" in controllers.split(",") and os.access(base, os.W_OK):
            return base
        if not controllers and "pids" in _read(base / "cgroup.subtree_control").split() and os.access(base, os.W_OK):
            return base
    return None


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _sweep(base: Path) -> None:
    for group in base.glob(f"{_OURS}*"):
        if not Path("/proc", group.name.removeprefix(_OURS)).exists():
            with contextlib.suppress(OSError):  # somebody still lives in it
                group.rmdir()
