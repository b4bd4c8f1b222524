"""``python -m benchmarks.evaluation [SEED ...]``: the demo over seeds that nobody tuned on, as one table.

Shares are pooled over the seeds, with Wilson's interval at 95 %; the rate of interruptions is a mean over seeds, with
Student's. Exit code 1 when a target is missed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import mean
from typing import Any

from benchmarks.confidence import of_mean, wilson

TUNED = tuple(range(1, 11))
"""What rules, extractors and stories were written with."""
HELD_OUT = tuple(range(101, 111))
"""Nobody looks at these while writing rules or extractors."""
SECOND = tuple(range(201, 211))
"""Nobody looks at these at all: their totals are read, never what was missed."""
FRESH = HELD_OUT[:4]
AT_ONCE = max(2, os.cpu_count() or 2)
"""Plays, each in a process of its own that keeps little more than one core busy."""


@dataclass(frozen=True, slots=True)
class Share:
    """``part`` of ``whole``, over all seeds, and what it must at least (``at_most``: at most) be."""

    name: str
    part: int
    whole: int
    target: float
    at_most: bool = False

    @property
    def value(self) -> float:
        """Of nothing: what is asked for."""
        return self.part / self.whole if self.whole else self.target

    @property
    def holds(self) -> bool:
        return self.value <= self.target if self.at_most else self.value >= self.target


def play(seed: int, *options: str) -> dict[str, Any]:
    """The figures of one seed, from a process of its own."""
    code = "from forewatch.cli.main import main; main()"
    command = [sys.executable, "-c", code, "demo", "--json", "--seed", str(seed), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return figures


def shares(rows: Sequence[dict[str, Any]]) -> list[Share]:
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row["counts"])
    return [
        Share("recall", total["noticed"], total["situations"], 0.95),
        Share("precision", total["said_right"], total["said"], 0.95),
        Share("cancellation recall", total["withdrawn"], total["cancelled"], 1.0),
        Share("redundancy", total["repeated"], total["right"], 0.02, at_most=True),
    ]


def over_budget(rows: Iterable[dict[str, Any]]) -> list[int]:
    """The seeds with a day on which more interrupted than the person allows; the safety class does not count."""
    return [row["seed"] for row in rows if row["counts"]["busiest_day"] > row["counts"]["daily_budget"]]


def by_rule(rows: Iterable[dict[str, Any]]) -> dict[str, Counter[str]]:
    """Per rule the sums of situations, noticed, look_alikes, disturbed and false_alarms."""
    total: dict[str, Counter[str]] = {}
    for row in rows:
        for rule in row["rules"]:
            counts = {name: value for name, value in rule.items() if name != "rule"}
            total.setdefault(rule["rule"], Counter()).update(counts)
    return dict(sorted(total.items()))


def report(title: str, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield f"== {title}"
    yield "rule                    situations  noticed  look-alikes  disturbed  false alarms"
    for rule, counts in by_rule(rows).items():
        yield (
            f"{rule:<24}{counts['situations']:>10}{counts['noticed']:>9}{counts['look_alikes']:>13}"
            f"{counts['disturbed']:>11}{counts['false_alarms']:>14}"
        )
    yield f"{len(rows)} seeds, pooled; 95 % intervals: Wilson's of shares, Student's over seeds of the rate"
    for share in shares(rows):
        low, high = wilson(share.part, share.whole)
        sign, verdict = ("<=" if share.at_most else ">="), ("" if share.holds else "  MISSED")
        yield (
            f"{share.name:<24}{share.value:.4f}  [{low:.4f}, {high:.4f}]  {share.part}/{share.whole}"
            f"  target {sign} {share.target:.2f}{verdict}"
        )
    rates = [float(row["interruptions_per_week"]) for row in rows]
    low, high = of_mean(rates)
    most, budget = max(row["counts"]["busiest_day"] for row in rows), rows[0]["counts"]["daily_budget"]
    verdict = "  MISSED" if over_budget(rows) else ""
    yield (
        f"{'interruptions a week':<24}{mean(rates):.2f}    [{low:.2f}, {high:.2f}]  at most {most} a day"
        f"  budget {budget} a day{verdict}"
    )
    worst = min(row["counts"]["noticed"] / row["counts"]["situations"] for row in rows)
    yield f"{'worst seed, recall':<24}{worst:.4f}"


def is_good(rows: Sequence[dict[str, Any]]) -> bool:
    return all(share.holds for share in shares(rows)) and not over_budget(rows)


def played(seeds: Sequence[int], *options: str) -> list[dict[str, Any]]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda seed: play(seed, *options), seeds))


def main(seeds: Sequence[int]) -> int:
    runs = [("seeds given", tuple(seeds))] if seeds else [("held-out seeds", HELD_OUT), ("second range", SECOND)]
    good = True
    for title, chosen in runs:
        rows = played(chosen)
        good &= is_good(rows)
        print("\n".join(report(title, rows)), flush=True)
    fresh = played(tuple(seeds)[:4] or FRESH, "--fresh")
    title = "fresh wordings, which nobody who wrote extractors or rules has seen; no targets"
    print("\n".join(report(title, fresh)).replace("  MISSED", ""))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main([int(argument) for argument in sys.argv[1:]]))
