"""The executor dies at every point, and at every pair of points; the bank's own ledger says what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import count
from random import Random

import pytest

from actions.journal import Draft
from actions.planning.otherwise import PlaybookReplanner
from actions.policy import audit
from actions.proposal.state import DEATHS, ProposalState, StepState
from actions.run import doubt
from actions.run.attempt import Answer
from actions.run.executor import Executor
from actions.run.move import Send
from actions.run.moves import DEADLY
from actions.setup import Setup
from actions.testing.bank import Behaviour
from actions.testing.household import OWNER, Household, Make, Shape, plain_executor, trigger
from actions.testing.memory import MemoryJournal, MemoryLog
from actions.testing.points import Crash, Points, nowhere
from actions.tools.tool import Manifest, Tool
from schemas.clock import ManualClock
from schemas.command import Command
from schemas.errors import Fenced
from schemas.journal import JournalEntry
from schemas.plan import EffectClass, Step
from tests.scale import THOROUGH

CLASSES: tuple[EffectClass, ...] = ("keyed", "reconcile", "at_most_once")
LATE = timedelta(seconds=20)
"""Longer than a time-out, shorter than the settle window: the request lands when its sender is long dead."""


def lives(house: Household, deaths: Iterable[int]) -> list[str]:
    """Die at these points, life after life, then live on; the points that the last dying life passed."""
    passed: list[str] = []
    for die_at in deaths:
        points = Points(die_at)
        try:
            asyncio.run(house.live(points))
        except Crash:
            passed = points.names
            continue
        return points.names
    asyncio.run(house.live())
    return passed


def every_death(
    effect_class: EffectClass,
    shape: Shape,
    make: Make = plain_executor,
    latency: timedelta = timedelta(0),
    script: Iterable[Behaviour] = (),
) -> list[str]:
    """All faults over all single deaths; each line says where the process died."""
    return every_end(lambda: Household(effect_class, shape, {"bank.pay": tuple(script)}, latency, make))


def every_end(world: Callable[[], Household], before: int | None = None, some: int = 1, start: int = 0) -> list[str]:
    """The same for any world: ``before`` is the point of a death that comes first; every ``some``th point from
    ``start`` on, in a run that is to be short."""
    return list(ends(world, before, some, start))


def ends(world: Callable[[], Household], before: int | None = None, some: int = 1, start: int = 0) -> Iterator[str]:
    for die_at in count(start, some):
        house = world()
        passed = lives(house, [die_at] if before is None else [before, die_at])
        yield from (f"deaths {before} {die_at} at {passed[-1]}: {fault}" for fault in house.faults())
        if len(passed) <= die_at:
            return


def die(house: Household, die_at: int) -> bool:
    """Live until this point; False if the run ended before it."""
    try:
        asyncio.run(house.live(Points(die_at)))
    except Crash:
        return True
    return False


def every_pair(world: Callable[[], Household]) -> list[str]:
    """All faults over all pairs of deaths. A pair that leaves behind what another one left has that one's future, and
    is not lived to its end again."""
    faults: list[str] = []
    firsts: set[int] = set()
    seconds: set[int] = set()
    for first in count():
        house = world()
        if not die(house, first):
            return faults
        if house.mark() not in firsts:
            firsts.add(house.mark())
            faults += second_deaths(world, first, seconds)
    raise AssertionError


def second_deaths(world: Callable[[], Household], first: int, seen: set[int]) -> list[str]:
    faults: list[str] = []
    for second in count():
        house = world()
        die(house, first)
        has_died = die(house, second)
        if house.mark() not in seen:
            seen.add(house.mark())
            if has_died:
                asyncio.run(house.live())
            faults += [f"deaths {first} {second}: {fault}" for fault in house.faults()]
        if not has_died:
            return faults
    raise AssertionError


SOME = 1 if THOROUGH else 5
"""In the suite each effect class dies at other points of the large worlds; in the thorough run at all of them."""


def points_of(world: Callable[[], Household]) -> int:
    """How many points a life passes that nothing ends."""
    points, house = Points(), world()
    asyncio.run(house.live(points))
    return len(points.names)


class Undone(Household):
    """A person who changes their mind when the money and the mail are gone: both are taken back."""

    def answer(self, state: ProposalState) -> Command | None:
        done = [state.step(name).phase == "ok" for name in ("s2", "s4")] if state.plan else [False]
        if state.phase == "running" and all(done):
            return self.command("abort", undo=True)
        return super().answer(state)

    def faults(self) -> list[str]:
        found = [f"{step}: {n} effects" for step in ("s2", "s4", "s6", "s7") if (n := self.rows(step)) != 1]
        found += [f"left: {self.state.left}"] if self.state.left else []
        found += [] if self.state.phase == "stopped" else [f"it ended {self.state.phase}: {self.state.says}"]
        return found + [str(fault) for fault in audit.verify(self.log.entries)]


class Replanned(Household):
    """The bank says no; the playbook knows another way, and the person wants it."""

    def faults(self) -> list[str]:
        plan = self.state.plan
        assert plan is not None
        found = [f"{step.id}: {n} effects" for step in plan.steps if (n := self.rows(step.id)) != 1]
        found += [f"{step.id}: {phase}" for step in plan.steps if (phase := self.state.step(step.id).phase) != "ok"]
        found += [] if [step.id for step in plan.steps] == ["s2", "s3"] else ["it was not planned anew"]
        found += [] if len(self.ledger.landed()) == 2 else ["the bank did what it had refused"]
        return found + [str(fault) for fault in audit.verify(self.log.entries)]


class Polled(Household):
    """A question that is asked three times before its answer will do, and then a payment."""

    def faults(self) -> list[str]:
        found = [] if self.rows("s2") == 1 else [f"s2: {self.rows('s2')} effects"]
        found += [] if self.state.step("s1").rounds == 3 else [f"asked {self.state.step('s1').rounds} times in vain"]
        return found + [str(fault) for fault in audit.verify(self.log.entries)]


_PAY = {"payee": {"slot": "payee"}, "amount": {"slot": "amount"}}


def undone(effect_class: EffectClass, latency: timedelta = timedelta(0)) -> Callable[[], Household]:
    return lambda: Undone(effect_class, "full", latency=latency, undo_window_s=30 * 86_400.0)


def replanned(effect_class: EffectClass) -> Callable[[], Household]:
    other = {"steps": [{"id": "s2", "tool": "bank.mail", "args": _PAY}]}
    steps = [
        {"id": "s1", "tool": "bank.pay", "args": _PAY, "otherwise": [other]},
        {"id": "s3", "tool": "bank.note", "args": _PAY, "after": ["s1"]},
    ]
    no: tuple[Behaviour, ...] = ("no",) * 20
    return lambda: Replanned(effect_class, "small", {"bank.pay": no}, steps=steps, replanner=PlaybookReplanner())


def polled(effect_class: EffectClass) -> Callable[[], Household]:
    never = {"field": "payee", "op": "is", "value": "Other", "every": "1h", "at_most": 3, "on_end": "go_on"}
    steps = [
        {"id": "s1", "tool": "bank.invoice", "args": {"payee": "Acme"}, "repeat": never | {"at_most": 4}},
        {"id": "s2", "tool": "bank.pay", "args": _PAY, "after": ["s1"]},
    ]
    return lambda: Polled(effect_class, "small", steps=steps)


@pytest.mark.parametrize("effect_class", CLASSES)
def test_a_death_anywhere_while_steps_run_side_by_side(effect_class: EffectClass) -> None:
    world = lambda: Household(effect_class, "wide")  # noqa: E731
    assert every_end(world, None, SOME, CLASSES.index(effect_class)) == []


@pytest.mark.parametrize("effect_class", CLASSES)
def test_a_death_anywhere_while_slow_requests_are_under_way_side_by_side(effect_class: EffectClass) -> None:
    world = lambda: Household(effect_class, "wide", latency=LATE)  # noqa: E731
    assert every_end(world, None, SOME, CLASSES.index(effect_class)) == []


@pytest.mark.parametrize("effect_class", CLASSES)
def test_a_death_anywhere_takes_back_once_what_was_done_once(effect_class: EffectClass) -> None:
    assert every_end(undone(effect_class), None, SOME, CLASSES.index(effect_class)) == []


@pytest.mark.parametrize("effect_class", CLASSES)
def test_a_death_anywhere_on_another_way(effect_class: EffectClass) -> None:
    assert every_end(replanned(effect_class), None, SOME, CLASSES.index(effect_class)) == []


def test_a_death_anywhere_while_a_question_is_asked_again_and_again() -> None:
    assert every_end(polled("keyed"), None, SOME) == []


WORLDS: dict[str, Callable[[EffectClass], Callable[[], Household]]] = {
    "wide": lambda effect_class: lambda: Household(effect_class, "wide"),
    "full": lambda effect_class: lambda: Household(effect_class, "full"),
    "undone": undone,
    "late": lambda effect_class: undone(effect_class, LATE),
    "replanned": replanned,
}


PAIRS = [(name, c) for at, name in enumerate(WORLDS) for c in (CLASSES if THOROUGH else [CLASSES[at % 3]])]


@pytest.mark.parametrize(("name", "effect_class"), PAIRS)
def test_two_deaths_in_any_world(name: str, effect_class: EffectClass) -> None:
    """All pairs in the thorough run; else the second death comes at some points after one that is drawn by lot."""
    world = WORLDS[name](effect_class)
    if THOROUGH:
        assert every_pair(world) == []
        return
    lot = Random(f"{name} {effect_class}").randrange(points_of(world))
    assert every_end(world, lot, SOME * 2 - 1) == []


@pytest.mark.parametrize("effect_class", CLASSES)
def test_a_death_anywhere_does_nothing_twice_and_loses_nothing(effect_class: EffectClass) -> None:
    assert every_death(effect_class, "full") == []


@pytest.mark.parametrize("effect_class", CLASSES)
def test_a_death_while_a_slow_request_is_under_way_does_nothing_twice(effect_class: EffectClass) -> None:
    assert every_death(effect_class, "small", latency=LATE) == []


@pytest.mark.parametrize(
    "script",
    [("fail_before", "ok"), ("fail_after",), ("slow", "ok"), ("not_sent", "rate", "ok"), ("lost", "slow"), ("broken",)],
    ids=lambda script: "-".join(script),
)
@pytest.mark.parametrize("effect_class", CLASSES)
def test_a_death_anywhere_beside_a_misbehaving_bank(effect_class: EffectClass, script: tuple[Behaviour, ...]) -> None:
    assert every_death(effect_class, "small", script=script) == []


@pytest.mark.parametrize(
    ("effect_class", "latency"),
    [
        ("keyed", timedelta(0)),
        ("reconcile", timedelta(0)),
        ("reconcile", LATE),
        ("at_most_once", timedelta(0)),
        ("at_most_once", LATE),
    ],
)
def test_two_deaths_anywhere(effect_class: EffectClass, latency: timedelta) -> None:
    """The second death comes in the life that recovers from the first."""
    assert every_pair(lambda: Household(effect_class, "small", latency=latency)) == []


def dying(house: Household, times: int, where: str) -> None:
    """So many lives end at the same point."""

    def fatal(name: str) -> None:
        if name == where:
            raise Crash(name)

    for _ in range(times):
        with pytest.raises(Crash):
            asyncio.run(house.live(fatal))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("tool", "effect_class"), [("bank.invoice", "keyed"), ("bank.pay", "keyed"), ("bank.pay", "reconcile")]
)
def test_a_step_does_not_answer_for_the_deaths_of_the_process(tool: str, effect_class: EffectClass, when: str) -> None:
    """A slow query on a machine that is switched off again and again is still made when it stays on."""
    house = Household(effect_class, "full")
    is_found = (effect_class, when) == ("reconcile", "after")  # by the second life, which does not call again
    dying(house, 1 if is_found else DEATHS, f"{when} call {tool}")
    asyncio.run(house.live())
    assert house.faults() == []


def test_a_step_that_kills_the_process_each_time_fails_in_the_end() -> None:
    house = Household("keyed", "full")
    retries = house.tools["bank.invoice"].manifest.retry.max
    dying(house, DEATHS + retries + 1, "before call bank.invoice")
    asyncio.run(house.live())
    assert (house.state.phase, house.state.says.partition(": ")[2]) == ("failed", DEADLY)


def test_an_outcome_that_nobody_can_tell_is_asked_and_never_repeated() -> None:
    house = Household("at_most_once", "small", {"bank.pay": ("fail_after",)})
    asyncio.run(house.live())
    assert house.faults() == []
    assert house.questions == 1
    assert len(house.tools["bank.pay"].calls) == 1


def doubled(faults: list[str]) -> bool:
    return any("effects" in fault and ": 0 effects" not in fault for fault in faults)


# Mutants: executors with one protection missing. Each must be caught by the very checks above.


class NoIntent(Executor):
    """Writes down only what it did."""

    async def _send(self, state: ProposalState, send: Send) -> None:
        live, tool = state.steps[send.step.uid], self._setup.tools.tool(send.step.tool)
        assert tool is not None
        intent = self._intent(state, send)
        live.key, live.args, live.attempts = str(intent.body["key"]), send.args, send.attempt
        answer = await self._call(tool, send, live)
        await self._port.append([self._result(state, send, answer)])


class KeyPerAttempt(Executor):
    def _intent(self, state: ProposalState, send: Send) -> Draft:
        draft = super()._intent(state, send)
        draft.body["key"] = f"{draft.body['key']}/{send.attempt}"
        return draft


class RetriesUnknown(Executor):
    """Takes "nobody can tell" for "it did nothing"."""

    async def _call(self, tool: Tool, send: Send, live: StepState) -> Answer:
        answer = await super()._call(tool, send, live)
        return Answer("not_sent") if answer.outcome == "unknown" else answer


class NoNewIntentAfterLookUp(Executor):
    """After a look-up that found nothing, sends again under the old intent."""

    async def _send(self, state: ProposalState, send: Send) -> None:
        live, tool = state.steps[send.step.uid], self._setup.tools.tool(send.step.tool)
        if live.via != "look_up" or tool is None:
            return await super()._send(state, send)
        answer = await self._call(tool, send, live)
        await self._port.append([self._result(state, send, answer)])
        return None


def of(kind: type[Executor]) -> Make:
    def make(journal: MemoryJournal, setup: Setup, clock: ManualClock) -> Executor:
        return kind(journal, journal.book, setup, clock, Random(7))

    return make


@pytest.mark.parametrize("effect_class", ["reconcile", "at_most_once"])
def test_an_executor_without_intents_is_caught(effect_class: EffectClass) -> None:
    assert doubled(every_death(effect_class, "small", of(NoIntent)))


def test_an_executor_with_a_new_key_for_each_attempt_is_caught() -> None:
    assert doubled(every_death("keyed", "small", of(KeyPerAttempt)))


@pytest.mark.parametrize("effect_class", ["reconcile", "at_most_once"])
def test_an_executor_that_repeats_unknown_outcomes_is_caught(effect_class: EffectClass) -> None:
    faults = every_death(effect_class, "small", of(RetriesUnknown), script=("fail_after", "ok"))
    assert doubled(faults)


@pytest.mark.parametrize("effect_class", ["reconcile", "at_most_once"])
def test_an_executor_that_does_not_wait_for_requests_to_settle_is_caught(
    effect_class: EffectClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(step: Step, live: StepState, manifest: Manifest | None) -> object:
        return live.last_sent

    monkeypatch.setattr(doubt, "settled_at", at_once)
    assert doubled(every_death(effect_class, "small", latency=LATE))


def test_an_executor_that_sends_again_after_a_look_up_without_a_new_intent_is_caught() -> None:
    faults = every_death("reconcile", "small", of(NoNewIntentAfterLookUp), script=("lost", "slow"))
    assert doubled(faults)


def test_an_executor_without_intents_is_caught_by_pairs_of_deaths_too() -> None:
    assert doubled(every_pair(lambda: Household("reconcile", "small", make=of(NoIntent))))


class LazyJournal(MemoryJournal):
    """A mutant: answers before its entries are durable; they become so with the next ones."""

    _behind: tuple[JournalEntry, ...] = ()

    async def append(self, drafts: Sequence[Draft]) -> list[JournalEntry]:
        self._log.entries.extend(self._behind)
        self._behind = ()
        sealed = await super().append(drafts)
        for entry in sealed:
            self._log.entries.remove(entry)
        self._behind = tuple(sealed)
        return sealed


class LazyLog(MemoryLog):
    def open(self, owner: str, point: Callable[[str], None] = nowhere) -> MemoryJournal:
        opened = super().open(owner, point)
        return LazyJournal(self, opened.book, self.epoch, point)


class Lazy(Household):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.log = LazyLog()

    def faults(self) -> list[str]:
        return [f"s1: {n} effects" for n in [len(self.ledger.landed())] if n != 1]


@pytest.mark.parametrize("effect_class", ["reconcile", "at_most_once"])
def test_a_journal_that_answers_before_it_is_durable_is_caught(effect_class: EffectClass) -> None:
    assert doubled(every_end(lambda: Lazy(effect_class, "small")))


@pytest.mark.parametrize("kind", [NoIntent, RetriesUnknown])
def test_the_mutants_are_caught_among_steps_that_run_side_by_side_too(kind: type[Executor]) -> None:
    scripts: dict[str, tuple[Behaviour, ...]] = {"post.send": ("fail_after", "ok")} if kind is RetriesUnknown else {}
    found = ends(lambda: Household("reconcile", "wide", scripts, make=of(kind)))
    assert any(doubled([fault]) for fault in found)


class Unfenced(MemoryJournal):
    """Believes that it is still the only one."""

    async def append(self, drafts):  # type: ignore[no-untyped-def]  # the port's own signature
        self._epoch = self._log.epoch
        return await super().append(drafts)


@pytest.mark.parametrize(("port", "effects"), [(MemoryJournal, 1), (Unfenced, 2)], ids=["fenced", "mutant"])
def test_a_process_that_was_taken_over_does_nothing_more(port: type[MemoryJournal], effects: int) -> None:
    """It slept between deciding to pay and writing its intent; another process has paid meanwhile."""

    async def story() -> int:
        house = Household("reconcile", "small")
        sleepy = house.log.open(OWNER)
        sleepy = port(house.log, sleepy.book, house.log.epoch)
        await house.say(sleepy, trigger())
        state = sleepy.book.proposals[house.proposal]
        await house.say(sleepy, house.command("approve", digest=state.digest))
        executor = plain_executor(sleepy, house.setup, house.clock)
        await executor.advance(house.proposal)
        gate = next(iter(state.steps.values())).gate
        assert gate is not None
        await house.say(sleepy, house.command("confirm", digest=gate.digest, step="s1"))
        await house.live()
        try:
            await executor.advance(house.proposal)
        except Fenced:
            assert port is MemoryJournal
        return house.rows("s1")

    assert asyncio.run(story()) == effects
