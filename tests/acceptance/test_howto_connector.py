"""The page "write a connector" leads to a package that passes its tests, is installed, and connects an account."""

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from extractors.testing.standin import Asked, Reply, StandIn

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "howto" / "write-a-connector.md").read_text("utf-8")
BLOCK = re.compile(r"```(?:python|yaml|toml)\n# (\S+?)(, continued)?\n(.*?)```", re.DOTALL)
ROW = re.compile(r"^\| (?P<mistake>.+?) \| .+? \| `(?P<test>test_\w+)` \|$", re.MULTILINE)

MISTAKES = {
    "next_cursor": ("next_cursor=dict(known)", "next_cursor=dict(versions)"),
    "known and not listed": ("if known and not listed:", "if False:"),
    "a clock": ("occurred_at=notice.posted", "occurred_at=context.now"),
}
"""By words of the table's rows: what stands on the page, and what somebody who makes that mistake would write."""


def package(folder: Path, change: tuple[str, str] = ("", "")) -> Path:
    """Every file of the page; blocks that are continued are one file."""
    parts: dict[str, list[str]] = {}
    for name, _, text in BLOCK.findall(PAGE):
        parts.setdefault(name, []).append(text)
    right, wrong = change
    assert not right or sum(text.count(right) for texts in parts.values() for text in texts) == 1
    for name, texts in parts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        whole = "\n".join(texts)
        (folder / name).write_text(whole.replace(right, wrong) if right else whole, encoding="utf-8")
    return folder


def run(folder: Path, *words: str, path: Sequence[Path] = ()) -> subprocess.CompletedProcess[str]:
    """A program of this environment, or a module of it, with ``path`` before all that is installed."""
    places = os.pathsep.join(map(str, (*path, ROOT)))
    home = str(folder / "home")
    env = {
        **os.environ,
        "PYTHONPATH": places,
        "MYPYPATH": places,
        "PYTHONDONTWRITEBYTECODE": "1",
        "FOREWATCH_HOME": home,
    }
    program = Path(sys.executable).with_name(words[0])
    return subprocess.run(
        [str(program), *words[1:]], cwd=folder, env=env, capture_output=True, text=True, timeout=240, check=False
    )


def own_tests(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    settings = ("-q", "-W", "error", "-p", "no:cacheprovider", "--rootdir", str(folder))
    return run(folder, "python", "-m", "pytest", *settings, *options, "tests", path=[folder])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the built wheel is installed."""
    folder = tmp_path_factory.mktemp("noticeboard")
    built = run(package(folder / "package"), "python", "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("forewatch_noticeboard-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_connector_has_less_than_a_hundred_lines(tmp_path: Path) -> None:
    written = (package(tmp_path) / "noticeboard" / "__init__.py").read_text("utf-8").splitlines()
    assert len([line for line in written if line.strip()]) < 100


def test_its_own_tests_pass(tmp_path: Path) -> None:
    done = own_tests(package(tmp_path))
    assert done.returncode == 0, done.stdout
    assert re.search(r"\b16 passed\b", done.stdout), done.stdout


@pytest.mark.parametrize("words", MISTAKES)
def test_each_mistake_of_the_table_is_caught_by_the_test_that_it_names(words: str, tmp_path: Path) -> None:
    (named,) = [row["test"] for row in ROW.finditer(PAGE) if words in row["mistake"]]
    done = own_tests(package(tmp_path, MISTAKES[words]), "-k", named)
    assert done.returncode == 1, done.stdout
    assert re.search(rf"^FAILED tests/test_noticeboard\.py::TestContract::{named}\b", done.stdout, re.MULTILINE)
    assert "1 failed" in done.stdout


def test_every_row_of_the_table_is_tried() -> None:
    assert len(ROW.findall(PAGE)) == len(MISTAKES)


def test_it_is_typed_and_written_like_ours(tmp_path: Path) -> None:
    folder = package(tmp_path)
    config = str(ROOT / "pyproject.toml")
    cache = str(ROOT / ".mypy_cache" / "howto")
    typed = run(folder, "mypy", "--strict", "--cache-dir", cache, "noticeboard", "tests", path=[folder])
    assert typed.returncode == 0, typed.stdout
    for words in (("check", "--no-cache"), ("format", "--no-cache", "--check")):
        done = run(folder, "ruff", *words, "--config", config, ".")
        assert done.returncode == 0, done.stdout


def test_once_installed_it_is_listed(site: Path, tmp_path: Path) -> None:
    listed = run(tmp_path, "forewatch", "accounts", "kinds", "--json", path=[site])
    assert listed.returncode == 0, listed.stderr
    ours = {"kind": "noticeboard", "reads": "the notices of your house; nothing is changed or confirmed"}
    assert ours in json.loads(listed.stdout)


class Board(StandIn):
    def answer(self, asked: Asked) -> Reply:
        if asked.headers.get("authorization") != "Bearer t0ken":
            return Reply.of({}, status=401)
        return Reply.of({"notices": [{"id": "n1", "title": "Water off", "posted": "2026-01-02T08:00:00Z"}]})


def test_once_installed_it_can_be_connected_with_the_right_token_only(site: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    assert run(tmp_path, "forewatch", "init", "--timezone", "Europe/Berlin").returncode == 0
    with Board() as board:
        add = ("forewatch", "accounts", "add", "noticeboard", f"{board.url}/notices", "--name", "house")
        options = ("--set", "allow_private=true", "--secret", f"token=@{token}")
        token.write_text("wrong")
        refused = run(tmp_path, *add, *options, path=[site])
        token.write_text("t0ken")
        added = run(tmp_path, *add, *options, path=[site])
        seen = run(tmp_path, "forewatch", "accounts", "test", "house", path=[site])
    assert refused.returncode == 5, refused.stderr
    assert added.returncode == 0, added.stderr
    assert "will read the notices of your house" in added.stderr
    assert "1 notices" in seen.stderr
    assert "t0ken" not in added.stdout + added.stderr + seen.stdout


def test_without_it_nobody_knows_the_kind(tmp_path: Path) -> None:
    done = run(tmp_path, "forewatch", "accounts", "add", "noticeboard", "x")
    assert done.returncode == 2
    assert "unknown connector 'noticeboard'" in done.stderr
