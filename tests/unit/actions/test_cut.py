"""Everything is stopped while something is under way: what only asks is given up, what changes something is not."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime

from actions.run.executor import Executor
from actions.run.replan import Wanted, Way
from actions.setup import Setup
from actions.testing.bank import Behaviour
from actions.testing.household import Household, plain_executor, trigger
from actions.testing.memory import MemoryJournal
from schemas.command import Command, Verb

PAY = {"payee": {"slot": "payee"}, "amount": {"slot": "amount"}}


class Thinking:
    """A replanner that thinks for ever the first time, and then knows no other way."""

    def __init__(self) -> None:
        self.asked = 0
        self.left = 0

    async def replan(self, wanted: Wanted, setup: Setup) -> Way | None:
        self.asked += 1
        if self.asked > 1:
            return None
        try:
            await asyncio.Event().wait()
        finally:
            self.left += 1
        return None


def everything(house: Household, verb: Verb) -> Command:
    return house.command(verb).model_copy(update={"proposal": "standing"})


async def stopped_when(house: Household, journal: MemoryJournal, executor: Executor, is_so: Callable[[], bool]) -> None:
    """The person approves and confirms while the run goes on; when this is so, they stop everything."""
    await house.say(journal, trigger())
    state, going = journal.book.proposals[house.proposal], None
    while not is_so():
        if command := house.answer(state):
            await house.say(journal, command)
            executor.poke(house.proposal)
        if going is None or going.done():
            going = asyncio.create_task(executor.advance(house.proposal))
        await asyncio.sleep(0)
    await house.say(journal, everything(house, "stop_everything"))
    executor.cut()
    assert going is not None
    assert await going is None


def test_a_replanner_is_given_up_and_asked_again_when_acting_goes_on() -> None:
    async def story() -> None:
        thinking = Thinking()
        no: tuple[Behaviour, ...] = ("no",)
        house = Household("keyed", "small", {"bank.pay": no}, replanner=thinking)
        journal = house.log.open("ann")
        executor = plain_executor(journal, house.setup, house.clock)
        await stopped_when(house, journal, executor, lambda: thinking.asked > 0)
        state = journal.book.proposals[house.proposal]
        assert await executor.advance(house.proposal) is None
        assert (state.phase, thinking.asked, thinking.left) == ("running", 1, 1)
        await house.say(journal, everything(house, "resume_everything"))
        await executor.advance(house.proposal)
        assert (state.phase, state.reason, thinking.asked) == ("failed", "denied", 2)

    asyncio.run(story())


def test_a_question_is_given_up_and_asked_again_while_a_payment_beside_it_is_not_called_back() -> None:
    async def story() -> None:
        steps = [
            {"id": "s1", "tool": "bank.invoice", "args": {"payee": {"slot": "payee"}}},
            {"id": "s2", "tool": "post.send", "args": PAY},
        ]
        hang: tuple[Behaviour, ...] = ("hang",)
        house = Household("reconcile", "small", {"bank.invoice": hang}, steps=steps)
        journal = house.log.open("ann")
        executor = plain_executor(journal, house.setup, house.clock)
        post = house.tools["post.send"]
        await stopped_when(house, journal, executor, lambda: bool(post.calls))
        state = journal.book.proposals[house.proposal]
        assert (state.step("s1").phase, state.step("s2").phase) == ("sent", "ok")
        assert len(house.tools["bank.invoice"].calls) == 1
        await house.say(journal, everything(house, "resume_everything"))
        when: datetime | None = await executor.advance(house.proposal)
        while when is not None:
            house.clock.advance_to(when)
            when = await executor.advance(house.proposal)
        assert (state.phase, len(post.calls)) == ("done", 1)

    asyncio.run(story())
