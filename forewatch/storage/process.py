"""Python processes of our own: started with a bare environment, and gone as soon as we are."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys

REFUSED = 3
"""Exit code of a worker that says on stderr, as JSON, why it did not do what it was asked."""

_PR_SET_PDEATHSIG = 1


def start(module: str) -> subprocess.Popen[bytes]:
    """``python -m module`` with pipes; it sees none of our environment, and imports what we would import."""
    return subprocess.Popen(
        [sys.executable, "-P", "-s", "-m", module, str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LANG": "C.UTF-8"},
        cwd="/",
        start_new_session=True,
    )


def die_with_parent() -> None:
    """First call of a worker's ``main``: when the parent is killed, this process is too (Linux only)."""
    parent = int(sys.argv[1])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)
