"""Earned autonomy: by a measured record, by the person's approval of a promotion, and lost at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import timedelta
from random import Random

import pytest

from actions.planning.playbook import Playbook
from actions.planning.playbook_loader import SHIPPED, load
from actions.policy import audit
from actions.policy.track import HOLD, RULE
from actions.proposal.propose import Input, Tick, decide, next_tick
from actions.proposal.state import ProposalState
from actions.run.executor import Executor
from actions.setup import Setup
from actions.testing.bank import BankTool, Behaviour, Ledger, manifest
from actions.testing.household import OWNER, START, trigger
from actions.testing.memory import MemoryLog
from actions.tools.tool import Arg, Registry
from actions.tools.wait import WaitUntil
from schemas import ids
from schemas.clock import ManualClock
from schemas.command import Command, Verb
from schemas.journal import JournalEntry
from schemas.model import Json
from schemas.plan import Effect

PATTERN = "invoice-unpaid: desk.note"
TEXT = {"text": Arg(type="Text")}


class World:
    """One kind of thing that comes again and again, and a person who answers."""

    def __init__(self, script: Sequence[Behaviour] = (), effect: Effect = "write_self") -> None:
        self.clock = ManualClock(START)
        self.ledger = Ledger(self.clock)
        self.note = BankTool(
            manifest("desk.note", "keyed", args=TEXT, effect=effect, says="Note {text}"), self.ledger, script
        )
        told = BankTool(manifest("notify", "keyed", args=TEXT, effect="notify", says="Say {text}"), Ledger(self.clock))
        tools = Registry([self.note, told, WaitUntil()])
        made = Playbook.model_validate(
            {"id": "pay", "version": 1, "title": "Note", "sha": "0" * 64,
             "slots": {"payee": {"type": "Text", "from": ["party.name"], "required": True}},
             "steps": [{"id": "s1", "tool": "desk.note", "args": {"text": {"text": "Note {payee}"}}}]}
        )  # fmt: skip
        books = {"pay": made, RULE: load(SHIPPED / f"{RULE}.yaml", tools)}
        self.setup = Setup(books, tools)
        self.log = MemoryLog()
        self.journal = self.log.open(OWNER)
        self.number = 0

    def say(self, said: Input) -> list[JournalEntry]:
        drafts = decide(self.journal.book, said, self.clock.now(), self.setup)
        return asyncio.run(self.journal.append(drafts)) if drafts else []

    def tell(self, state: ProposalState, verb: Verb, digest: str = "", **args: Json) -> list[JournalEntry]:
        return self.say(self.command(state.id, verb, digest or state.digest, **args))

    def command(self, proposal: str, verb: Verb, digest: str = "", **args: Json) -> Command:
        self.number += 1
        return Command(
            id=ids.command_id(proposal, verb, str(self.number)), owner=OWNER, who=OWNER, channel="cli", verb=verb,
            proposal=proposal, digest=digest, args=args, at=self.clock.now(),
        )  # fmt: skip

    def happens(self, later: timedelta = timedelta(days=4)) -> ProposalState:
        """The next one arrives, ``later`` than the one before."""
        self.pass_time(later)
        self.number += 1
        fired = trigger(self.number, key=f"k{self.number}", deadline_at=self.clock.now() + timedelta(days=30))
        self.say(fired)
        state = self.journal.book.by_trigger(fired.id)
        assert state is not None
        self.pass_time(timedelta(0))
        return state

    def pass_time(self, span: timedelta) -> None:
        """Ticks whenever the book says that time alone changes it; runs go as far as they can."""
        until = self.clock.now() + span
        for _ in range(100):
            self.advance()
            due = next_tick(self.journal.book)
            if due is None or due > until:
                self.clock.advance_to(until)
                return
            self.clock.advance_to(max(due, self.clock.now()))
            self.say(Tick())
        raise AssertionError("time goes round in circles")

    def advance(self) -> None:
        executor = Executor(self.journal, self.journal.book, self.setup, self.clock, Random(7))
        for state in list(self.journal.book.active()):
            asyncio.run(executor.advance(state.id))

    def approved(self) -> ProposalState:
        state = self.happens()
        assert state.phase == "offered"
        self.tell(state, "approve")
        self.pass_time(timedelta(0))
        return state

    def promotions(self) -> list[ProposalState]:
        return [state for state in self.journal.book.proposals.values() if state.trigger.rule == RULE]

    def promote(self) -> None:
        """To ``hold``: five that went well, and the person's yes."""
        for _ in range(5):
            self.approved()
        (asked,) = self.promotions()
        self.tell(asked, "approve")
        self.pass_time(timedelta(0))

    @property
    def level(self) -> str:
        found = self.journal.book.experience.tracks.get(PATTERN)
        return found.level if found else ""


def begun(world: World) -> Iterator[str]:
    return (entry.actor for entry in world.log.entries if entry.type == "run.started")


def test_five_approvals_that_went_well_over_two_weeks_are_proposed_as_a_promotion() -> None:
    world = World()
    for _ in range(4):
        world.approved()
    assert world.promotions() == []
    world.approved()
    (asked,) = world.promotions()
    assert asked.phase == "offered"
    assert (
        asked.title
        == f"Do it without asking, an hour after telling you: {PATTERN} (went well 5 times since 2025-03-07)"
    )
    assert world.level == "ask"


def test_fast_approvals_wait_for_the_two_weeks() -> None:
    world = World()
    for _ in range(5):
        world.happens(timedelta(hours=1))
        world.tell(list(world.journal.book.proposals.values())[-1], "approve")
        world.advance()
    assert world.promotions() == []
    world.pass_time(timedelta(days=14))
    assert len(world.promotions()) == 1


def test_with_the_persons_yes_it_begins_by_itself_after_the_hold_and_not_before() -> None:
    world = World()
    world.promote()
    assert world.level == "hold"
    state = world.happens()
    assert state.phase == "offered"
    world.pass_time(HOLD - timedelta(seconds=1))
    assert state.phase == "offered"
    world.pass_time(timedelta(seconds=1))
    assert (state.phase, [*begun(world)][-1]) == ("done", "autonomy")
    assert audit.verify(world.log.entries) == []
    assert world.journal.book.standing("invoice-unpaid").useful == 5


def test_ten_more_earn_the_next_level_which_is_asked_for_too() -> None:
    world = World()
    world.promote()
    for _ in range(10):
        world.happens()
    world.pass_time(timedelta(days=1))
    asked = world.promotions()[-1]
    assert (len(world.promotions()), asked.trigger.values["level"].v) == (2, "auto")
    world.tell(asked, "approve")
    assert world.level == "auto"
    assert world.happens().phase == "done"


def test_a_promotion_that_is_not_wanted_is_not_asked_for_again() -> None:
    world = World()
    for _ in range(5):
        world.approved()
    world.tell(world.promotions()[0], "reject")
    for _ in range(5):
        world.approved()
    assert (len(world.promotions()), world.level) == (1, "ask")


@pytest.mark.parametrize("how", ["reject", "edit", "wrong", "lie", "no", "stopped"])
def test_one_bad_outcome_ends_it_at_once(how: str) -> None:
    script: list[Behaviour] = ["ok"] * 5 + (["lie"] if how == "lie" else ["no"] if how == "no" else [])
    world = World(script)
    world.promote()
    state = world.happens()
    match how:
        case "reject":
            world.tell(state, "reject")
        case "edit":
            world.tell(state, "edit", step="s1", args={"text": "Something else"})
        case "wrong":
            world.pass_time(HOLD)
            world.tell(state, "wrong", step="s1")
        case "stopped":
            world.say(world.command("standing", "revoke", id="invoice-unpaid"))
        case _:
            world.pass_time(HOLD)
            for _ in range(5):
                world.clock.advance_to(world.clock.now() + timedelta(minutes=2))
                world.advance()
    assert world.level == "ask"
    other = world.happens()
    world.pass_time(timedelta(days=3))
    assert other.phase == "offered"


def test_what_has_begun_by_itself_stops_asking_nothing_when_the_level_is_lost_before_the_effect() -> None:
    world = World()
    world.promote()
    state = world.happens()
    world.clock.advance_to(world.clock.now() + HOLD)
    world.say(Tick())
    assert state.phase == "running"
    world.say(world.command("standing", "revoke", id=PATTERN))
    before = len(world.ledger.landed())
    world.advance()
    assert len(world.ledger.landed()) == before
    assert [live.phase for live in state.steps.values()] == ["gated"]


def test_nothing_begins_by_itself_while_everything_is_stopped() -> None:
    world = World()
    world.promote()
    world.say(world.command("standing", "stop_everything"))
    state = world.happens()
    world.pass_time(timedelta(days=1))
    assert state.phase == "offered"
    world.say(world.command("standing", "resume_everything"))
    world.pass_time(timedelta(0))
    assert state.phase == "done"


def test_what_reaches_others_earns_nothing() -> None:
    world = World(effect="outbound")
    for _ in range(6):
        state = world.happens()
        world.tell(state, "approve")
        world.advance()
        for uid, live in state.steps.items():
            if live.gate is not None:
                world.tell(state, "confirm", live.gate.digest, step=uid)
        world.advance()
        assert state.phase == "done"
    world.pass_time(timedelta(days=30))
    assert (world.promotions(), world.level) == ([], "")
