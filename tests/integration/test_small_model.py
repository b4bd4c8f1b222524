"""Plans by a small real model, through a real llama.cpp server: minutes of a processor, so only at night."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from actions.model import Server, ServerModel
from actions.planning.asker import Asker
from actions.planning.playbook_loader import load_all
from actions.planning.spending import ModelSettings
from actions.proposal.propose import Tick, decide
from actions.proposal.state import ProposalState
from actions.setup import Setup
from actions.testing.canary import CANARY, NOW, trigger
from actions.testing.desk import Desk
from actions.testing.memory import MemoryLog
from schemas import ids
from schemas.clock import ManualClock
from tests.peers.process import provided
from tests.peers.small_model import NAME, small_model

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(3600)]

GOAL = "Add the day on which it expires to the calendar, wait until 14 days before it, then notify the owner."


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from provided(small_model, tmp_path_factory.mktemp("llama"))


async def planned(url: str, goal: str, folder: Path) -> tuple[ProposalState, MemoryLog]:
    """What a real model makes of a rule's goal, in at most three rounds."""
    clock, log = ManualClock(NOW), MemoryLog()
    tools = Desk(folder, clock).registry()
    limits = ModelSettings(NAME, "127.0.0.1", timeout_s=1200.0, patience=timedelta(hours=1), tokens_per_plan=200_000)
    setup = Setup(load_all(tools), tools, model=limits)
    journal = log.open("ann")
    wanted = trigger(asks=goal)
    await journal.append(decide(journal.book, wanted, clock.now(), setup))
    proposal = ids.proposal_id("ann", wanted.id)
    model = ServerModel(Server(url, NAME, SecretStr("")), clock)
    await Asker(journal, journal.book, setup, model, clock).advance(proposal)
    await model.close()
    await journal.append(decide(journal.book, Tick(), clock.now(), setup))
    return journal.book.proposals[proposal], log


def test_a_small_model_answers_in_the_shape_of_a_plan_and_it_ends_safely(url: str, tmp_path: Path) -> None:
    """Whether its plan is sound is up to it; that nothing unsound is offered is up to us."""
    state, log = asyncio.run(planned(url, GOAL, tmp_path))
    asked = [entry.body for entry in log.entries if entry.type == "model.asked"]
    ends = [entry.body["outcome"] for entry in log.entries if entry.type == "model.answered"]
    assert asked[0]["rung"] == "strict"
    assert "answer" in ends
    assert CANARY not in str(asked)
    assert state.phase in ("offered", "needs_input")
    assert state.plan is None or state.plan.planner.startswith(("model:", "playbook:", "reminder"))
