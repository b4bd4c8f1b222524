"""A goal in the same words makes no second proposal while the first one is open, unless the person wants another."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from actions.journal import Draft
from actions.planning.playbook_loader import load_all
from actions.planning.spending import ModelSettings
from actions.policy import audit
from actions.proposal.propose import Input, decide
from actions.proposal.state import ProposalState
from actions.setup import Setup
from actions.testing.canary import NOW
from actions.testing.desk import Desk
from actions.testing.memory import MemoryLog
from schemas import ids
from schemas.clock import ManualClock
from schemas.command import Command, Verb
from schemas.journal import EntryType
from schemas.model import Json

OWNER, GOAL = "ann", "Water the plants"


@dataclass
class World:
    """One owner who says things; nobody carries anything out."""

    setup: Setup
    log: MemoryLog = field(default_factory=MemoryLog)
    now = NOW

    def __post_init__(self) -> None:
        self.journal = self.log.open(OWNER)

    @property
    def proposals(self) -> list[ProposalState]:
        return list(self.journal.book.proposals.values())

    def say(self, verb: Verb, proposal: str = "goal", digest: str = "", **args: Json) -> Draft:
        """The first entry that it leads to."""
        id_ = ids.command_id(proposal, verb, str(len(self.log.entries)))
        return self.take(Command(
            id=id_, owner=OWNER, who=OWNER, channel="cli", verb=verb, proposal=proposal, digest=digest, args=args,
            at=self.now,
        ))  # fmt: skip

    def do(self, goal: str = GOAL, **args: Json) -> Draft:
        return self.say("do", goal=goal, **args)

    def take(self, said: Input) -> Draft:
        drafts = decide(self.journal.book, said, self.now, self.setup)
        asyncio.run(self.journal.append(drafts))
        return drafts[0]

    def ends(self, type_: EntryType) -> None:
        """As the executor would say it."""
        body: dict[str, Json] = {"reason": "", "says": "", "unseen": []}
        asyncio.run(self.journal.append([Draft(self.proposals[0].id, type_, self.now, "executor", "", body)]))

    def reaches(self, phase: str) -> None:
        """The first proposal is brought there."""
        state = self.proposals[0]
        match phase:
            case "snoozed":
                self.say("snooze", state.id, until=(self.now + timedelta(hours=1)).isoformat())
            case "rejected":
                self.say("reject", state.id)
            case "running" | "paused" | "stopping" | "stopped" | "done":
                self.say("approve", state.id, state.digest)
        match phase:
            case "paused":
                self.say("pause", state.id)
            case "stopping":
                self.say("stop", state.id)
            case "stopped":
                self.say("stop", state.id)
                self.ends("run.stopped")
            case "done":
                self.ends("run.done")
            case "over":
                assert state.expires_at is not None
                self.now = state.expires_at


@pytest.fixture
def world(tmp_path: Path) -> World:
    tools = Desk(tmp_path, ManualClock(NOW)).registry()
    return World(Setup(load_all(tools), tools))


@pytest.mark.parametrize(
    ("phase", "does"),
    [
        ("offered", "it is offered"),
        ("snoozed", "it is snoozed"),
        ("running", "it is running, 0 of 1 steps have ended"),
        ("paused", "it is paused, 0 of 1 steps have ended"),
    ],
)
def test_the_person_is_told_of_the_open_one_and_what_it_does(world: World, phase: str, does: str) -> None:
    world.do()
    world.reaches(phase)
    told = world.do("water  the PLANTS", by="2027-01-01")
    (state,) = world.proposals
    assert (told.type, told.body["code"]) == ("command.refused", "exists")
    assert told.body["message"] == f"proposal {state.id[:8]} is for that already: {does}"
    assert "--another" in str(told.body["remedy"])
    assert audit.verify(world.log.entries) == []


def test_one_that_lacks_a_fact_is_open_too(world: World) -> None:
    world.do("pay the plumber's bill")
    assert world.do("pay the plumber's bill").body["message"].endswith("it needs an answer of yours")


def test_one_that_a_model_is_asked_about_is_open_too(world: World) -> None:
    world.setup = Setup(world.setup.playbooks, world.setup.tools, model=ModelSettings("scripted", "127.0.0.1"))
    world.do()
    assert world.do().body["message"].endswith("a plan is being made")


@pytest.mark.parametrize("phase", ["rejected", "over", "stopping", "stopped", "done"])
def test_one_that_is_over_keeps_nobody_from_saying_it_again(world: World, phase: str) -> None:
    world.do()
    world.reaches(phase)
    assert world.do().type == "proposal.drafted"
    assert len(world.proposals) == 2


def test_other_words_or_another_one_that_is_wanted_make_a_second_proposal(world: World) -> None:
    world.do()
    assert world.do("Water the plants twice").type == "proposal.drafted"
    assert world.do(another=False).type == "command.refused"
    assert world.do(another=True).type == "proposal.drafted"
    assert [state.title for state in world.proposals] == [GOAL, "Water the plants twice", GOAL]
