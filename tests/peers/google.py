"""Google's discovery documents: what Gmail and Google Calendar publish about their own requests and answers.

They come inside of the package google-api-python-client, which has 114 MB: two of its files are kept, and none of it is
ever imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from tests.peers.process import CHECKOUT, PEERS, PeerMissing

VERSION = "2.202.0"
DOCUMENTS = ("gmail.v1", "calendar.v3")
_FOLDER = PEERS / f"google-{VERSION}"
_INSIDE = "googleapiclient/discovery_cache/documents"


def fetch_google() -> str:
    if not all((_FOLDER / f"{name}.json").is_file() for name in DOCUMENTS):
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            wanted = f"google-api-python-client=={VERSION}"
            subprocess.run([*pip, "--only-binary=:all:", "--dest", folder, wanted], check=True, cwd=CHECKOUT)
            _unpack(next(Path(folder).glob("*.whl")))
    return f"{_FOLDER.name}: {', '.join(DOCUMENTS)}"


def _unpack(wheel: Path) -> None:
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as package:
        for name in DOCUMENTS:
            (_FOLDER / f"{name}.json").write_bytes(package.read(f"{_INSIDE}/{name}.json"))


def document(name: str) -> dict[str, Any]:
    """PeerMissing where ``make peers`` did not fetch it."""
    path = _FOLDER / f"{name}.json"
    if not path.is_file():
        raise PeerMissing("Google's discovery documents are not here: run 'make peers'")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found
