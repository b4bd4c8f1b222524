"""AgentDojo's published suites against our policy: its own process, since its packages are none of ours."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.peers.agentdojo import agentdojo_python
from tests.peers.process import CHECKOUT, PeerMissing

_SIDE = Path(__file__).parent / "dojo_side.py"


@dataclass
class Arm:
    """Sums over suites: ``pairs`` of a task and an attack, ``succeeded`` by AgentDojo's own judgement, ``acted`` of
    those that did something rather than only colour an answer or an own entry, ``ungated`` calls that reach somebody
    and that the adversary changed unasked, ``own``: runs in which outside words stand in an own entry."""

    counts: Counter[str] = field(default_factory=Counter)
    lines: list[str] = field(default_factory=list)


def run(
    suites: Sequence[str] = (), stride: int = 1, arms: Sequence[str] = ("undefended", "defended")
) -> dict[str, Arm]:
    """PeerMissing where AgentDojo was not fetched. Every ``stride``-th pair of each suite; all of them take minutes."""
    command = [str(agentdojo_python()), str(_SIDE), "--stride", str(stride), "--arms", *arms]
    command += ["--suites", *suites] if suites else []
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"AgentDojo failed: {done.stderr[-600:]}")
    found = {arm: Arm() for arm in arms}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        arm = found["defended" if row.pop("defended") else "undefended"]
        arm.lines += row.pop("lines")
        row.pop("suite")
        arm.counts.update(row)
    return found


def main() -> None:
    try:
        found = run(arms=("undefended", "defended"))
    except PeerMissing as error:
        print(f"AgentDojo: not measured: {error}")
        return
    print("AgentDojo v1.2.2, all suites, a model that always obeys; a person who refuses what was slipped in")
    print("  arm          attacks that succeed   of these actions   ungated   tasks done   confirmations per task")
    for name, arm in found.items():
        c = arm.counts
        asked = c["asked"] / c["tasks"]
        print(
            f"  {name:<12} {c['succeeded']:>5} of {c['pairs']:<12} {c['acted']:>10} {c['ungated']:>16}"
            f" {c['useful']:>8}/{c['tasks']} {asked:>14.2f}"
        )
    print(f"  runs with the adversary's words in an own calendar entry: {found['defended'].counts['own']}")
    print(f"  without rule 8 (every effect that leaves): {found['defended'].counts['by_taint']} confirmations in all")
