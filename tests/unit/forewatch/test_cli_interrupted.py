"""Ctrl-C, or SIGTERM, while a command still loads, or begins: it ends without a word, with the documented exit code.

Each process interrupts itself when it comes to a module, so that the moment is always the same. What Python does before
it comes to our entry point (some hundredths of a second) is not ours, and prints what Python prints.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
INTERRUPTED_AT = """
import os, signal, sys

def interrupt(event, arguments):
    if event == "import" and arguments[0] == module:
        print(module, flush=True)
        os.kill(os.getpid(), number)

number, module = int(sys.argv.pop(1)), sys.argv.pop(1)
sys.addaudithook(interrupt)
{before}
from forewatch.cli.main import main
main()
"""


HEARD = "signal.signal(signal.SIGINT, signal.default_int_handler)"
"""As in a terminal, also where the tests themselves were started to ignore it."""


def interrupted(
    home: Path, module: str, *command: str, before: str = HEARD, number: int = signal.SIGINT, within: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "FOREWATCH_HOME": str(home), "FOREWATCH_TIMEZONE": "Europe/Berlin", "PYTHONPATH": str(ROOT)}
    line = [*within, sys.executable, "-c", INTERRUPTED_AT.format(before=before), str(int(number)), module, *command]
    return subprocess.run(line, env=env, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("module", "command"),
    [
        ("forewatch.cli.commands", ("serve",)),
        ("typer", ("accounts", "list")),
        ("pydantic", ("serve",)),
        ("forewatch.cli.service", ("serve",)),
        ("forewatch.serve", ("serve",)),
        ("forewatch.wiring", ("serve",)),
        ("streams.log", ("accounts", "list")),
        ("streams.embedded.log", ("serve",)),
    ],
)
def test_a_command_that_is_interrupted_while_it_loads_ends_without_a_word(
    module: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    done = interrupted(tmp_path, module, *command)
    assert done.stdout == f"{module}\n"  # that moment came, and nothing after it
    assert (done.returncode, done.stderr) == (130, "")


def test_what_was_started_to_ignore_it_goes_on_while_it_loads(tmp_path: Path) -> None:
    """As a shell starts what shall run in the background."""
    done = interrupted(tmp_path, "typer", "--version", before="signal.signal(signal.SIGINT, signal.SIG_IGN)")
    assert done.returncode == 0
    assert done.stdout.startswith("typer\nforewatch")
    assert done.stderr == ""


CONTAINER = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
"""Its first process is ended by no signal that it does not handle."""


@pytest.mark.parametrize("module", ["typer", "forewatch.serve", "forewatch.wiring"])
def test_a_start_ends_at_once_when_it_is_told_to(module: str, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("interruptions_per_day = -1\n")  # whatever does not hear the signal ends here
    done = interrupted(tmp_path, module, "serve", number=signal.SIGTERM)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, f"{module}\n", "")


@pytest.mark.parametrize("module", ["typer", "forewatch.serve", "forewatch.wiring"])
def test_so_does_one_that_is_the_first_process_of_a_container(module: str, tmp_path: Path) -> None:
    if subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no process may be the first one of anything here")
    (tmp_path / "config.toml").write_text("interruptions_per_day = -1\n")
    done = interrupted(tmp_path, module, "serve", number=signal.SIGTERM, within=CONTAINER)
    assert (done.returncode, done.stdout, done.stderr) == (128 + signal.SIGTERM, f"{module}\n", "")
