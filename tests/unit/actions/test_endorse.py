"""What was taken out of a letter comes back by the person's word alone, and the commands that are offered say so."""

from __future__ import annotations

import asyncio
from random import Random

from actions.planning.playbook import Playbook
from actions.proposal import render
from actions.proposal.propose import decide
from actions.proposal.state import ProposalState
from actions.run.executor import Executor
from actions.setup import Setup
from actions.testing.bank import BankTool, Ledger, manifest
from actions.testing.household import OWNER, START, trigger
from actions.testing.memory import MemoryLog
from actions.tools.tool import Arg, Registry
from schemas import ids
from schemas.clock import ManualClock
from schemas.command import Command, Verb
from schemas.model import Json
from schemas.value import Integrity, Value

PAGE = "https://office.example/form"
PLAYBOOK = Playbook.model_validate(
    {
        "id": "pay", "version": 1, "title": "Write", "sha": "0" * 64,
        "slots": {"to": {"type": "Email", "from": ["party.address"]}, "said": {"type": "Text", "from": ["title"]}},
        "steps": [
            {"id": "s1", "tool": "letter.send", "args": {"to": {"slot": "to"}, "text": {"text": "You wrote: {said}"}}}
        ],
    }
)  # fmt: skip


class Desk:
    """One letter that quotes what came from outside."""

    def __init__(self, said: str) -> None:
        self.clock, self.log = ManualClock(START), MemoryLog()
        self.ledger = Ledger(self.clock)
        args = {"to": Arg(type="Email"), "text": Arg(type="Text")}
        tool = BankTool(manifest("letter.send", "keyed", effect="outbound", args=args), self.ledger)
        self.setup = Setup({"pay": PLAYBOOK}, Registry([tool]))
        self.journal = self.log.open(OWNER)
        values = {
            "party.address": Value(v="office@office.example", type="Email", integrity=Integrity.USER),
            "title": Value(v=said, type="Text", sources=("ev1",), integrity=Integrity.UNTRUSTED),
        }
        self.say(trigger(values=values))
        self.tell("approve", self.state.digest)

    @property
    def state(self) -> ProposalState:
        (state,) = self.journal.book.proposals.values()
        return state

    @property
    def verbs(self) -> tuple[str, ...]:
        return render.proposal(self.state, self.setup).verbs

    @property
    def gate(self) -> str:
        (live,) = self.state.steps.values()
        assert live.gate is not None
        return live.gate.digest

    def say(self, said: object) -> None:
        async def go() -> None:
            drafts = decide(self.journal.book, said, self.clock.now(), self.setup)
            await self.journal.append(drafts)
            executor = Executor(self.journal, self.journal.book, self.setup, self.clock, Random(7))
            if self.state.phase == "running":
                await executor.advance(self.state.id)

        asyncio.run(go())

    def tell(self, verb: Verb, digest: str = "", **args: Json) -> None:
        command = Command(
            id=ids.command_id(self.state.id, verb, digest), owner=OWNER, who=OWNER, channel="cli", verb=verb,
            proposal=self.state.id, digest=digest, args=args, at=self.clock.now(),
        )  # fmt: skip
        self.say(command)


def test_what_was_taken_out_can_be_left_in_and_goes_only_after_it_was_shown_once_more() -> None:
    desk = Desk(f"Use {PAGE}")
    assert desk.verbs == ("confirm", "endorse", "edit", "pause", "stop", "abort")
    before = desk.gate
    desk.tell("endorse", before, step="s1", identifiers=[PAGE])
    assert desk.gate != before
    assert "endorse" not in desk.verbs, "nothing is left to be put back"
    assert desk.ledger.landed() == []
    desk.tell("confirm", desk.gate, step="s1")
    (row,) = desk.ledger.landed()
    assert row.args["text"] == f"You wrote: Use {PAGE}"
    assert desk.verbs == ("wrong",), "what was sent can still be called wrong"


def test_nothing_is_offered_to_be_put_back_where_nothing_was_taken_out() -> None:
    desk = Desk("Use the form")
    assert desk.verbs == ("confirm", "edit", "pause", "stop", "abort")


def test_what_was_called_wrong_stays_done() -> None:
    desk = Desk("Use the form")
    desk.tell("confirm", desk.gate, step="s1")
    desk.tell("wrong", step="s1", reason="the wrong office")
    assert [entry.type for entry in desk.log.entries][-1] == "step.wrong"
    assert desk.state.phase == "done"
