"""Every tool that ships, run by the executor that dies around its call: done once, found again, or asked about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from actions.planning.playbook import Playbook
from actions.policy import audit
from actions.proposal.propose import Input, decide
from actions.proposal.state import ProposalState
from actions.run.executor import Executor
from actions.setup import Setup
from actions.testing.cases import CASES
from actions.testing.desk import Desk
from actions.testing.household import OWNER, trigger
from actions.testing.laws import AT
from actions.testing.memory import MemoryJournal, MemoryLog
from actions.testing.points import Crash, Points, nowhere
from actions.tools.tool import UNGRANTED, Args, Manifest, Receipt, Registry, Tool
from schemas import ids
from schemas.clock import ManualClock
from schemas.command import Command, Verb
from schemas.errors import OutcomeUnknown
from schemas.model import Json
from schemas.value import Integrity, Value
from tests.scale import THOROUGH

SHIPPED = Desk(Path("/nonesuch"), ManualClock(AT)).registry()


def _effects() -> list[str]:
    manifests = {name: SHIPPED.manifest(name) for name in SHIPPED.names()}
    return [name for name, m in manifests.items() if m and m.effect not in UNGRANTED and name in CASES]


class Mortal:
    """The tool itself, with points before its call, after its effect and after its answer. ``done`` counts effects by
    the tool's own word; ``fails`` loses the answer of the first one."""

    def __init__(self, tool: Tool, fails: bool) -> None:
        self._tool = tool
        self._fails = fails
        self.point: Callable[[str], None] = nowhere
        self.done = 0

    @property
    def manifest(self) -> Manifest:
        return self._tool.manifest

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        self.point("before call")
        out = await self._tool.call(args, key)
        self.done += 1
        self.point("during call")
        if self._fails and self.done == 1:
            raise OutcomeUnknown("500 after it was done")
        return out

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        self.point("before look-up")
        return await self._tool.look_up(args, key)

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        self.point("before verify")
        return await self._tool.verify(args, key, result)


class Scene:
    """One step of one tool over a desk that outlives the process."""

    def __init__(self, name: str, folder: Path, fails: bool) -> None:
        self.clock = ManualClock(AT)
        self.desk = Desk(folder.resolve(), self.clock)
        CASES[name].prepare(self.desk)
        tool = self.desk.registry().tool(name)
        assert tool is not None
        self.tool = Mortal(tool, fails)
        self.args = dict(CASES[name].args(self.desk))
        types = {arg: m.type if (m := tool.manifest.arg(arg)) else "Text" for arg in self.args}
        step = {"id": "s1", "tool": name, "args": {arg: {"slot": arg} for arg in self.args}}
        slots = {arg: {"type": type_, "from": [arg]} for arg, type_ in types.items()}
        book = {"id": "pay", "version": 1, "title": "One", "slots": slots, "steps": [step], "sha": "0" * 64}
        self.setup = Setup({"pay": Playbook.model_validate(book)}, Registry([self.tool]))
        values = {a: Value(v=v, type=types[a], integrity=Integrity.USER, how="user") for a, v in self.args.items()}
        self.fired = trigger(values=values, fired_at=AT, deadline_at=None)
        self.log = MemoryLog()
        self.said = 0

    async def live(self, point: Callable[[str], None]) -> None:
        self.tool.point = point
        journal = self.log.open(OWNER, point)
        executor = Executor(journal, journal.book, self.setup, self.clock, Random(1))
        await self._say(journal, self.fired)
        state = next(iter(journal.book.proposals.values()))
        for _ in range(60):
            if state.phase in ("done", "failed", "stopped"):
                return
            when = await executor.advance(state.id)
            if command := self._answer(state):
                await self._say(journal, command)
            elif when:
                self.clock.advance_to(when)
        raise AssertionError(f"it never ends: {state.phase} {[s.phase for s in state.steps.values()]}")

    async def _say(self, journal: MemoryJournal, said: Input) -> None:
        drafts = decide(journal.book, said, self.clock.now(), self.setup)
        if drafts:
            await journal.append(drafts)

    def _answer(self, state: ProposalState) -> Command | None:
        if state.phase == "offered":
            return self._command(state, "approve", state.digest)
        for uid, live in state.steps.items():
            if live.gate:
                return self._command(state, "confirm", live.gate.digest, step=uid)
            if live.question:
                return self._command(state, "answer", live.question, step=uid, happened=self.tool.done > 0)
        return None

    def _command(self, state: ProposalState, verb: Verb, digest: str, **args: Json) -> Command:
        self.said += 1
        return Command(
            id=ids.command_id(state.id, verb, str(self.said)), owner=OWNER, who=OWNER, channel="cli", verb=verb,
            proposal=state.id, digest=digest, args=args, at=self.clock.now(),
        )  # fmt: skip

    def faults(self) -> list[str]:
        book = self.log.open(OWNER).book
        state = next(iter(book.proposals.values()))
        found = [] if state.phase == "done" else [f"it ended {state.phase}: {state.says}"]
        if self.tool.done < 1:
            found.append("it was not done")
        if self.tool.done > 1 and self.tool.manifest.effect_class != "keyed":
            found.append(f"it was done {self.tool.done} times")
        return found + [str(fault) for fault in audit.verify(self.log.entries)]


def _dies(name: str, deaths: Sequence[int], fails: bool = False) -> tuple[list[str], list[str]]:
    """Dies at these points, life after life, then lives on. The points that the last dying life passed (of the living
    one, if a death never came), and the faults."""
    with TemporaryDirectory() as folder:
        scene = Scene(name, Path(folder), fails)
        for die_at in deaths:
            points = Points(die_at)
            try:
                asyncio.run(scene.live(points))
            except Crash:
                continue
            return points.names, scene.faults()
        asyncio.run(scene.live(nowhere))
        return points.names, scene.faults()


def _pairs(name: str, fails: bool) -> Iterator[tuple[int, int]]:
    """Every pair of deaths: the second one comes in the life that recovers from the first."""
    for first in count():
        if len(_dies(name, [first], fails)[0]) <= first:
            return
        for second in count():
            yield first, second
            if len(_dies(name, [first, second], fails)[0]) <= second:
                break


def _some_pairs(name: str, fails: bool) -> list[tuple[int, int]]:
    """By lot, the same on every machine, and weighted: the first death lies around the call, where the tool decides
    what happens; the second one anywhere in the recovery."""
    lot = Random(f"{name} {fails}")
    whole, _ = _dies(name, [NEVER], fails)
    near = [at for at, point in enumerate(whole) if "intent" in point or "call" in point or "look-up" in point]
    pairs = []
    for first in lot.sample(near, min(SOME, len(near))):
        recovery, _ = _dies(name, [first, NEVER], fails)
        pairs.append((first, lot.randrange(len(recovery))))
    return pairs


NEVER = 10_000
"""A point that no life comes to."""
SOME = 2


@pytest.mark.parametrize("name", _effects())
def test_a_death_around_the_call_of_a_shipped_tool_does_it_once(name: str) -> None:
    """The suite dies where only this tool decides what happens: around its intent, its call and its result."""
    whole, faults = _dies(name, [NEVER])
    assert faults == []
    near = [at for at, point in enumerate(whole) if THOROUGH or "intent" in point or "call" in point]
    for die_at in [*near, near[-1] + 1]:
        passed, faults = _dies(name, [die_at])
        assert faults == [], f"death at {passed[-1]}"


@pytest.mark.parametrize("fails", [False, True], ids=["answered", "lost"])
@pytest.mark.parametrize("name", _effects())
def test_two_deaths_around_the_call_of_a_shipped_tool_do_it_once(name: str, fails: bool) -> None:
    """With an answer that comes, and with one that is lost. All pairs in the thorough run."""
    for deaths in _pairs(name, fails) if THOROUGH else _some_pairs(name, fails):
        passed, faults = _dies(name, deaths, fails)
        assert faults == [], f"deaths {deaths}, the second one at {passed[-1]}"


@pytest.mark.parametrize("name", _effects())
def test_an_answer_of_a_shipped_tool_that_is_lost_is_found_or_asked_for(name: str) -> None:
    passed, faults = _dies(name, [NEVER], True)
    assert faults == [], passed[-1]
