"""The evaluation's arithmetic: pooled shares, their intervals, and when a target is missed."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import evaluation
from benchmarks.confidence import of_mean, wilson

GOOD = {
    "situations": 120, "noticed": 119, "said": 125, "said_right": 124, "right": 120, "cancelled": 40, "withdrawn": 40,
    "repeated": 1,
    "look_alikes": 120, "disturbed": 1, "busiest_day": 3, "daily_budget": 3,
}  # fmt: skip


def row(seed: int = 1, rules: tuple[dict[str, Any], ...] = (), **counts: int) -> dict[str, Any]:
    return {"seed": seed, "interruptions_per_week": 2.0, "counts": {**GOOD, **counts}, "rules": list(rules)}


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [
        (10, 10, 0.7225, 1.0),  # the values of R's binom.wilson
        (0, 10, 0.0, 0.2775),
        (1143, 1150, 0.9875, 0.9971),
        (50, 100, 0.4038, 0.5962),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilsons_interval_is_the_one_of_the_books(part: int, whole: int, low: float, high: float) -> None:
    assert wilson(part, whole) == pytest.approx((low, high), abs=1e-4)


def test_more_than_all_is_no_share() -> None:
    with pytest.raises(ValueError, match="no share"):
        wilson(11, 10)


def test_students_interval_widens_with_few_seeds() -> None:
    low, high = of_mean([1.0, 2.0, 3.0])
    assert (low, high) == pytest.approx((2 - 4.303 / 3**0.5, 2 + 4.303 / 3**0.5), abs=1e-3)
    assert of_mean([2.0]) == (2.0, 2.0)
    with pytest.raises(ValueError, match="nothing"):
        of_mean([])


def test_shares_are_pooled_over_seeds_and_not_averaged() -> None:
    rows = [row(1, noticed=10, situations=10), row(2, noticed=90, situations=100)]
    assert evaluation.shares(rows)[0].value == pytest.approx(100 / 110)


@pytest.mark.parametrize(
    "counts",
    [
        {"noticed": 113},
        {"said_right": 118},
        {"withdrawn": 39},
        {"repeated": 3},
        {"busiest_day": 4},
    ],
)
def test_each_target_that_is_missed_makes_it_fail_and_is_marked(counts: dict[str, int]) -> None:
    assert evaluation.is_good([row()])
    assert not evaluation.is_good([row(**counts)])
    text = "\n".join(evaluation.report("seeds", [row(**counts)]))
    assert text.count("MISSED") == 1


def test_what_never_happened_misses_no_target() -> None:
    assert evaluation.is_good([row(cancelled=0, withdrawn=0, repeated=0)])


def test_rules_are_added_up_over_seeds() -> None:
    rule = {
        "rule": "invoice-unpaid",
        "situations": 11,
        "noticed": 10,
        "look_alikes": 9,
        "disturbed": 1,
        "false_alarms": 2,
    }
    rows = [row(1, (rule,)), row(2, (rule,))]
    assert evaluation.by_rule(rows)["invoice-unpaid"]["noticed"] == 20
    line = next(line for line in evaluation.report("seeds", rows) if line.startswith("invoice-unpaid"))
    assert line.split()[1:] == ["22", "20", "18", "2", "4"]


def test_the_ranges_of_seeds_have_none_in_common() -> None:
    ranges = (evaluation.TUNED, evaluation.HELD_OUT, evaluation.SECOND)
    assert len({seed for seeds in ranges for seed in seeds}) == sum(map(len, ranges))
