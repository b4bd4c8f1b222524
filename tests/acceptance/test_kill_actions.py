"""kill -9 between an intent and its result, for each effect class: nothing twice, nothing lost, the unknown asked."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent / "mortal_actions.py"
ROOT = Path(__file__).parents[2]
KILLS = 20
KINDS = ("after intent", "before call", "on arrival", "after payment", "before result")

pytestmark = pytest.mark.kill


def lived(folder: Path, effect_class: str, kills: int, mutant: str = "") -> list[dict[str, Any]]:
    command = [sys.executable, str(SCRIPT), str(folder), effect_class, str(kills), mutant]
    done = subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    cases: list[dict[str, Any]] = json.loads(done.stdout)
    return cases


@pytest.mark.parametrize("effect_class", ["keyed", "reconcile", "at_most_once"])
def test_killed_between_intent_and_result_it_pays_exactly_once(effect_class: str, tmp_path: Path) -> None:
    cases = lived(tmp_path, effect_class, KILLS)
    killed = Counter(case["kill"] for case in cases if case["killed"])
    assert killed == dict.fromkeys(KINDS, KILLS // len(KINDS))
    assert {case["effects"] for case in cases} == {1}
    assert {(case["phase"], case["step"]) for case in cases} == {("done", "ok")}
    assert [case["faults"] for case in cases if case["faults"]] == []
    asked = {case["asked"] for case in cases}
    assert asked == ({1} if effect_class == "at_most_once" else {0})


@pytest.mark.parametrize(
    ("effect_class", "mutant"),
    [("reconcile", "no_intent"), ("at_most_once", "no_intent"), ("keyed", "key_per_attempt")],
)
def test_a_mutant_pays_twice_under_the_same_kills(effect_class: str, mutant: str, tmp_path: Path) -> None:
    cases = lived(tmp_path, effect_class, len(KINDS), mutant)
    assert max(case["effects"] for case in cases) == 2
