"""Records per second end to end: our shell beside plain loops, with the same matchers, in one run.

Every carrier runs with every matcher in interleaved rounds, so that a slow minute of the machine hits all of them.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.carriers import Carrier, Timer, aiokafka_loop, shell, sqlite_loop
from benchmarks.events import Matcher, index_matcher, lambda_matcher, sample_events
from tests.peers import brokers
from tests.peers.process import PeerMissing

_TANSU = "?idempotence=off&fetch_wait_ms=100&session_timeout_s=2"


@dataclass(frozen=True)
class Run:
    """One run of one carrier with one matcher."""

    carrier: str
    matcher: str
    records: int
    wall_s: float
    cpu_s: float
    matches: int

    @property
    def per_s(self) -> float:
        return self.records / self.wall_s

    @property
    def per_cpu_s(self) -> float:
        return self.records / self.cpu_s


@contextmanager
def carriers(folder: Path, *, sync: str = "full") -> Iterator[dict[str, Carrier]]:
    """The carriers that this machine can have, by name; starts the brokers, and says which are missing."""
    found = {
        "forewatch on the embedded log": shell(f"embedded://{folder}/log.db?sync={sync}"),
        "plain SQLite loop": sqlite_loop(folder, sync),
    }
    with ExitStack() as running:
        for name, start, options in (("Tansu", brokers.tansu, _TANSU), ("Apache Kafka", brokers.kafka, "")):
            place = folder / name.replace(" ", "")
            place.mkdir()
            try:
                address = running.enter_context(start(place))
            except PeerMissing as missing:
                sys.stderr.write(f"without {name}: {missing}\n")
                continue
            url = f"kafka://{address}{options}"
            found[f"forewatch on {name}"] = shell(url)
            found[f"plain aiokafka loop on {name}"] = aiokafka_loop(url, address)
        yield found


def compare(
    matchers: Mapping[str, Matcher], *, records: int = 20_000, rounds: int = 5, sync: str = "full"
) -> list[Run]:
    """All carriers with all matchers; ValueError if two carriers find another number of matches for one matcher."""
    events = sample_events(records)
    runs = []
    with tempfile.TemporaryDirectory() as folder, carriers(Path(folder), sync=sync) as found:
        for _ in range(rounds):
            for name, matcher in matchers.items():
                runs += [asyncio.run(_run(carrier, found[carrier], name, matcher, events)) for carrier in found]
    for name in matchers:
        matches = {run.carrier: run.matches for run in runs if run.matcher == name}
        if len(set(matches.values())) != 1:
            raise ValueError(f"the carriers do not agree on the matches of {name!r}: {matches}")
    return runs


async def _run(carrier: str, carry: Carrier, name: str, matcher: Matcher, events: Sequence[bytes]) -> Run:
    timer = Timer()
    matches = await carry(events, matcher, timer)
    return Run(carrier, name, len(events), timer.wall_s, timer.cpu_s, matches)


def medians(runs: Sequence[Run]) -> dict[tuple[str, str], tuple[float, float]]:
    """Records per second and per CPU second, by carrier and matcher."""
    keys = dict.fromkeys((run.carrier, run.matcher) for run in runs)
    return {
        key: (
            statistics.median(run.per_s for run in runs if (run.carrier, run.matcher) == key),
            statistics.median(run.per_cpu_s for run in runs if (run.carrier, run.matcher) == key),
        )
        for key in keys
    }


def ratio(runs: Sequence[Run], ours: tuple[str, str], other: tuple[str, str]) -> tuple[float, float]:
    """Median over the rounds of ours / other, by the clock and by CPU; rounds are compared with themselves."""
    mine = [run for run in runs if (run.carrier, run.matcher) == ours]
    theirs = [run for run in runs if (run.carrier, run.matcher) == other]
    pairs = list(zip(mine, theirs, strict=True))
    return (
        statistics.median(one.per_s / two.per_s for one, two in pairs),
        statistics.median(one.per_cpu_s / two.per_cpu_s for one, two in pairs),
    )


def table(runs: Sequence[Run]) -> str:
    """Markdown, one line per carrier and matcher."""
    lines = ["| carrier | matcher | records/s | records per CPU s |", "|---|---|---|---|"]
    for (carrier, matcher), (per_s, per_cpu_s) in medians(runs).items():
        lines.append(f"| {carrier} | {matcher} | {per_s:,.0f} | {per_cpu_s:,.0f} |")
    return "\n".join(lines)


RULES = 100
LAMBDAS, OURS = f"{RULES} lambdas", f"our matcher, {RULES} rules"


def main(rounds: int = 5) -> None:
    """The table, and the ratios that have a target."""
    runs = compare({LAMBDAS: lambda_matcher(RULES), OURS: index_matcher(RULES)}, rounds=rounds)
    print(table(runs))
    carriers_seen = dict.fromkeys(run.carrier for run in runs)
    for broker in ("Tansu", "Apache Kafka"):
        loop = f"plain aiokafka loop on {broker}"
        if loop not in carriers_seen:
            continue
        for ours in ("forewatch on the embedded log", f"forewatch on {broker}"):
            _say(runs, (ours, OURS), (loop, LAMBDAS), "target >= 1.0")
            _say(runs, (ours, OURS), (loop, OURS), "target >= 0.6")
    _say(runs, ("forewatch on the embedded log", OURS), ("plain SQLite loop", OURS), "")


def _say(runs: Sequence[Run], ours: tuple[str, str], other: tuple[str, str], target: str) -> None:
    wall, cpu = ratio(runs, ours, other)
    print(f"{ours[0]} / {other[0]} with {other[1]}: {wall:.2f} by the clock, {cpu:.2f} by CPU   {target}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 3)
