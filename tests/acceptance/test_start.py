"""What a start loads before it polls for the first time: everything here is time that the person waits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LATER = {
    "networkx": "the first plan",
    "openai": "the first plan by a model",
    "httpx2": "the first plan by a model",
    "actions.model": "the first plan by a model",
    "actions.planning.process": "the first plan by a model",
    "mcp": "the first call of a plugin",
    "actions.plugins": "the first plugin",
    "httpx": "the first source behind an address",
    "authlib": "the first sign-in",
    "cryptography": "the first sealed secret",
    "duckdb": "the first query, in a process of its own",
    "icalendar": "the first invitation",
    "lxml": "the first mail in HTML",
    "inscriptis": "the first mail in HTML",
    "mailparser_reply": "the first mail",
    "extractors.facts": "the first mail",
    "rich.progress": "the demo",
    "forewatch.sample": "the demo",
}
"""What is loaded only when something needs it, and what that is."""

AT_THE_FIRST_POLL = """
import os, signal, sys
from extractors.maildir import MaildirConnector
from forewatch.cli.main import main

pull = MaildirConnector.pull

def watched(*arguments):
    print(*sys.modules, sep="\\n", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    return pull(*arguments)

MaildirConnector.pull = watched
main()
"""


def run(code: str, *arguments: str | Path, home: Path) -> str:
    environment = {**os.environ, "FOREWATCH_HOME": str(home), "FOREWATCH_TIMEZONE": "Europe/Berlin"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Names of the modules that ``serve`` has loaded when it polls for the first time."""
    home, mail = tmp_path_factory.mktemp("h"), tmp_path_factory.mktemp("mail")
    for part in ("cur", "new", "tmp"):
        (mail / part).mkdir()
    run("from forewatch.cli.main import main; main()", "accounts", "add", "maildir", mail, home=home)
    return set(run(AT_THE_FIRST_POLL, "serve", home=home).split())


@pytest.mark.parametrize(("module", "need"), LATER.items())
def test_the_first_poll_does_not_wait_for_what_only_later_work_needs(module: str, need: str, loaded: set[str]) -> None:
    assert "forewatch.wiring" in loaded
    assert module not in loaded, f"{module} is for {need}: import it there"
