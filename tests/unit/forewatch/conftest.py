import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from forewatch.cli import main as cli


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    monkeypatch.setenv("FOREWATCH_HOME", str(place))
    monkeypatch.setenv("FOREWATCH_TIMEZONE", "Europe/Berlin")
    return place


@pytest.fixture
def forewatch(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """The command line as a person calls it: what it said on stdout and stderr, and its exit code."""

    def call(*arguments: object) -> Said:
        monkeypatch.setattr("sys.argv", ["forewatch", *map(str, arguments)])
        capsys.readouterr()
        try:
            cli.main()
            code = 0
        except SystemExit as exit_:
            code = int(exit_.code or 0)
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return call
