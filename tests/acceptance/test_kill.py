"""SIGKILL at random instants of ingest and of runs: what is left is what an unbroken run leaves."""

import json
import subprocess
import sys
import uuid
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from forewatch.demo import Play
from forewatch.testing import differences, outcome
from tests.scale import THOROUGH, scaled

START, DAYS = date(2026, 1, 1), 75
"""Ten weeks of the sample household: bills, trials, clashes, questions; every plan is approved and carried out."""


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def broker(request: pytest.FixtureRequest) -> str:
    if request.param == "embedded":
        return ""
    return f"kafka://{request.getfixturevalue('kafka_server')}?session_timeout_s=1"


def play(home: Path, broker: str, kills: int, pause: tuple[float, float]) -> dict[str, Any]:
    """In a process of its own, which forks and kills; what is left on disk and in the log."""
    prefix = f"k{uuid.uuid4().hex[:10]}"
    command = [
        sys.executable, "-m", "forewatch.testing", home, "--start", START, "--days", DAYS, "--broker", broker,
        "--prefix", prefix, "--kills", kills, "--pause", *pause,
    ]  # fmt: skip
    patience = scaled(540, 3_400)
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, timeout=patience
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["finished"]
    assert said["kills"] == kills, "it came to its end too soon: the pauses are too long"
    return outcome(Play(home, start=START, days=DAYS, broker=broker, prefix=prefix))


@pytest.mark.kill
def test_a_household_that_is_killed_again_and_again_ends_like_one_that_is_not(tmp_path: Path, broker: str) -> None:
    kills, pause = (200, (0.02, 0.9)) if not broker else ((200, (0.3, 3.0)) if THOROUGH else (25, (0.3, 5.0)))
    whole = play(tmp_path / "whole", broker, 0, (0, 0))
    killed = play(tmp_path / "killed", broker, kills, pause)
    assert len(whole["history"]["events"]) > 500
    assert len(whole["effects"]) > 5
    assert killed["history"]["doubled"] == []
    assert differences(killed, whole) == {}


@pytest.mark.kill
def test_on_another_broker_the_household_ends_the_same(tmp_path: Path, kafka_server: str) -> None:
    """Law L8: one code path."""
    there = f"kafka://{kafka_server}?session_timeout_s=1"
    embedded, kafka = play(tmp_path / "a", "", 0, (0, 0)), play(tmp_path / "b", there, 0, (0, 0))
    assert differences(kafka, embedded) == {}
