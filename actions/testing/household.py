"""A small world to act in: a trigger, a playbook over the misbehaving bank, a person who answers from the ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Literal

from actions.journal import Draft
from actions.planning.playbook import Playbook
from actions.policy import audit
from actions.proposal.propose import Input, Tick, decide
from actions.proposal.state import ProposalState, StepState
from actions.run.executor import Executor
from actions.run.replan import Replanner
from actions.settings import ActSettings
from actions.setup import Setup
from actions.testing.bank import BankTool, Behaviour, Ledger, manifest
from actions.testing.memory import MemoryJournal, MemoryLog
from actions.testing.points import nowhere
from actions.tools.tool import Arg, Registry, Tool
from actions.tools.wait import all_waits
from schemas import ids
from schemas.clock import ManualClock
from schemas.command import Command, Verb
from schemas.model import Json
from schemas.plan import EffectClass, Ref, Undo
from schemas.trigger import Evidence, Explanation, Trigger
from schemas.value import Integrity, Value

START = datetime(2025, 3, 3, 9, tzinfo=UTC)
OWNER = "ann"
Shape = Literal["small", "full", "wide"]


def trigger(number: int = 1, **changes: object) -> Trigger:
    """A rule fired for an unpaid invoice; ``number`` makes the occurrence, the key stays."""
    amount = {"amount": "82.50", "currency": "EUR"}
    base = Trigger(
        id=ids.trigger_id("invoice-unpaid", "1", "acme-17", str(number)),
        owner=OWNER,
        rule="invoice-unpaid",
        revision="1",
        key="acme-17",
        occurrence=str(number),
        fired_at=START,
        title="Pay Acme 82.50 EUR by 20 March",
        playbook="pay",
        deadline_at=START + timedelta(days=17),
        evidence=(
            Evidence(event="ev1", kind="mail.received", title="Invoice 17", occurred_at=START, quote="82.50 EUR"),
        ),
        values={
            "party.name": Value(v="Acme", type="Text", sources=("ev1",), integrity=Integrity.KNOWN),
            "fact.invoice.amount": Value(v=amount, type="Money", sources=("ev1",), integrity=Integrity.KNOWN),
        },
        explanation=Explanation(rule="invoice-unpaid", revision="1", outcome="fired", reason="lead_reached", at=START),
    )
    return base.model_copy(update=changes)


_SLOTS: dict[str, object] = {
    "payee": {"type": "Text", "from": ["party.name"], "required": True},
    "amount": {"type": "Money", "from": ["fact.invoice.amount"], "required": True},
}
_PAY = {"tool": "bank.pay", "args": {"payee": {"slot": "payee"}, "amount": {"slot": "amount"}}}
_STEPS: dict[Shape, list[dict[str, object]]] = {
    "small": [{"id": "s1", **_PAY}],
    "full": [
        {"id": "s1", "tool": "bank.invoice", "args": {"payee": {"slot": "payee"}}},
        {"id": "s2", "tool": "bank.pay", "args": {"payee": {"ref": "s1.payee"}, "amount": {"ref": "s1.amount"}}},
        {"id": "s3", "tool": "wait.until", "args": {"until": "2025-03-05T09:00:00+00:00"}, "after": ["s2"]},
        {"id": "s4", "tool": "bank.mail",
         "args": {"payee": {"text": "paid {s2.payment_id}"}, "amount": {"slot": "amount"}}},
        {"id": "s5", "tool": "bank.note", "args": {"payee": {"slot": "payee"}, "amount": {"slot": "amount"}},
         "after": ["s3", "s4"]},
    ],
    "wide": [
        {"id": "s1", **_PAY},
        {"id": "s2", "tool": "post.send", "args": _PAY["args"]},
        {"id": "s3", "tool": "desk.file", "args": _PAY["args"]},
        {"id": "s4", "tool": "form.submit", "args": _PAY["args"]},
        {"id": "s5", "tool": "bank.note", "args": _PAY["args"]},
        {"id": "s6", "tool": "bank.invoice", "args": {"payee": {"slot": "payee"}}},
    ],
}  # fmt: skip


EFFECTS: dict[Shape, list[str]] = {
    "small": ["s1"],
    "full": ["s2", "s4", "s5"],
    "wide": ["s1", "s2", "s3", "s4", "s5"],
}


def playbook(shape: Shape, steps: Sequence[Mapping[str, object]] = ()) -> Playbook:
    """``steps`` take the place of the shape's."""
    chosen = list(steps) or _STEPS[shape]
    return Playbook.model_validate(
        {"id": "pay", "version": 1, "title": "Pay", "slots": _SLOTS, "steps": chosen, "sha": "0" * 64}
    )


Make = Callable[[MemoryJournal, Setup, ManualClock], Executor]


def plain_executor(journal: MemoryJournal, setup: Setup, clock: ManualClock) -> Executor:
    return Executor(journal, journal.book, setup, clock, Random(7))


@dataclass
class Household:
    """One world over several lives of the process. ``point`` is where the present life may end."""

    effect_class: EffectClass
    shape: Shape = "full"
    scripts: Mapping[str, Iterable[Behaviour]] = field(default_factory=dict)
    latency: timedelta = timedelta(0)
    make: Make = plain_executor
    extra: Iterable[Tool] = ()
    settings: ActSettings = field(default_factory=ActSettings)
    steps: Sequence[Mapping[str, object]] = ()
    """Of the playbook, in place of the shape's."""
    replanner: Replanner | None = None
    undo_window_s: float | None = None
    """Within it, payments, mails and notes can be taken back by ``bank.refund``; None: they cannot."""

    def __post_init__(self) -> None:
        self.clock = ManualClock(START)
        self.ledger = Ledger(self.clock)
        self.log = MemoryLog()
        self.tools = {
            tool.manifest.name: tool
            for tool in (
                self._bank("bank.invoice", "pure"),
                self._bank("bank.pay", self.effect_class),
                self._bank("bank.mail", "reconcile"),
                self._bank("bank.note", "keyed"),
                self._bank("bank.refund", self.effect_class, args={"payment": Arg(type="Text")},
                           says="Take back {payment}", effect="write_self"),
                self._bank("post.send", "reconcile"),
                self._bank("desk.file", "keyed"),
                self._bank("form.submit", "at_most_once"),
            )
        }  # fmt: skip
        books = {"pay": playbook(self.shape, self.steps)}
        tools = Registry([*self.tools.values(), *all_waits(), *self.extra])
        self.setup = Setup(books, tools, settings=self.settings, replanner=self.replanner)
        self.proposal = ids.proposal_id(OWNER, trigger().id)
        self.questions = 0
        self._said = 0

    def _bank(self, name: str, effect_class: EffectClass, **changes: object) -> BankTool:
        if self.undo_window_s is not None and effect_class != "pure" and name != "bank.refund":
            back = {"payment": Ref(step="self", field="payment_id")}
            undo = Undo(tool="bank.refund", args=back, window_s=self.undo_window_s)
            changes |= {"undo": undo, "minted": ("payment_id",)}
        made = manifest(name, effect_class, **changes)
        return BankTool(made, self.ledger, self.scripts.get(name, ()), latency=self.latency)

    @property
    def state(self) -> ProposalState:
        return self.log.open(OWNER).book.proposals[self.proposal]

    def mark(self) -> int:
        """What a death leaves behind, and nothing of who wrote it: worlds with the same mark have the same future."""
        entries = tuple((entry.stream, entry.type, entry.at, repr(entry.body)) for entry in self.log.entries)
        asked = tuple(len(self.tools[name].calls) for name in self.scripts)
        return hash((self.clock.now(), entries, asked, repr(self.ledger.rows), repr(self.ledger.transit)))

    def rows(self, key_of: str) -> int:
        """Times that a step's effect is in the ledger, when everything has landed."""
        self.clock.advance_to(self.clock.now() + timedelta(hours=1))
        plan = self.state.plan
        assert plan is not None
        key = ids.idempotency_key(plan.run, plan.step(key_of).uid)
        return sum(row.key.startswith(key) for row in self.ledger.landed())

    async def live(self, point: Callable[[str], None] = nowhere) -> None:
        """One life of the process: until the run has ended, or until ``point`` kills it."""
        for tool in self.tools.values():
            tool.point = point
        journal = self.log.open(OWNER, point)
        executor = self.make(journal, self.setup, self.clock)
        await self.say(journal, trigger())
        for _ in range(200):
            state = journal.book.proposals[self.proposal]
            if state.phase in ("done", "failed", "stopped"):
                return
            command = self.answer(state)
            if command:
                await self.say(journal, command)
            else:
                when = await executor.advance(self.proposal)
                self.clock.advance_to(when or self.clock.now())
        raise AssertionError(f"the run goes on for ever: {journal.book.proposals[self.proposal]}")

    async def say(self, journal: MemoryJournal, said: Input) -> list[Draft]:
        drafts = decide(journal.book, said, self.clock.now(), self.setup)
        if drafts:
            await journal.append(drafts)
        return drafts

    async def tick(self, journal: MemoryJournal) -> list[Draft]:
        return await self.say(journal, Tick())

    def answer(self, state: ProposalState) -> Command | None:
        """A person who approves, confirms what is asked, and tells the truth."""
        if state.phase == "offered" or state.revision:
            return self.command("approve", digest=state.digest)
        for uid, live in state.steps.items():
            if live.gate and state.phase != "stopping":
                return self.command("confirm", digest=live.gate.digest, step=uid)
            if live.phase == "asked":
                return self._truth(uid, live)
        return None

    def _truth(self, uid: str, live: StepState) -> Command:
        self.questions += 1
        happened = self.ledger.find(live.key) is not None
        out: Json = {"payment_id": "seen by me"} if happened else {}
        return self.command("answer", digest=live.question, step=uid, happened=happened, out=out)

    def command(self, verb: Verb, *, digest: str = "", who: str = OWNER, channel: str = "cli", **args: Json) -> Command:
        self._said += 1
        return Command(
            id=ids.command_id(self.proposal, verb, str(self._said)),
            owner=OWNER,
            who=who,
            channel=channel,
            verb=verb,
            proposal=self.proposal,
            digest=digest,
            args=args,
            at=self.clock.now(),
        )

    def faults(self) -> list[str]:
        """What is wrong with this world: an effect twice or lost, a step not done, a journal that does not hold."""
        steps = EFFECTS[self.shape]
        found = [f"{step}: {n} effects" for step in steps if (n := self.rows(step)) != 1]
        state = self.state
        if state.phase != "done":
            found.append(f"the run ended {state.phase}: {state.reason} {state.says}")
        found += [f"{uid}: {live.phase}" for uid, live in state.steps.items() if live.phase != "ok"]
        return found + [str(fault) for fault in audit.verify(self.log.entries)]
