"""An event from the log to its triggers, with 10 to 10,000 rules: decoding, engine, encoding, changed state."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from statistics import median

from benchmarks.rule_specs import ZONE, Spec, specs, wire
from rules.engine import Engine
from rules.ruleset import RuleSet
from rules.state import RuleState
from schemas.rule import Rule
from streams.codec import decode_event, encode

COUNTS = (10, 100, 1_000, 10_000)
EVENTS = 1_000
ROUNDS = 5


def _rules(chosen: Sequence[Spec]) -> RuleSet:
    given = [
        {
            "id": f"rule-{number}",
            "title": "A rule",
            "when": spec.condition().model_dump(exclude_defaults=True),
            "propose": {"title": "Look at it", "goal": "Look at it."},
        }
        for number, spec in enumerate(chosen)
    ]
    return RuleSet.of([Rule.model_validate(rule) for rule in given], zone=ZONE)


def _us(rules: RuleSet, values: Sequence[bytes]) -> tuple[float, int]:
    """Microseconds of CPU for an event, and how many signals there were in all."""
    engine, state, signals = Engine(rules, "owner", ZONE), RuleState(), 0
    started = time.process_time()
    for value in values:
        event = decode_event(value)
        for signal in engine.evaluate(event, state, event.observed_at).signals:
            encode(signal)
            signals += 1
    state.take_changes()
    return (time.process_time() - started) / len(values) * 1e6, signals


def main() -> None:
    rng = random.Random(7)
    made = {count: (_rules(specs(count, rng)), wire(EVENTS, count, rng)) for count in COUNTS}
    for rules, values in made.values():
        _us(rules, values)  # what explanations need is compiled when it is first asked for
    found = [{count: _us(*made[count]) for count in COUNTS} for _ in range(ROUNDS)]
    cost = {count: median(turn[count][0] for turn in found) for count in COUNTS}
    for count, us in cost.items():
        print(f"{count:>6,} rules {us:>7.0f} us/event, {found[0][count][1] / EVENTS:.2f} signals/event")
    print(f"10 -> 10,000 rules: {cost[10_000] / cost[10]:.2f}x the cost of an event   (target <= 1.5)")


if __name__ == "__main__":
    main()
