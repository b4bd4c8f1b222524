"""The executor dies at every point, and at every pair of points; the bank's own ledger says what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from itertools import count
from random import Random

import pytest

from actions import doubt
from actions.attempt import Answer
from actions.executor import Executor
from actions.journal import Draft
from actions.move import Send
from actions.setup import Setup
from actions.state import ProposalState, StepState
from actions.testing.bank import Behaviour
from actions.testing.household import OWNER, Household, Make, Shape, plain_executor, trigger
from actions.testing.memory import MemoryJournal
from actions.testing.points import Crash, Points
from actions.tools.tool import Manifest, Tool
from schemas.clock import ManualClock
from schemas.errors import Fenced
from schemas.plan import EffectClass, Step

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
    faults: list[str] = []
    for die_at in count():
        house = Household(effect_class, shape, {"bank.pay": tuple(script)}, latency, make)
        passed = lives(house, [die_at])
        faults += [f"death {die_at} at {passed[-1]}: {fault}" for fault in house.faults()]
        if len(passed) <= die_at:
            return faults
    raise AssertionError("unreachable")


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
    faults: list[str] = []
    for first in count():
        for second in count():
            house = Household(effect_class, "small", latency=latency)
            passed = lives(house, [first, second])
            faults += [f"deaths {first}, {second}: {fault}" for fault in house.faults()]
            if len(passed) <= second:
                break
        if len(lives(Household(effect_class, "small", latency=latency), [first])) <= first:
            break
    assert faults == []


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
