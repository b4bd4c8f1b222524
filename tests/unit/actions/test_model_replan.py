"""A run that cannot go on, and a model that is asked for another way: what is done stays, what goes beyond the approval
is asked again, and of the failure the model learns one word."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from actions.planning.modelreplan import ModelReplanner
from actions.planning.otherwise import PlaybookReplanner
from actions.planning.spending import ModelSettings
from actions.policy import audit
from actions.proposal.state import ProposalState
from actions.testing.bank import Behaviour
from actions.testing.household import OWNER, Household, plain_executor, trigger
from actions.testing.memory import MemoryJournal
from actions.testing.modelscript import Hang, Refusal, Script, Text, in_turn
from actions.testing.scriptedmodel import ScriptedModel
from schemas.journal import JournalEntry
from schemas.model import Json

PAY = {"payee": {"slot": "payee"}, "amount": {"slot": "amount"}}
STEPS: list[Mapping[str, object]] = [
    {"id": "s1", "tool": "bank.note", "args": PAY},
    {"id": "s2", "tool": "bank.pay", "args": PAY, "after": ["s1"]},
    {"id": "s3", "tool": "desk.file", "args": PAY, "after": ["s2"]},
]
FACTS: dict[str, Json] = {"payee": {"fact": "party.name"}, "amount": {"fact": "fact.invoice.amount"}}


def step(id_: str, tool: str, *after: str, args: dict[str, Json] | None = None) -> dict[str, Json]:
    return {
        "tool": tool, "id": id_, "depends_on": list(after), "args": args or FACTS, "when": None, "evidence": ["ev1"],
        "ask_first": False, "why": "another way",
    }  # fmt: skip


def says(*steps: dict[str, Json]) -> Text:
    return Text(json.dumps({"steps": list(steps), "questions": []}))


BY_MAIL = says(step("s4", "bank.mail", "s1"), step("s5", "desk.file", "s4"))


class World:
    def __init__(self, script: Script, behaviours: Sequence[Behaviour] = ("no",)) -> None:
        self.house = Household("keyed", "small", {"bank.pay": behaviours}, steps=STEPS)
        self.journal: MemoryJournal = self.house.log.open(OWNER)
        self.scripted = ScriptedModel(script, self.house.clock)
        replanner = ModelReplanner(
            PlaybookReplanner(), self.journal, self.journal.book, self.scripted, self.house.clock
        )
        model = ModelSettings("scripted", "127.0.0.1")
        self.house.setup = replace(self.house.setup, replanner=replanner, model=model)

    @property
    def state(self) -> ProposalState:
        return self.journal.book.proposals[self.house.proposal]

    def entries(self, type_: str) -> list[JournalEntry]:
        return [entry for entry in self.house.log.entries if entry.type == type_]

    def phases(self) -> dict[str, str]:
        assert self.state.plan is not None
        return {s.id: self.state.steps[s.uid].phase for s in self.state.plan.steps}

    async def approve(self) -> None:
        await self.house.say(self.journal, self.house.command("approve", digest=self.state.digest))

    async def go(self) -> None:
        executor = plain_executor(self.journal, self.house.setup, self.house.clock)
        for _ in range(60):
            when = await executor.advance(self.house.proposal)
            gates = [(uid, live.gate.digest) for uid, live in self.state.steps.items() if live.gate]
            for uid, digest in gates:
                await self.house.say(self.journal, self.house.command("confirm", digest=digest, step=uid))
            if when is None and not gates:
                return
            self.house.clock.advance_to(when or self.house.clock.now())
        raise AssertionError("it never rests")


def lived(script: Script, *, approvals: int = 1) -> World:
    world = World(script)

    async def life() -> None:
        await world.house.say(world.journal, trigger())
        for _ in range(approvals):
            await world.approve()
            await world.go()

    asyncio.run(life())
    assert audit.verify(world.house.log.entries) == []
    return world


def test_an_effect_that_the_model_adds_waits_for_the_person() -> None:
    world = lived(lambda body: BY_MAIL)
    assert world.state.revision is not None
    assert world.state.revision.reasons == ("s4 (bank.mail) was not in the plan that you approved",)
    assert len(world.house.tools["bank.mail"].calls) == 0


def test_what_is_done_is_not_done_again_and_a_kept_step_keeps_its_uid() -> None:
    world = lived(lambda body: BY_MAIL, approvals=2)
    assert (world.state.phase, world.phases()) == ("done", {"s1": "ok", "s4": "ok", "s3": "ok"})
    assert [len(world.house.tools[name].calls) for name in ("bank.note", "bank.mail", "desk.file")] == [1, 1, 1]
    offered = world.entries("proposal.offered")[0].body["plan"]
    revised = world.entries("plan.revised")[0].body["plan"]
    uids = [{s["id"]: s["uid"] for s in plan["steps"]} for plan in (offered, revised)]  # type: ignore[index,call-overload]  # JSON
    assert uids[0]["s3"] == uids[1]["s3"]
    assert world.state.plan is not None
    assert world.state.plan.planner == "model:scripted@2"


def test_the_model_learns_one_word_of_the_failure_and_no_outside_text() -> None:
    world = lived(lambda body: BY_MAIL)
    (request,) = world.scripted.requests
    told = request["messages"][1]["content"]
    assert "s2 (bank.pay) ended badly: denied" in told
    assert "- s1: bank.note" in told
    assert "- s1 bank.note ok payment_id=<s1.payment_id: Text>" in told, "what it gave is named by its place"
    sent = json.dumps(request)
    result = next(e for e in world.entries("step.result") if e.body["outcome"] == "failed")
    assert str(result.body["message"])
    assert str(result.body["message"]) not in sent
    assert "Acme" not in sent


def test_an_unsound_way_is_repaired_and_the_budget_knows_both_requests() -> None:
    world = lived(in_turn([says(step("s4", "bank.mail", "s9")), BY_MAIL]))
    assert world.state.revision is not None
    assert len(world.scripted.requests) == 2
    assert "/steps/1/depends_on/0: there is no step 's9'" in world.scripted.requests[1]["messages"][-1]["content"]
    assert len(world.journal.book.spending.requests) == 2


def test_doing_what_is_done_once_more_is_no_way() -> None:
    world = lived(lambda body: says(step("s4", "bank.note"), step("s5", "desk.file", "s4")))
    assert (world.state.phase, len(world.house.tools["bank.note"].calls)) == ("failed", 1)


def test_a_model_that_does_not_help_leaves_the_run_to_fail() -> None:
    for said in (Refusal(), Hang(), Text("no"), says()):
        world = lived(lambda body, said=said: said)  # type: ignore[misc]  # a script with its answer bound
        assert world.state.phase == "failed"
        assert world.phases()["s1"] == "ok"
