"""The demo: no network, progress, proposals with evidence and plan, figures; and the same again when run again."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from forewatch.demo import Play, run
from forewatch.testing import outcome
from tests import forks

OFFLINE = """
import socket
def refuse(self, address):
    if self.family in (socket.AF_INET, socket.AF_INET6):
        raise AssertionError(f"the demo wants to reach {address}")
    return connect(self, address)
connect, socket.socket.connect = socket.socket.connect, refuse
from forewatch.cli.main import main
main()
"""


def played(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """By the command, which fails if it wants to reach anybody."""
    command = [sys.executable, "-c", OFFLINE, "demo", *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Where sixty days are kept that were played for somebody who wants no interruption, and what was said of them."""
    folder = tmp_path_factory.mktemp("sixty")
    said = played("--json", "--seed", 5, "--days", 60, "--keep", folder, FOREWATCH_INTERRUPTIONS_PER_DAY="0")
    return folder, said


def test_the_demo_needs_no_network_and_ends_with_its_figures(
    quiet: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, done = quiet
    assert done.returncode == 0, done.stderr
    *cards, figures = [json.loads(line) for line in done.stdout.splitlines()]
    wanted = {"recall", "precision", "cancellation_recall", "interruptions_per_week", "events", "proposals", "seed"}
    assert wanted <= set(figures)
    assert figures["seed"] == 5
    assert figures["proposals"] == len(cards) > 0
    assert all(card["evidence"] and card["steps"] and card["lines"] for card in cards)
    assert "January" in done.stderr


def test_a_demo_that_is_not_kept_leaves_nothing_behind(tmp_path: Path) -> None:
    done = played("--days", 4, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "cancellation_recall" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def forty_days(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is left of forty days that were played at once."""
    play = Play(tmp_path_factory.mktemp("forty"), seed=4, days=40)
    asyncio.run(run(play))
    return outcome(play)


def test_a_demo_that_is_run_twice_doubles_nothing_and_gives_the_same_ids_anywhere(
    tmp_path: Path, forty_days: dict[str, Any]
) -> None:
    play, elsewhere = Play(tmp_path, seed=4, days=40), forty_days
    asyncio.run(run(play))
    once = outcome(play)
    asyncio.run(run(play))
    again = outcome(play)
    for part in ("history", "signals", "proposals", "effects"):
        assert again[part] == once[part] == elsewhere[part], part
    assert once["history"]["doubled"] == []


def test_a_longer_play_goes_on_where_a_shorter_one_ended(tmp_path: Path, forty_days: dict[str, Any]) -> None:
    asyncio.run(run(Play(tmp_path, seed=4, days=20)))
    asyncio.run(run(Play(tmp_path, seed=4, days=40)))
    continued = outcome(Play(tmp_path, seed=4, days=40))
    assert continued["signals"] == forty_days["signals"]


def test_a_year_that_nobody_tuned_on_is_noticed(tmp_path: Path) -> None:
    """``make eval`` plays ten; one keeps the suite short."""
    score = asyncio.run(run(Play(tmp_path, seed=301))).score
    assert score.recall >= 0.9, score.misses
    assert score.precision >= 0.9, score.false_alarms
    assert score.cancellation_recall == 1.0, score.not_withdrawn


def test_the_digest_holds_what_did_not_interrupt_best_first_and_says_why(
    quiet: tuple[Path, subprocess.CompletedProcess[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = quiet
    monkeypatch.setenv("FOREWATCH_INTERRUPTIONS_PER_DAY", "0")
    monkeypatch.setenv("FOREWATCH_HOME", str(folder / "forewatch"))
    cards = json.loads(_told("proposals", "digest", "--json"))
    assert {card["surface_reason"] for card in cards} >= {"budget_spent"}
    assert all(card["surface"] == "digest" and card["is_open"] for card in cards)
    scores = [card["priority"]["score"] for card in cards]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) > 1
    assert "the day's interruptions were spent" in _told("proposals", "digest")
    stats = {row["rule"]: row for row in json.loads(_told("rules", "stats", "--json"))}
    assert sum(row["open"] for row in stats.values()) == len(cards)
    assert all(row["fired"] >= row["proposals"] > 0 == row["interrupted"] for row in stats.values() if row["fired"])
    assert json.loads(_told("rules", "stats", cards[0]["rule"], "--json")) == [stats[cards[0]["rule"]]]
    assert f"priority: {scores[0]:.2f} = urgency" in _told("proposals", "show", cards[0]["id"])


def _told(*arguments: str) -> str:
    command = [sys.executable, "-c", "from forewatch.cli.main import main; main()", *arguments]
    return str(forks.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)
