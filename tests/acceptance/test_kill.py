"""SIGKILL at random instants of ingest and of runs: what is left is what an unbroken run leaves."""

import asyncio
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

from forewatch.demo import Play, run
from forewatch.testing import approve_all, differences, outcome
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


def test_what_an_approval_leads_to_is_answered_at_the_same_instant(tmp_path: Path) -> None:
    """A kill may come between an approval and the question that it leads to: the person who is asked again after it
    answers that too, and so they do when nothing was killed. On the 22nd day two approved plans ask."""
    play = Play(tmp_path, start=START, days=22, answer=approve_all)
    asyncio.run(run(play))
    said = [(name, *entry[:2]) for name, state in outcome(play)["proposals"].items() for entry in state["journal"]]
    asked = {(name, at) for name, what, at in said if what == "step.gated"}
    assert len(asked) > 1
    assert asked == {(name, at) for name, what, at in said if what == "step.confirmed"}


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
