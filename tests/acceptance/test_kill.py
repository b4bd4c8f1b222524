"""SIGKILL at random instants of ingest and of runs: what is left is what an unbroken run leaves."""

import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from forewatch.demo import Play
from forewatch.testing import differences, outcome
from tests.scale import THOROUGH, scaled

START, DAYS = date(2026, 1, 1), 50
"""Seven weeks of the sample household: bills, trials, clashes, questions; every plan is approved and carried out."""
EMBEDDED = ""
PATIENCE_S = scaled(1_000, 3_400)

pytestmark = [pytest.mark.kill, pytest.mark.timeout(2 * PATIENCE_S + 60)]


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def broker(request: pytest.FixtureRequest) -> str:
    if request.param == "embedded":
        return EMBEDDED
    return f"kafka://{request.getfixturevalue('kafka_server')}?session_timeout_s=1"


Whole = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """What nobody killed leaves on a broker: played once for all tests that compare with it."""
    return cache(lambda broker: play(tmp_path_factory.mktemp("whole") / "home", broker))


def play(home: Path, broker: str, kills: int = 0, pauses: tuple[float, float] = (0, 0)) -> dict[str, Any]:
    """In a process of its own, which forks and kills; what is left on disk and in the log."""
    prefix = f"k{uuid.uuid4().hex[:10]}"
    command = [
        sys.executable, "-m", "forewatch.testing", home, "--start", START, "--days", DAYS, "--broker", broker,
        "--prefix", prefix, "--kills", kills, "--pauses", *pauses,
    ]  # fmt: skip
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["finished"]
    assert said["kills"] == kills, "it came to its end too soon: the pauses are too long"
    assert said["at_work"] >= kills // 10
    return outcome(Play(home, start=START, days=DAYS, broker=broker, prefix=prefix))


def test_a_household_that_is_killed_again_and_again_ends_like_one_that_is_not(
    tmp_path: Path, broker: str, whole: Whole
) -> None:
    kills, pauses = (200, (0.4, 0.8)) if not broker else ((200, (3.0, 1.0)) if THOROUGH else (25, (3.0, 8.0)))
    killed = play(tmp_path, broker, kills, pauses)
    assert len(whole(broker)["history"]["events"]) > 500
    assert len(whole(broker)["effects"]) > 5
    assert killed["history"]["doubled"] == []
    assert differences(killed, whole(broker)) == {}


def test_on_another_broker_the_household_ends_the_same(kafka_server: str, whole: Whole) -> None:
    """Law L8: one code path."""
    there = f"kafka://{kafka_server}?session_timeout_s=1"
    assert differences(whole(there), whole(EMBEDDED)) == {}
