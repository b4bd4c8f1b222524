"""Planning through the real client against a server on the loopback that goes wrong in every known way: each ends as
the design says, with the same gates and risk, and no byte of outside text on the wire."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import SecretStr

from actions.model import Server, ServerModel
from actions.planning.asker import Asker
from actions.planning.playbook_loader import load_all
from actions.planning.spending import ModelSettings
from actions.policy import audit
from actions.proposal.propose import Tick, decide
from actions.proposal.state import ProposalState
from actions.setup import Setup
from actions.testing.canary import CANARY, NOW, PLAN, trigger
from actions.testing.desk import Desk
from actions.testing.memory import MemoryLog
from actions.testing.modelscript import Mode, script
from actions.testing.modelserver import ModelServer, model_server
from schemas import ids
from schemas.clock import ManualClock

MAY_TAKE_S = 60.0
HANGS_AFTER_S = 0.5


@dataclass
class Ended:
    state: ProposalState
    log: MemoryLog
    server: ModelServer

    @property
    def author(self) -> str:
        return self.state.plan.planner if self.state.plan else ""

    @property
    def why(self) -> str:
        return self.state.plan.reasons[-1] if self.state.plan else ""


async def _planned(mode: Mode, folder: Path) -> Ended:
    clock, log = ManualClock(NOW), MemoryLog()
    tools = Desk(folder, clock).registry()
    timeout_s = HANGS_AFTER_S if mode == "timeout" else MAY_TAKE_S
    limits = ModelSettings(
        "small", "127.0.0.1", timeout_s=timeout_s, tokens_per_plan=1_000_000, tokens_per_day=1_000_000
    )
    setup = Setup(load_all(tools), tools, model=limits)
    journal, wanted = log.open("ann"), trigger()
    proposal = ids.proposal_id("ann", wanted.id)
    async with model_server(script(mode, PLAN)) as server:
        model = ServerModel(Server(server.base_url, "small", SecretStr("sk-1")), clock)
        await journal.append(decide(journal.book, wanted, clock.now(), setup))
        while journal.book.proposals[proposal].planning:
            when = await Asker(journal, journal.book, setup, model, clock).advance(proposal)
            clock.advance_to(when or clock.now())
            await journal.append(decide(journal.book, Tick(), clock.now(), setup))
        await model.close()
    return Ended(journal.book.proposals[proposal], log, server)


@pytest.fixture
def planned(tmp_path: Path) -> Callable[[Mode], Ended]:
    return lambda mode: asyncio.run(_planned(mode, tmp_path / mode))


ENDS: list[tuple[Mode, str]] = [
    ("good", ""), ("repaired", ""), ("lie-about-risk", ""),
    ("invalid-json", "no whole JSON object"), ("unknown-tool", "no tool"), ("cycle", "wait for one another"),
    ("wrong-types", "does not fit here"), ("endless-repair", "no tool"), ("truncated", "no whole JSON object"),
    ("timeout", "took too long"), ("cut-stream", "no whole JSON object"), ("polite-cut", "no whole JSON object"),
    ("endless", "did not end"), ("refusal", "refused"), ("429", "wanted us to wait"), ("401", "refused the key"),
    ("500", "failed"),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "why"), ENDS, ids=[mode for mode, _ in ENDS])
def test_each_mode_ends_as_a_plan_or_as_a_reminder_that_says_why(
    planned: Callable[[Mode], Ended], mode: Mode, why: str
) -> None:
    ended = planned(mode)
    assert ended.state.phase == "offered"
    if why:
        assert ended.author == "reminder"
        assert ended.why.startswith("only a reminder: I could not plan this safely (")
        assert why in ended.why
    else:
        assert ended.author == "model:small@2"
    assert CANARY.encode() not in b"".join(ended.server.raw)
    asked = [entry for entry in ended.log.entries if entry.type == "model.asked"]
    sizes = [entry.body["bytes"] for entry in asked]
    # what is given up after half a second may not have reached the server on a busy machine
    assert mode == "timeout" or sizes == [len(raw) for raw in ended.server.raw]
    assert audit.verify(ended.log.entries) == []


def test_a_lie_about_risk_leaves_risk_and_gates_as_the_manifests_have_them(planned: Callable[[Mode], Ended]) -> None:
    honest, lying = planned("good").state.plan, planned("lie-about-risk").state.plan
    assert honest is not None
    assert lying is not None
    assert honest == lying
    assert (lying.risk, [step.gate for step in lying.steps]) == ("low", ["plan", "none", "plan"])
