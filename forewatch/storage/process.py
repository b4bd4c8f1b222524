"""Python processes of our own: started with a bare environment, and gone as soon as we are."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading

from schemas.errors import TransientError

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


class Ended(Exception):
    """What was under way is given up, since nobody waits for it any more; a crash there would have left the same."""


class Workers:
    """Those that work for one caller, one at a time, until it ends. ``end`` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: subprocess.Popen[bytes] | None = None
        self._is_over = False

    def run(self, module: str, job: object, what: str) -> bytes:
        """What the worker answers; TransientError says ``what`` it could not do. Ended as soon as ``end`` is called."""
        with self._lock:
            self.go_on()
            worker = self._running = start(module)
        with worker:
            out, error = worker.communicate(json.dumps(job).encode())
        if worker.returncode:
            self.go_on()
            reason = error.decode(errors="replace").strip() or f"the worker ended with status {worker.returncode}"
            raise TransientError(f"history could not {what}: {reason}")
        return out

    def go_on(self) -> None:
        """To be asked between two parts of long work: Ended when it is to go on no more."""
        if self._is_over:
            raise Ended

    def end(self) -> None:
        """Kills the one that runs, and starts none any more."""
        with self._lock:
            self._is_over = True
            if self._running is not None:
                self._running.kill()


def die_with_parent() -> None:
    """First call of a worker's ``main``: when the parent is killed, this process is too (Linux only)."""
    parent = int(sys.argv[1])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)
