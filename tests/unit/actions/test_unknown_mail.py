"""A mail of which nobody knows whether it went: after the person's yes, the wait for its answer begins all the same."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from actions.planning.playbook import Playbook
from actions.proposal.propose import Input, decide
from actions.proposal.state import ProposalState
from actions.run.executor import Executor
from actions.setup import Setup
from actions.testing.household import OWNER, START, trigger
from actions.testing.mailbox import MemoryMailbox, MemoryMailboxes
from actions.testing.memory import MemoryLog
from actions.tools.mailbox import parsed
from actions.tools.send import MailSend
from actions.tools.tool import Registry
from actions.tools.tree import Tree
from actions.tools.wait import REPLY, Wait
from schemas import ids
from schemas.clock import ManualClock
from schemas.command import Command, Verb
from schemas.errors import OutcomeUnknown
from schemas.journal import JournalEntry
from schemas.model import Json
from schemas.value import Integrity, Value

PLAYBOOK = Playbook.model_validate(
    {
        "id": "pay", "version": 1, "title": "Write", "sha": "0" * 64,
        "slots": {"to": {"type": "Email", "from": ["party.address"]}},
        "steps": [
            {"id": "s1", "tool": "mail.send",
             "args": {"to": {"slot": "to"}, "subject": {"text": "Hello"}, "body": {"text": "Are you there?"}}},
            {"id": "s2", "tool": "wait.reply", "args": {"message_id": {"ref": "s1.message_id"}}},
        ],
    }
)  # fmt: skip


@dataclass
class Silent(MemoryMailbox):
    """It takes the letter and says nothing, nor lets anybody look whether it is there."""

    async def send(self, letter: bytes, to: str, key: str) -> None:
        await super().send(letter, to, key)
        raise OutcomeUnknown("the line was lost")

    async def sent(self, key: str) -> bytes | None:
        if self.outgoing:
            raise OutcomeUnknown("the line was lost")
        return None


@dataclass
class Mailboxes(MemoryMailboxes):
    """``is_known``: whether the address is known without asking the provider."""

    is_known: bool = True

    def address(self, account: str) -> str:
        return super().address(account) if self.is_known else ""


class Desk:
    def __init__(self, folder: Path) -> None:
        self.clock, self.log = ManualClock(START), MemoryLog()
        self.box = Silent()
        self.boxes = Mailboxes(self.box)
        send = MailSend(self.boxes, Tree([folder]), self.clock)
        self.setup = Setup({"pay": PLAYBOOK}, Registry([send, Wait(REPLY)]))
        self.journal = self.log.open(OWNER)
        office = Value(v="office@office.example", type="Email", integrity=Integrity.USER)
        self.say(trigger(values={"party.address": office}))
        self.tell("approve", self.state.digest)
        self.go()
        self.tell("confirm", self.state.step("s1").gate.digest, step="s1")  # type: ignore[union-attr]  # it asks
        self.go()

    @property
    def state(self) -> ProposalState:
        (state,) = self.journal.book.proposals.values()
        return state

    @property
    def waits_for(self) -> Json:
        """The message that an answer must name."""
        awaits = self.state.step("s2").awaits
        assert awaits is not None
        ((field, op, value),) = ((test.field, test.op, test.value) for test in awaits.tests)
        assert (field, op) == ("in_reply_to", "is")
        return value

    def go(self) -> None:
        """Until it waits for the person, for an answer, or has ended."""

        async def forward() -> None:
            executor = Executor(self.journal, self.journal.book, self.setup, self.clock, Random(7))
            for _ in range(40):
                when = await executor.advance(self.state.id)
                if when is None or self.state.step("s2").phase == "waiting":
                    return
                self.clock.advance_to(max(when, self.clock.now()))

        asyncio.run(forward())

    def say(self, said: Input) -> list[JournalEntry]:
        return asyncio.run(self.journal.append(decide(self.journal.book, said, self.clock.now(), self.setup)))

    def tell(self, verb: Verb, digest: str, **args: Json) -> None:
        command = Command(
            id=ids.command_id(self.state.id, verb, digest), owner=OWNER, who=OWNER, channel="cli", verb=verb,
            proposal=self.state.id, digest=digest, args=args, at=self.clock.now(),
        )  # fmt: skip
        self.say(command)

    def answer(self, **args: Json) -> None:
        assert self.state.step("s1").phase == "asked"
        self.tell("answer", self.state.step("s1").question, step="s1", **args)
        self.go()


def test_after_a_yes_it_waits_for_an_answer_to_the_very_mail_that_went(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.answer(happened=True)
    ((_, letter),) = desk.box.outgoing
    assert desk.waits_for == parsed(letter)["Message-ID"]
    assert desk.state.step("s1").out["message_id"].integrity == Integrity.SYSTEM


def test_what_the_person_knows_better_counts_more(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.answer(happened=True, out={"message_id": "<17@provider.example>"})
    assert desk.waits_for == "<17@provider.example>"


def test_where_the_address_is_not_known_the_wait_is_left_out_and_says_so(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.boxes.is_known = False
    desk.answer(happened=True)
    assert (desk.state.step("s2").phase, desk.state.step("s2").code) == ("skipped", "missing_input")


@pytest.mark.parametrize("out", [{}, {"message_id": "<17@provider.example>"}])
def test_a_no_gives_nothing_and_it_is_sent_again(tmp_path: Path, out: dict[str, Json]) -> None:
    desk = Desk(tmp_path)
    desk.answer(happened=False, out=out)
    (answered,) = (entry for entry in desk.log.entries if entry.type == "human.answered")
    assert answered.body["out"] == {}
    assert len([entry for entry in desk.log.entries if entry.type == "step.intent"]) > 1
