"""The fake bank in the source of the library ``fints``: it speaks FinTS 3.0 with two accounts and three bookings."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.peers.process import CHECKOUT, PEERS, PeerMissing

REQUIREMENT = "fints==5.0.1"
_FOLDER = PEERS / "fints-5.0.1"
_SCRIPT = "conftest.py"
_ASKED = r"\+N(?:\+[^+]*\+[^+]*\+[^+]*\+([^+]*))?'"
_MENDED = r"\+N(?:\+[^+']*){0,3}(?:\+([^+']*))?'"
"""It does not understand a question for statements from a certain day on."""


def fetch_fints() -> str:
    if not (_FOLDER / _SCRIPT).is_file():
        with tempfile.TemporaryDirectory() as folder:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            subprocess.run([*pip, "--no-binary", ":all:", "--dest", folder, REQUIREMENT], check=True, cwd=CHECKOUT)
            (archive,) = Path(folder).glob("fints-*.tar.gz")
            with tarfile.open(archive) as source:
                member = source.extractfile(f"fints-5.0.1/tests/{_SCRIPT}")
                if member is None:
                    raise PeerMissing(f"the source of {REQUIREMENT} has no fake bank any more")
                _FOLDER.mkdir(parents=True, exist_ok=True)
                (_FOLDER / _SCRIPT).write_bytes(member.read())
    return str(_FOLDER / _SCRIPT)


@contextmanager
def fake_bank(folder: Path) -> Iterator[str]:
    """Its address. It runs in a thread of this process; PIN 1234 is right, 3938 is locked."""
    with _running() as (address, _):
        yield address


@contextmanager
def fake_protocol(folder: Path) -> Iterator[type[Any]]:
    """How it answers: a request handler, whose ``process_message(message) -> answer`` speaks the protocol and asks
    ``make_answer(dialog, message)`` what to say."""
    with _running() as (_, server):
        yield server.RequestHandlerClass


@contextmanager
def _running() -> Iterator[tuple[str, Any]]:
    script = _FOLDER / _SCRIPT
    if not script.is_file():
        raise PeerMissing("the fake FinTS bank is not here: run 'make peers'")
    source = script.read_text("utf-8")
    if _ASKED not in source:
        raise PeerMissing(f"the fake bank of {REQUIREMENT} is another one than we know")
    bank = _loaded(source, script)["fints_server"]()
    address = next(bank)
    server = bank.gi_frame.f_locals["server"]
    try:
        yield address, server
    finally:
        next(bank, None)
        server.server_close()


def _loaded(source: str, script: Path) -> dict[str, Any]:
    """Its names. It would have the library read strictly for the whole process; what we ship does not."""
    stand_in = ModuleType("pytest")
    stand_in.fixture = lambda **_: lambda function: function  # type: ignore[attr-defined]
    names: dict[str, Any] = {"__name__": "fake_fints_bank", "__file__": str(script), "print": lambda *_: None}
    real = sys.modules["pytest"]
    sys.modules["pytest"] = stand_in
    try:
        exec(compile(source.replace(_ASKED, _MENDED), str(script), "exec"), names)
        names["fints"].parser.robust_mode = True
    except ImportError as error:
        raise PeerMissing("the library fints is not installed") from error
    finally:
        sys.modules["pytest"] = real
    return names
