"""Peers that are packages of pip or npm, each in a folder of its own below ``.peers/``: nothing of theirs is ours."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.peers.process import CHECKOUT, PEERS, PeerMissing


def from_pip(name: str, *requirements: str) -> Path:
    """A virtual environment with these pinned requirements; made once. The folder of its programs."""
    folder = PEERS / f"pip-{name}"
    wanted = "\n".join(requirements)
    if _is_made(folder, wanted):
        return folder / "bin"
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *requirements]
    subprocess.run(pip, check=True, cwd=CHECKOUT)
    (folder / "wanted").write_text(wanted)
    return folder / "bin"


def from_npm(name: str, *requirements: str) -> Path:
    """A folder whose node_modules hold these pinned packages; made once."""
    if shutil.which("npm") is None:
        raise PeerMissing(f"{name} is an npm package, and there is no 'npm'")
    folder = PEERS / f"npm-{name}"
    wanted = "\n".join(requirements)
    if _is_made(folder, wanted):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    npm = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts"]
    subprocess.run([*npm, *requirements], check=True, cwd=folder)
    (folder / "wanted").write_text(wanted)
    return folder


def _is_made(folder: Path, wanted: str) -> bool:
    mark = folder / "wanted"
    return mark.is_file() and mark.read_text() == wanted


def fetched_pip(name: str) -> Path:
    """The programs of an environment that ``make peers`` made; PeerMissing where it did not."""
    folder = PEERS / f"pip-{name}" / "bin"
    if not folder.is_dir():
        raise PeerMissing(f"{name} is not here: run 'make peers'")
    return folder


def fetched_npm(name: str) -> Path:
    folder = PEERS / f"npm-{name}"
    if not (folder / "wanted").is_file():
        raise PeerMissing(f"{name} is not here: run 'make peers'")
    if shutil.which("node") is None:
        raise PeerMissing(f"{name} needs Node.js, and there is no 'node'")
    return folder
