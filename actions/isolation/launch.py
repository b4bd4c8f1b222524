"""The launcher: a short-lived process of ours that gives up what the program must not have, and becomes the sandbox.

``launch.py JSON``, made by ``sandbox.py``; imports only what is beside it, so that it starts in some milliseconds.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from actions.isolation import landlock, limits, processes, seccomp

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_CAPABILITIES = 64


def main() -> None:
    order = json.loads(sys.argv[1])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != order["parent"]:  # it died before we asked
        os._exit(1)
    processes.bound(order["limits"]["processes"])
    limits.apply(order["limits"])
    code = seccomp.program(internet=order["mode"] == "bwrap") if seccomp.is_supported() else b""
    command = order["command"]
    if order["mode"] == "bwrap":
        command = [*order["bwrap"], *(["--seccomp", str(_handed_over(code))] if code else []), "--", *command]
    else:
        _give_up(order, code)
    try:
        os.execvpe(command[0], command, order["environment"])
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        raise SystemExit(127) from None


def _give_up(order: dict[str, Any], code: bytes) -> None:
    if order["mode"] == "landlock":
        places = {name: [Path(place) for place in order[name]] for name in ("read", "run", "write")}
        landlock.restrict(read=places["read"], run=places["run"], write=places["write"])
    libc = ctypes.CDLL(None)
    for capability in range(_CAPABILITIES):  # only root has any to lose; what it becomes then has none
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if code:
        seccomp.install(code)


def _handed_over(code: bytes) -> int:
    """A descriptor from which the program's filter can be read once."""
    fd = os.memfd_create("seccomp", 0)
    os.write(fd, code)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


if __name__ == "__main__":
    main()
