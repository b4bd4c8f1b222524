"""What a score per key costs and catches: ours, the streaming statistics of river, k sigma, a frugal median, ADTK.

Spending of many keys: log-normal, with spikes of 3 to 8 times in 1 % or 6 % of all values, which stay in the history.
Recall is over all keys at the threshold that 0.5 % of the usual values pass, after the six that a rule waits for.
"""

from __future__ import annotations

import pickle
import random
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from datetime import date
from itertools import count
from math import exp, inf, log, sqrt
from statistics import median
from typing import Any, Protocol

from benchmarks import peers
from rules.anomaly import score
from rules.baseline import Baselines
from rules.state import RuleState

KEYS, EACH, WAITS = 2_000, 50, 6
FALSE_POSITIVES = 0.005
_BATCH = 500
ROUNDS = 3
Values = list[tuple[int, float, bool]]
"""Key, value, and whether it is a spike; in turn over all keys."""


class Scorer(Protocol):
    def step(self, key: int, value: float) -> float:
        """How far the value is from what is usual for its key; then it is learned."""
        ...


class Ours:
    """As the detector does: from the state, as JSON, and back into it with every value; what changed in a batch is
    handed on to be written."""

    def __init__(self) -> None:
        self._state = RuleState()
        self._baselines = Baselines(self._state)
        self._today = date(2026, 1, 1)
        self._steps = 0

    def step(self, key: int, value: float) -> float:
        earlier = self._baselines.learn("rule", str(key), self._today, log(value))
        self._steps += 1
        if self._steps % _BATCH == 0:
            self._state.take_changes()
        return score(value, earlier).z if earlier else 0.0


class InMemory:
    """The same score over a list of the newest 24, without state that can be stored."""

    def __init__(self) -> None:
        self._known: dict[int, list[float]] = {}

    def step(self, key: int, value: float) -> float:
        known = self._known.setdefault(key, [])
        found = score(value, known).z if known else 0.0
        known.append(log(value))
        del known[:-24]
        return found


class Frugal:
    """A median and a MAD that move a step towards each value: three numbers for a key, no value is kept."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, float, float]] = {}

    def step(self, key: int, value: float) -> float:
        x = log(value)
        known = self._known.get(key)
        if known is None:
            self._known[key] = (1, x, 0.3)
            return 0.0
        n, middle, spread = known
        away = x - middle
        rate = max(1 / (n + 1), 1 / 24)
        middle += 2 * rate * spread if away > 0 else -2 * rate * spread
        wider = spread * (1 + rate) if abs(away) > spread else spread * (1 - rate)
        self._known[key] = (n + 1, middle, wider if wider > 0.02 else 0.02)
        return away / max((1.4826 * spread * n + 1.8) / (n + 6), 0.1)


class Welford:
    """k sigma: the distance from the mean in standard deviations."""

    def __init__(self, *, logs: bool) -> None:
        self._logs = logs
        self._known: dict[int, tuple[int, float, float]] = {}

    def step(self, key: int, value: float) -> float:
        x = log(value) if self._logs else value
        n, mean, squares = self._known.get(key, (0, 0.0, 0.0))
        found = (x - mean) / sqrt(squares / n) if squares > 0 else 0.0
        away = x - mean
        mean += away / (n + 1)
        self._known[key] = (n + 1, mean, squares + away * (x - mean))
        return found


class River:
    """Median and spread by two of river's statistics over logarithms."""

    def __init__(self, make: Callable[[], tuple[Any, Any]], to_sigma: float) -> None:
        self._make, self._to_sigma = make, to_sigma
        self._known: dict[int, tuple[Any, Any]] = {}

    def step(self, key: int, value: float) -> float:
        x = log(value)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._make()
        return self._score(known, x)

    def _score(self, known: tuple[Any, Any], x: float) -> float:
        middle, spread = known
        usual = middle.get()
        found = (x - usual) / max(self._to_sigma * (spread.get() or 0.0), 0.1) if usual is not None else 0.0
        middle.update(x)
        spread.update(x)
        return found


class StoredRiver(River):
    """From state to state, too: river's statistics can be stored by pickle only."""

    def __init__(self, make: Callable[[], tuple[Any, Any]], to_sigma: float) -> None:
        super().__init__(make, to_sigma)
        self._stored: dict[str, bytes] = {}

    def step(self, key: int, value: float) -> float:
        stored = self._stored.get(str(key))
        known = pickle.loads(stored) if stored is not None else self._make()
        found = self._score(known, log(value))
        self._stored[str(key)] = pickle.dumps(known)
        return found


class Adtk:
    """Fitted again for each value, as its detectors have to be."""

    def __init__(self) -> None:
        from adtk.detector import InterQuartileRangeAD
        from pandas import DatetimeIndex, Series, date_range

        self._detector = InterQuartileRangeAD
        self._series = Series
        self._days: DatetimeIndex = date_range("2026-01-01", periods=33)
        self._known: dict[int, list[float]] = {}

    def step(self, key: int, value: float) -> float:
        known = self._known.setdefault(key, [])
        known.append(log(value))
        if len(known) < 7:
            return 0.0
        series = self._series(known[-33:], index=self._days[: len(known[-33:])])
        detector = self._detector(c=3.0)
        detector.fit(series[:-1])
        return float(detector.detect(series).iloc[-1])


def _river() -> Iterator[tuple[str, Callable[[], Scorer]]]:
    try:
        from river import stats
    except ImportError:
        return
    named = peers.label("river")

    def quantiles() -> tuple[Any, Any]:
        return stats.Quantile(0.5), stats.MAD()

    def window() -> tuple[Any, Any]:
        return stats.RollingQuantile(0.5, 24), stats.RollingIQR(24)

    yield f"{named} Quantile + MAD, stored", lambda: StoredRiver(quantiles, 1.4826)
    yield f"{named} rolling quantile + IQR, stored", lambda: StoredRiver(window, 0.7413)
    yield f"{named} Quantile + MAD", lambda: River(quantiles, 1.4826)
    yield f"{named} rolling quantile + IQR", lambda: River(window, 0.7413)
    yield f"{named} mean + deviation", lambda: River(lambda: (stats.Mean(), _Deviation(stats.Var())), 1.0)


class _Deviation:
    def __init__(self, variance: Any) -> None:
        self.update, self._variance = variance.update, variance

    def get(self) -> float:
        return sqrt(self._variance.get())


def contenders() -> Iterator[tuple[str, Callable[[], Scorer]]]:
    yield "Forewatch, stored", Ours
    yield "Forewatch, the score alone", InMemory
    yield "frugal median and MAD", Frugal
    yield "k sigma, logarithms", lambda: Welford(logs=True)
    yield "k sigma, amounts", lambda: Welford(logs=False)
    yield from _river()


def values(seed: int, spikes: float, *, keys: int = KEYS) -> Values:
    rng = random.Random(seed)
    usual = [(rng.uniform(1, 6), rng.uniform(0.1, 0.6)) for _ in range(keys)]
    made: Values = []
    for _ in range(EACH):
        for key, (middle, spread) in enumerate(usual):
            is_spike = rng.random() < spikes
            value = exp(rng.gauss(middle, spread)) * (rng.uniform(3, 8) if is_spike else 1)
            made.append((key, value, is_spike))
    return made


def recall(scorer: Scorer, given: Values) -> float:
    scored = [(scorer.step(key, value), is_spike) for key, value, is_spike in given][WAITS * KEYS :]
    usual = sorted((found for found, is_spike in scored if not is_spike), reverse=True)
    limit = usual[int(len(usual) * FALSE_POSITIVES)]
    spikes = [found for found, is_spike in scored if is_spike]
    return sum(found > limit for found in spikes) / len(spikes)


def us(scorer: Scorer, given: Values) -> float:
    step = scorer.step
    started = time.process_time()
    for key, value, _ in given:
        step(key, value)
    return (time.process_time() - started) / len(given) * 1e6


def bytes_per_key(make: Callable[[], Scorer], given: Values) -> float:
    """Of a full history, with the entry of the dict that finds it. What river keeps in Rust is not seen."""
    tracemalloc.start()
    scorer = make()
    before = tracemalloc.get_traced_memory()[0]
    for key, value, _ in given[: 30 * KEYS]:
        scorer.step(key, value)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / KEYS


def accepts_after(make: Callable[[], Scorer], spread: float) -> float:
    """After how many values five times as high as the thirty before them the new level is no anomaly (score < 4)."""
    taken: list[float] = []
    for seed in range(20):
        rng, scorer = random.Random(seed), make()
        for _ in range(30):
            scorer.step(0, exp(rng.gauss(3, spread)))
        after = next(n for n in count() if scorer.step(0, exp(rng.gauss(3, spread)) * 5) < 4 or n >= 500)
        taken.append(after if after < 500 else inf)
    return median(taken)


def main() -> None:
    peers.activate()
    made = dict(contenders())
    clean, dirty = values(1, 0.01), values(2, 0.06)
    times: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(ROUNDS):
        for name, make in made.items():
            times[name].append(us(make(), clean))
    print(f"{'':<44} updates/s  us  B/key  recall 1 %  recall 6 %  new level after, if steady")
    for name, make in made.items():
        cost = median(times[name])
        size = bytes_per_key(make, clean)
        print(
            f"{name:<44} {1e6 / cost:>9,.0f} {cost:>5.2f} {size:>6,.0f} {recall(make(), clean):>8.3f}"
            f" {recall(make(), dirty):>11.3f} {accepts_after(make, 0.2):>16.0f} {accepts_after(make, 0.0):>11.0f}",
            flush=True,
        )
    if "river" not in " ".join(made):
        print(f"river: {peers.why_missing('river')}")
    _adtk(clean)


def _adtk(given: Sequence[tuple[int, float, bool]]) -> None:
    try:
        scorer = Adtk()
    except ImportError:
        print(f"adtk: {peers.why_missing('adtk')}")
        return
    few = [item for item in given if item[0] < 4]
    cost = us(scorer, few)
    print(f"{peers.label('adtk') + ' inter-quartile range, fitted each time':<44} {1e6 / cost:>9,.0f} {cost:>5,.0f}")


if __name__ == "__main__":
    main()
