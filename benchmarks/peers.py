"""``python -m benchmarks.peers``: an environment of their own for the libraries that the benchmarks compare with.

They are no part of the product: they live in ``.peers/bench`` and come last on the path of a benchmark's process, so
that ours is measured with the versions that it ships with.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).parent
WANTED, LOCK = HERE / "peers.in", HERE / "peers.lock"
FOLDER = HERE.parent / ".peers" / "bench"
_MARK = FOLDER / "installed"
_FAILED = FOLDER / "failed"


def install() -> None:
    """All of the lock, once; where that fails, what can be had, with a note of what cannot and why."""
    if _MARK.is_file() and _MARK.read_text() == _stamp():
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
    failed: list[str] = []
    if _pip("-r", str(LOCK)):
        for name in _names():
            if reason := _pip("-c", str(LOCK), name):
                failed.append(f"{name}: {reason}")
    _FAILED.write_text("\n".join(failed))
    _MARK.write_text(_stamp())


def _pip(*arguments: str) -> str:
    """Why pip failed, in a line; empty if it did not."""
    pip = [str(FOLDER / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    done = subprocess.run([*pip, *arguments], capture_output=True, text=True, cwd=HERE, check=False)
    if done.returncode == 0:
        return ""
    return next((line for line in done.stderr.splitlines() if line.startswith("ERROR")), f"exit {done.returncode}")


def _stamp() -> str:
    return f"{sys.version}\n{hashlib.sha256(LOCK.read_bytes()).hexdigest()}"


def _names() -> Sequence[str]:
    return [line for line in WANTED.read_text().splitlines() if line and not line.startswith("#")]


def activate() -> None:
    """Lets this process import the peers that are there."""
    for folder in (FOLDER / "lib").glob("python*/site-packages"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))


def label(name: str) -> str:
    """The peer with its version."""
    return f"{name} {version(name)}"


def why_missing(name: str) -> str:
    """What a row says of a peer that cannot be imported."""
    if not _MARK.is_file():
        return "not installed: run 'make bench', which fetches it"
    reasons = _FAILED.read_text().splitlines()
    return "not installed: " + next((line for line in reasons if line.startswith(f"{name}: ")), "import failed")


if __name__ == "__main__":
    install()
    for line in _FAILED.read_text().splitlines():
        sys.stderr.write(f"not installed: {line}\n")
