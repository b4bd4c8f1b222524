"""Ctrl-C while a command still loads, or begins: it ends without a word, with the documented exit code.

Each process interrupts itself when it comes to a module, so that the moment is always the same. What Python does before
it comes to our entry point (some hundredths of a second) is not ours, and prints what Python prints.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
INTERRUPTED_AT = """
import os, signal, sys

def interrupt(event, arguments):
    if event == "import" and arguments[0] == module:
        print(module, flush=True)
        os.kill(os.getpid(), signal.SIGINT)

module = sys.argv.pop(1)
sys.addaudithook(interrupt)
{before}
from forewatch.cli.main import main
main()
"""


HEARD = "signal.signal(signal.SIGINT, signal.default_int_handler)"
"""As in a terminal, also where the tests themselves were started to ignore it."""


def interrupted(home: Path, module: str, *command: str, before: str = HEARD) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "FOREWATCH_HOME": str(home), "FOREWATCH_TIMEZONE": "Europe/Berlin", "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-c", INTERRUPTED_AT.format(before=before), module, *command]
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
