"""What is remembered, through the door: told, found, corrected, forgotten; the same after the service was killed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from forewatch.cli import main as cli
from forewatch.storage.memory import NAME
from tests.acceptance.test_serve import serving, until
from tests.standins.embeddings import embeddings

SECRET = "Zaunkoenig-4711"


class Forewatch:
    """The command line, in this process; the service it talks to is another one."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setenv("FOREWATCH_HOME", str(home))
        monkeypatch.setenv("FOREWATCH_TIMEZONE", "Europe/Berlin")
        self.environment = dict(os.environ)
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *arguments: str) -> tuple[int, str]:
        """The exit code, and what it said on stdout."""
        self._monkeypatch.setattr("sys.argv", ["forewatch", *arguments])
        self._capsys.readouterr()
        try:
            cli.main()
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        return code, self._capsys.readouterr().out

    def known(self, *query: str) -> list[dict[str, Any]]:
        code, told = self("memory", "list", *query, "--json")
        assert code == 0
        found: list[dict[str, Any]] = json.loads(told)
        return found


def test_a_note_lives_through_a_kill_until_it_is_forgotten(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path_factory.mktemp("m")
    forewatch = Forewatch(home, monkeypatch, capsys)
    assert forewatch("remember", "too early")[0] == 6, "it is the service that remembers"
    with serving(home, forewatch.environment) as process:
        assert forewatch("remember", "Le passeport est chez Élodie.")[0] == 0
        assert forewatch("remember", f"The safe opens with {SECRET}.", "--about", "the bank")[0] == 0
        process.kill()
    assert [memory["says"] for memory in forewatch.known("passeports elodie")] == ["Le passeport est chez Élodie."]
    (home / NAME).unlink()
    (safe,) = forewatch.known("safe")
    assert safe["says"] == f"The safe opens with {SECRET}. (the bank)"

    (home / "forewatch.sock").unlink()  # the dead one's, by which the test would take the next for up
    with serving(home, forewatch.environment):
        one = safe["id"][:12]
        assert forewatch("memory", "correct", one, f"The safe opens with {SECRET}-b.")[0] == 0
        shown = forewatch("memory", "show", one)[1]
        assert f"{SECRET}-b" in shown
        assert shown.count("you told it so") == 2
        assert forewatch("memory", "keep", one)[0] == 7, "a note holds already"
        assert forewatch("memory", "forget", one)[0] == 0
        assert SECRET.encode() not in (home / NAME).read_bytes()
        assert forewatch("memory", "show", one)[0] == 3
    (home / NAME).unlink()
    assert [memory["says"] for memory in forewatch.known()] == ["Le passeport est chez Élodie."]
    assert forewatch("audit", "verify")[0] == 0


def test_a_running_service_finds_what_means_the_same_and_without_its_server_the_words(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path_factory.mktemp("v")
    with embeddings() as server:
        monkeypatch.setenv("FOREWATCH_PLANNER_URL", server.url)
        monkeypatch.setenv("FOREWATCH_PLANNER_MODEL", "small")
        monkeypatch.setenv("FOREWATCH_PLANNER_EMBEDDINGS", "vectors")
        forewatch = Forewatch(home, monkeypatch, capsys)
        with serving(home, forewatch.environment):
            assert forewatch("remember", "My passport is in the desk.")[0] == 0
            found = until(lambda: forewatch.known("travel document"))
            assert [memory["says"] for memory in found] == ["My passport is in the desk."]
            assert {body["model"] for body in server.asked} == {"vectors"}
            server.mode = "broken"
            assert forewatch.known("travel document") == []
            assert len(forewatch.known("passport")) == 1
