"""What the machine does to a command: said in one line on stderr, with a documented exit code, and no traceback."""

import errno
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forewatch.cli.failures import in_words
from tests import forks

ENTRY = "import sys; from forewatch.cli.main import main; sys.argv[0] = 'forewatch'; main()"
ROOT = Path(__file__).parents[3]
FULL = Path("/dev/full")


def a_process(home: Path, *arguments: str, stdout: int, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, where what the tests do to stdout is not in the way."""
    env = {**os.environ, "FOREWATCH_HOME": str(home), **environment}
    command = [sys.executable, "-c", ENTRY, *arguments]
    pipes = {"stdout": stdout, "stderr": subprocess.PIPE}
    return forks.run(command, env=env, cwd=ROOT, text=True, timeout=120, **pipes)


@pytest.mark.parametrize("command", [("rules", "schema"), ("accounts", "kinds")])
def test_a_reader_that_has_seen_enough_is_no_failure(command: tuple[str, ...], tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = a_process(tmp_path, *command, stdout=writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_that_lacks_a_character_gets_an_escape_and_json_stays_json(tmp_path: Path) -> None:
    mail = tmp_path / "mail.eml"
    mail.write_bytes("From: a@x.example\nSubject: Café → 😀\nDate: Mon, 2 Nov 2026 09:00:00 +0100\n\nHi\n".encode())
    as_ascii = {"PYTHONIOENCODING": "ascii"}
    read = ("events", "preview", str(mail), "--kind", "maildir")
    plain = a_process(tmp_path, *read, stdout=subprocess.PIPE, **as_ascii)
    assert (plain.returncode, plain.stderr) == (0, "")
    assert "Caf\\xe9" in plain.stdout
    document = a_process(tmp_path, *read, "--json", stdout=subprocess.PIPE, **as_ascii)
    assert json.loads(document.stdout)["events"][0]["title"] == "Café → 😀"


@pytest.mark.skipif(not FULL.exists(), reason="this machine has no /dev/full")
def test_a_full_disk_behind_stdout_is_said(tmp_path: Path) -> None:
    with FULL.open("w") as full:
        done = a_process(tmp_path, "rules", "schema", stdout=full.fileno())
    assert done.returncode == 1
    assert done.stderr.startswith("error: no space is left")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO, errno.EMFILE])
def test_what_the_machine_does_to_a_file_is_said_with_the_place_and_what_to_do(number: int) -> None:
    said = in_words(OSError(number, os.strerror(number), "/home/nora/forewatch/log.db"))
    assert said is not None
    assert said.message.startswith("/home/nora/forewatch/log.db: ")
    assert said.remedy


def test_what_nobody_expected_is_a_bug_and_surfaces() -> None:
    assert in_words(FileNotFoundError(errno.ENOENT, "No such file or directory", "x")) is None
    with sqlite3.connect(":memory:") as database, pytest.raises(sqlite3.OperationalError) as caught:
        database.execute("SELECT * FROM x")
    database.close()
    assert in_words(caught.value) is None


def test_a_damaged_log_is_said_with_what_to_do(forewatch: Callable[..., Any], home: Path) -> None:
    assert forewatch("accounts", "list").code == 0
    log = home / "log.db"
    pages = log.read_bytes()
    log.write_bytes(pages[:4096] + b"\xff" * (len(pages) - 4096))
    said = forewatch("accounts", "list")
    assert said.code != 0
    assert said.err.startswith("error: ")
    assert "copy" in said.err
