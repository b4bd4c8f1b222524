"""``python -m benchmarks injection``: attacks that reached the world, utility kept, confirmations asked; by arm."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from actions.policy.policy import Policy
from benchmarks.injection import benign, dojo
from benchmarks.injection.corpus import corpus
from benchmarks.injection.household import Unlabelled, play

DAYS = 90


def main() -> None:
    items = corpus()
    print(f"own corpus: {len(items)} hostile items, a planner and a model that obey all of them; benign: {DAYS} days")
    _row("arm", "reached others", "ungated", "benign tasks done", "confirmations per task")
    for name, policy, confirms in (("no taint, no step-up", Unlabelled(), True), ("our policy", Policy(), False)):
        found = asyncio.run(play(items, policy, confirms=confirms))
        cost = asyncio.run(benign.live(policy, DAYS))
        ungated = len(found.reached) if confirms else len(found.ungated())
        _row(name, len(found.reached), ungated, f"{cost.done}/{cost.tasks}", f"{cost.per_task:.2f}")
    print("  without taint an approval of the plan is one of every step: all that reached others was ungated")
    dojo.main()


def _row(*cells: object) -> None:
    widths: Sequence[int] = (24, 16, 10, 20, 24)
    print("  " + "".join(str(cell).ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
