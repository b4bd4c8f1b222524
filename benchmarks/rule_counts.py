"""What matching costs with 10 to 10,000 rules, beside a dict look-up, plain Python and the rule engines of PyPI."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any

from benchmarks import peers, rule_peers
from benchmarks.rule_peers import Matcher
from benchmarks.rule_specs import plain, specs, wire
from streams.codec import decode_event

COUNTS = (10, 100, 1_000, 10_000)
EVENTS = 10_000
ROUNDS = 5
_ROUND_S = 0.15
_BATCH = 500
"""Events that a join gets at once, as the page that set the targets has it."""
_FEW = 50
"""Events that are decoded and then matched one by one, few enough to be in the cache still: a service decodes one."""
_CHECKED = 200
"""So many events at most are matched against what plain Python finds."""
OURS, LOOK_UP, ALL_LOOK_UPS, DECODING = "Forewatch", "dict look-up", "all look-ups", "decoding alone"
BY_HAND, LAMBDAS, FUNCTION = "by hand", "lambdas", "one function"


def _structs(values: Sequence[bytes]) -> list[Any]:
    return [decode_event(value) for value in values]


def _flat(values: Sequence[bytes]) -> Sequence[Any]:
    return plain(_structs(values))


@dataclass(frozen=True, slots=True)
class Contender:
    """``package``: of PyPI, if any. ``most``: with more rules it takes minutes to build or half a second an event.
    ``reads``: what it gets of the values of the log. ``answers``: whether it finds rules."""

    name: str
    make: Callable[[Sequence[Any]], Matcher]
    package: str = ""
    most: int = 10_000
    reads: Callable[[Sequence[bytes]], Sequence[Any]] = _flat
    answers: bool = True
    batch: int = _FEW


CONTENDERS = (
    Contender(OURS, rule_peers.ours, reads=_structs),
    Contender(LOOK_UP, rule_peers.look_up, reads=_structs, answers=False),
    Contender(ALL_LOOK_UPS, rule_peers.all_look_ups, reads=_structs, answers=False),
    Contender(DECODING, lambda _: _structs, reads=list, answers=False),
    Contender(BY_HAND, rule_peers.by_hand),
    Contender(FUNCTION, rule_peers.one_function),
    Contender(LAMBDAS, rule_peers.lambdas),
    Contender("polars join", rule_peers.polars_join, "polars", batch=_BATCH),
    Contender("Rust CEL", rule_peers.rust_cel, "common-expression-language"),
    Contender("zen-engine", rule_peers.zen, "zen-engine"),
    Contender("durable_rules", rule_peers.durable, "durable-rules", most=100),
    Contender("rule-engine", rule_peers.rule_engine, "rule-engine"),
    Contender("cel-python", rule_peers.python_cel, "cel-python", most=100),
)


@dataclass(frozen=True, slots=True)
class Running:
    """A contender with its rules built and its answers checked. ``values``: as many as fill a round, as the log has
    them. ``reads``: what the contender gets of them, ``batch`` of them at once."""

    name: str
    match: Matcher
    values: Sequence[bytes]
    reads: Callable[[Sequence[bytes]], Sequence[Any]]
    batch: int

    def us(self) -> float:
        """Microseconds of CPU for an event.

        Each is decoded just before and matched once, as in a service: its texts have not been hashed before. Decoding
        is not counted.
        """
        took = 0.0
        for at in range(0, len(self.values), self.batch):
            events = self.reads(self.values[at : at + self.batch])
            started = time.process_time()
            self.match(events)
            took += time.process_time() - started
        return took / len(self.values) * 1e6


Table = dict[str, dict[int, float]]
"""By contender, by number of rules: microseconds of CPU for an event, the median of the rounds."""


def measure(counts: Sequence[int] = COUNTS, rounds: int = ROUNDS) -> Iterator[tuple[int, dict[str, float | str]]]:
    """For each count every contender in every round, so that a slow minute of the machine is slow for all."""
    rng = random.Random(7)
    for count in counts:
        chosen, values = specs(count, rng), wire(EVENTS, count, rng)
        wanted = rule_peers.lambdas(chosen)(_flat(values[:_CHECKED]))
        made = {contender.name: _run(contender, chosen, values, wanted) for contender in CONTENDERS}
        running = [run for run in made.values() if isinstance(run, Running)]
        times = [{run.name: run.us() for run in running} for _ in range(rounds)]
        yield (
            count,
            {name: run if isinstance(run, str) else median(t[name] for t in times) for name, run in made.items()},
        )


def _run(
    contender: Contender, chosen: Sequence[Any], values: Sequence[bytes], wanted: Sequence[Sequence[int]]
) -> Running | str:
    """Or why there is no row."""
    if len(chosen) > contender.most:
        return "not run: minutes to build, or half a second for an event"
    try:
        match = contender.make(chosen)
    except ImportError:
        return peers.why_missing(contender.package)
    few = _few(match, contender.reads(values[:_CHECKED]), _ROUND_S, most=_CHECKED)
    if contender.answers:
        assert match(few) == wanted[: len(few)], f"{contender.name} finds other rules than plain Python"
    filling = _few(match, contender.reads(values), _ROUND_S, most=len(values))
    return Running(contender.name, match, values[: len(filling)], contender.reads, contender.batch)


def _few(match: Matcher, events: Sequence[Any], seconds: float, *, most: int) -> Sequence[Any]:
    """As many events as take about so long."""
    size, took = 1, 0.0
    while took < seconds / 4 and size < most:
        size = min(size * 4, most)
        started = time.process_time()
        match(events[:size])
        took = time.process_time() - started
    return events[: max(1, min(most, int(size * seconds / max(took, 1e-9))))]


@cache
def _label(contender: Contender) -> str:
    try:
        return peers.label(contender.package) if contender.package else contender.name
    except ImportError:
        return contender.name


def main() -> None:
    peers.activate()
    table: Table = {contender.name: {} for contender in CONTENDERS}
    for count, found in measure():
        ours = found[OURS]
        assert isinstance(ours, float)
        print(f"{count:>6,} rules {'events/s':>22} {'us/event':>12} {'x ours':>10}")
        for contender in CONTENDERS:
            us = found[contender.name]
            if isinstance(us, str):
                print(f"  {_label(contender):<34} {us}")
                continue
            table[contender.name][count] = us
            print(f"  {_label(contender):<34} {1e6 / us:>12,.0f} {us:>12,.2f} {us / ours:>10,.1f}", flush=True)
    for line in verdicts(table):
        print(line)


def verdicts(table: Table) -> Iterator[str]:
    ours = table[OURS]
    yield f"10 -> 10,000 rules: {ours[10_000] / ours[10]:.1f}x the cost   (target <= 5)"
    yield f"10,000 rules: {ours[10_000] / table[LOOK_UP][10_000]:.1f}x a bare dict look-up   (target <= 2)"
    decoding = table[DECODING][10_000]
    floor = decoding + table[LOOK_UP][10_000]
    yield f"10,000 rules: {(decoding + ours[10_000]) / floor:.1f}x, decoding and a bare look-up   (target <= 2)"
    yield f"10,000 rules: {ours[10_000] / table[ALL_LOOK_UPS][10_000]:.2f}x all look-ups of these rules, nothing tested"
    yield f"10,000 rules: {ours[10_000] / table[BY_HAND][10_000]:.2f}x a matcher written by hand for these very rules"
    for name, target in ((FUNCTION, 5), ("polars join", 6), (LAMBDAS, 100), ("Rust CEL", 250), ("rule-engine", 5_000)):
        if 1_000 in table[name]:
            yield f"1,000 rules: {table[name][1_000] / ours[1_000]:,.1f}x as fast as {name}   (target >= {target:,})"


if __name__ == "__main__":
    main()
