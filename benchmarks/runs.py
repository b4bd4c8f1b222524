"""Runs: what thousands that wait cost, how fast short ones go, and how soon an event becomes a proposal."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import psutil

from actions.planning.playbook import Playbook
from actions.run.executor import Executor
from actions.setup import Setup
from actions.testing.household import OWNER, trigger
from actions.tools.notify import Notify
from actions.tools.tool import Registry
from actions.tools.wait import all_waits
from forewatch.heap import survivors_set_aside
from schemas import ids
from schemas.clock import Clock, SystemClock
from schemas.command import Command
from schemas.trigger import Trigger
from schemas.value import Integrity, Value
from streams import act, topics
from streams.act import ActAgent, ActDeps
from streams.codec import encode
from streams.log import open_log
from streams.work import Batch, Log

RUNS, FEW, DUE, PER_S = 10_000, 200, 2_000, 100
AT_ONCE = 200
"""Runs that are begun together, so that their journal entries are written together."""
SHORT_RUNS, STEPS = 1_000, 5
EVENTS = 300
MARGIN_S = 5.0
"""Between the last wait that begins and the first one that ends."""


@dataclass(frozen=True)
class Waiting:
    """Of runs that wait. ``late_*``: from the due instant to the journal entry that says so, in seconds.

    ``cpu_ms_per_wake`` is of the whole process, from the wake-up to the end of the run: what else the machine does
    changes it little.
    """

    made_s: float
    mb_over_idle: float
    restart_s: float
    mb_after_restart: float
    tasks: int
    late_p50_s: float
    late_p99_s: float
    late_max_s: float
    cpu_percent: float
    cpu_ms_per_wake: float


@dataclass(frozen=True)
class Short:
    """Of ``SHORT_RUNS`` runs of ``STEPS`` steps, each a notice that is written, read back and journalled."""

    steps_per_s: float
    bare_per_s: float
    """The same tool called and read back in as many chains of as many steps, as many at once, without runs."""
    cpu_ms: float
    bare_cpu_ms: float

    @property
    def ratio(self) -> float:
        return self.bare_per_s / self.steps_per_s

    @property
    def cpu_ratio(self) -> float:
        return self.cpu_ms / self.bare_cpu_ms


@dataclass(frozen=True)
class Soon:
    """From an event in the log to its proposal in the journal, without a model, in milliseconds."""

    p50_ms: float
    p99_ms: float


class Stage:
    """The act agent alone, on an embedded log that is written through to the disk."""

    def __init__(self, log: Log, folder: Path, steps: Sequence[Mapping[str, object]], clock: Clock) -> None:
        slots = {"when": {"type": "DateTime", "from": ["when"], "required": True}}
        raw = {"id": "pay", "version": 1, "title": "Pay", "slots": slots, "steps": steps, "sha": "0" * 64}
        self.log, self.clock = log, clock
        self.notify = Notify(folder / "outbox", clock)
        self.setup = Setup({"pay": Playbook.model_validate(raw)}, Registry([self.notify, *all_waits()]))
        self.act = self.agent()

    def agent(self) -> ActAgent:
        rng = random.Random(1)
        make = lambda port, book: Executor(port, book, self.setup, self.clock, rng)  # noqa: E731
        return ActAgent(ActDeps(self.log, self.setup, make, self.clock, str(random.random())))

    async def begin(self, number: int, when: datetime) -> None:
        value = Value(v=when.isoformat(), type="DateTime", integrity=Integrity.KNOWN)
        fired = trigger(
            number, id=ids.trigger_id("r", "1", str(number), "1"), key=str(number), title=f"Run {number}",
            values={"when": value}, deadline_at=None, matter=None, fired_at=self.clock.now(),
        )  # fmt: skip
        await self._take(topics.TRIGGERS, number, fired)
        (state,) = [s for book in self.act.books() if (s := book.by_trigger(fired.id))]
        told = Command(
            id=f"c{number}", owner=OWNER, who=OWNER, channel="cli", verb="approve", proposal=state.id,
            digest=state.digest, at=self.clock.now(),
        )  # fmt: skip
        await self._take(topics.COMMANDS, number, told)

    async def _take(self, topic: str, number: int, said: Trigger | Command) -> None:
        await self.act.handle(Batch(topic, 0, [number], [None], [encode(said)]))


def _chain() -> list[dict[str, object]]:
    steps: list[dict[str, object]] = []
    for number in range(1, STEPS + 1):
        after = [f"s{number - 1}"] if number > 1 else []
        steps.append({"id": f"s{number}", "tool": "notify", "args": {"text": f"step {number}"}, "after": after})
    return steps


def _waits() -> list[dict[str, object]]:
    return [
        {"id": "s1", "tool": "wait.until", "args": {"until": {"slot": "when"}}},
        {"id": "s2", "tool": "notify", "args": {"text": "It is time"}, "after": ["s1"]},
    ]


async def _settled(agent: ActAgent) -> None:
    while await agent.step():
        pass


async def waiting(folder: Path, runs: int = RUNS) -> Waiting:
    with survivors_set_aside():  # as ``forewatch serve`` does
        return await _waiting(folder, runs)


async def _waiting(folder: Path, runs: int) -> Waiting:
    log = await open_log(f"embedded://{folder}/log.db?sync=normal", "bench", 1)
    stage = Stage(log, folder, _waits(), SystemClock())
    await stage.act.assigned(0)
    await stage.begin(0, stage.clock.now())
    await _settled(stage.act)
    gc.collect()
    idle, began = _mb(), time.perf_counter()
    far = stage.clock.now() + timedelta(days=20)
    for start in range(1, runs + 1, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, runs + 1))
        await asyncio.gather(*(stage.begin(number, far + timedelta(seconds=number)) for number in numbers))
        await _settled(stage.act)
    made = time.perf_counter() - began
    gc.collect()
    over = _mb() - idle
    first = stage.clock.now() + timedelta(seconds=2 * made * DUE / runs + MARGIN_S)
    for start in range(0, DUE, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, DUE))
        begun = (stage.begin(runs + 1 + n, first + timedelta(seconds=n / PER_S)) for n in numbers)
        await asyncio.gather(*begun)
    await _settled(stage.act)
    assert stage.clock.now() < first, "the machine is too busy: the waits were due before all of them had begun"
    tasks = len(asyncio.all_tasks())
    late, cpu, each = await _woken(stage, first + timedelta(seconds=DUE / PER_S))
    await stage.act.close()
    began = time.perf_counter()
    stage.act = stage.agent()
    gc.collect()
    await stage.act.assigned(0)
    await _settled(stage.act)
    restart = time.perf_counter() - began
    gc.collect()
    after = _mb() - idle
    await log.close()
    return Waiting(made, over, restart, after, tasks, _at(late, 0.5), _at(late, 0.99), max(late), cpu, each)


async def _woken(stage: Stage, last: datetime) -> tuple[list[float], float, float]:
    """Sleeps from one due instant to the next, as the ticker does; how late each wait was found to be over, the
    share of a core in percent, and the CPU of a wake in milliseconds."""
    news = asyncio.Event()
    stage.act.on_work = news.set
    cpu, began = time.process_time(), time.perf_counter()
    while stage.clock.now() < last + timedelta(seconds=2):
        news.clear()
        await stage.act.begin()
        wake = stage.act.next_wake() or last
        pause = min(0.5, max(0.001, (wake - stage.clock.now()).total_seconds()))
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await news.wait()
    share = 100 * (time.process_time() - cpu) / (time.perf_counter() - began)
    await _settled(stage.act)
    each = 1000 * (time.process_time() - cpu) / DUE
    return await _lateness(stage, last), share, each


async def _lateness(stage: Stage, last: datetime) -> list[float]:
    from schemas.journal import JournalEntry
    from streams.codec import decode
    from streams.work import read_entries

    due: dict[str, datetime] = {}
    late: list[float] = []
    async for entry in read_entries(stage.log, topics.JOURNAL, 0):
        told = decode(JournalEntry, entry.value or b"")
        if told.type == "wait.started":
            due[told.stream] = datetime.fromisoformat(str(told.body["wake"]))
        if told.type == "wait.fired" and due[told.stream] <= last and told.at > last - timedelta(seconds=DUE / PER_S):
            late.append((told.at - due[told.stream]).total_seconds())
    assert len(late) >= DUE, f"only {len(late)} of {DUE} waits ended"
    return late


async def short(folder: Path) -> Short:
    log = await open_log(f"embedded://{folder}/log.db", "bench", 1)
    stage = Stage(log, folder, _chain(), SystemClock())
    await stage.act.assigned(0)
    for number in range(SHORT_RUNS):
        await stage.begin(number, stage.clock.now())
    began, cpu = time.perf_counter(), time.process_time()
    await _settled(stage.act)
    took, cpu_took = time.perf_counter() - began, time.process_time() - cpu
    states = [state for book in stage.act.books() for state in book.proposals.values()]
    assert {state.phase for state in states} == {"done"}, "a run did not end as it should"
    bare = Notify(folder / "bare", stage.clock)
    began, cpu = time.perf_counter(), time.process_time()
    room = asyncio.Semaphore(act.AT_ONCE)
    await asyncio.gather(*(_bare_chain(bare, number, room) for number in range(SHORT_RUNS)))
    alone, cpu_alone = time.perf_counter() - began, time.process_time() - cpu
    await log.close()
    steps = SHORT_RUNS * STEPS
    return Short(steps / took, steps / alone, 1000 * cpu_took / steps, 1000 * cpu_alone / steps)


async def _bare_chain(tool: Notify, chain: int, room: asyncio.Semaphore) -> None:
    async with room:
        for step in range(STEPS):
            key = f"{chain * STEPS + step:032x}"
            out = await tool.call({"text": "step"}, key)
            assert await tool.verify({"text": "step"}, key, out) is not None


RULE = """
rules:
  - id: seen
    title: Mail {{ title }}
    when: {kind: mail.received}
    key: subject
    propose: {title: "Answer {{ title }}", playbook: answer-mail, urgency: high}
"""


async def soon(folder: Path) -> Soon:
    """Through the whole service: rules, the act agent, the embedded log as it is shipped."""
    from forewatch.settings import Settings
    from forewatch.wiring import build
    from schemas.event import Event, Party
    from schemas.payloads import MailPayload
    from streams.work import Output

    rules = folder / "rules.yaml"
    rules.write_text(RULE)
    settings = Settings(home=folder / "home", timezone="UTC", library=False, rules=(rules,))
    service = await build(settings, SystemClock(), random.Random(1))
    await service.start()
    ticker = asyncio.create_task(service.ticker.run())
    spans = []
    rng = random.Random(2)
    for number in range(EVENTS):
        now = datetime.now(UTC)
        event = Event(
            id=f"e{number}", owner=settings.owner, account="a", source="maildir", kind="mail.received", version="1",
            subject=f"m{number}", occurred_at=now, observed_at=now, title=f"Question {number}",
            parties=(Party(role="from", name="Ann", address="ann@example.org"),),
            payload=MailPayload(message_id=f"m{number}@example.org"),
        )  # fmt: skip
        began = time.perf_counter()
        await service.log.append([Output(topics.EVENTS, settings.owner.encode(), encode(event))])
        while not any(book.has_told("seen", f"m{number}") for book in service.act.books()):
            await asyncio.sleep(0.0005)
            assert time.perf_counter() - began < 60, "no proposal came"
        spans.append(1000 * (time.perf_counter() - began))
        await asyncio.sleep(rng.uniform(0, 0.05))
    ticker.cancel()
    await asyncio.gather(ticker, return_exceptions=True)
    await service.stop()
    return Soon(_at(spans, 0.5), _at(spans, 0.99))


def _at(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _mb() -> float:
    return float(psutil.Process().memory_info().rss) / (1 << 20)


PARTS = {"waiting": waiting, "few": partial(waiting, runs=FEW), "short": short, "soon": soon}


def measure(part: str) -> dict[str, float]:
    """In a process of its own, so that what one part leaves in memory is not another's."""
    command = [sys.executable, "-m", "benchmarks.runs", part]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    found = Short(**measure("short"))
    print(f"{SHORT_RUNS} runs of {STEPS} steps   {found.steps_per_s:.0f} steps/s;", end=" ")
    print(f"bare tool calls {found.bare_per_s:.0f} calls/s, {found.ratio:.1f} times as fast")
    print(f"  CPU of a step        {found.cpu_ms:.2f} ms, {found.cpu_ratio:.1f} times that of a bare call")
    spans = Soon(**measure("soon"))
    print(f"event to proposal      p50 {spans.p50_ms:.0f} ms, p99 {spans.p99_ms:.0f} ms   (target <= 1000)")
    many = Waiting(**measure("waiting"))  # type: ignore[arg-type]  # one of them is an int
    print(f"{RUNS} waiting runs     {many.mb_over_idle:.0f} MB over idle   (target <= 200)")
    print(f"  tasks they hold      {many.tasks - 1}")
    print(f"  after a restart      {many.mb_after_restart:.0f} MB over idle (the process has had two lives);", end=" ")
    print(f"folded in {many.restart_s:.1f} s")
    print(f"  woken {PER_S} a second   late p50 {many.late_p50_s * 1000:.0f} ms, p99 {many.late_p99_s * 1000:.0f} ms,"
          f" worst {many.late_max_s * 1000:.0f} ms   (target <= 1000)")  # fmt: skip
    few = Waiting(**measure("few"))  # type: ignore[arg-type]
    print(f"  CPU of a wake        {many.cpu_ms_per_wake:.2f} ms, {many.cpu_percent:.0f} % of a core;", end=" ")
    print(f"with {FEW} waiting runs {few.cpu_ms_per_wake:.2f} ms")
    print(f"  they began at        {RUNS / many.made_s:.0f} runs/s")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        with tempfile.TemporaryDirectory(prefix="fw") as place:
            print(json.dumps(asdict(asyncio.run(PARTS[sys.argv[1]](Path(place))))))  # type: ignore[arg-type, operator]  # one of three
