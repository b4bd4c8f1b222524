"""Whatever people, rules, time and crashes do between any two appends: no effect without a valid grant for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from actions import audit
from actions.executor import Executor
from actions.journal import Draft
from actions.move import Send
from actions.propose import Input, Tick, decide
from actions.state import ProposalState, StepState
from actions.testing.bank import BankTool, Behaviour
from actions.testing.household import OWNER, Household, trigger
from actions.testing.memory import MemoryJournal
from actions.testing.points import Crash
from actions.tools.tool import Args
from schemas import ids
from schemas.journal import JournalEntry
from schemas.model import Json
from schemas.plan import EffectClass, Fixed, Plan
from schemas.trigger import Retraction
from schemas.value import Integrity, Value

EVENTS = (
    "approve", "approve_old", "edit", "confirm", "confirm_wrong", "stop", "retract", "refresh", "repeat", "snooze",
    "reject", "never", "yes", "no", "tick", "minutes", "a_day", "weeks", "tamper", "die", "nothing",
    "pause", "resume", "abort", "retry",
)  # fmt: skip
SCRIPTS: tuple[Behaviour, ...] = ("ok", "fail_after", "fail_before", "slow", "not_sent", "lost")


class Watched(BankTool):
    """Looks at every call, from the journal alone, whether a person granted exactly this and has not taken it back."""

    def wrong(self, args: Args, key: str, entries: Sequence[JournalEntry]) -> str:
        intent = [entry for entry in entries if entry.type == "step.intent"][-1]
        stream = [entry for entry in entries if entry.stream == intent.stream]
        granted = [e for e in stream if e.type == "grant.issued" and grant_of(e)["id"] == intent.body["grant"]]
        if len(granted) != 1 or granted[0].actor != f"person:{OWNER}":
            return "nobody granted it"
        allowed = grant_of(granted[0])["args"]
        if not isinstance(allowed, dict) or {name: v["v"] for name, v in allowed.items()} != dict(args):  # type: ignore[index, call-overload]  # JSON
            return f"{allowed} were granted, {args} were sent"
        if not granted[0].at <= self.ledger.clock.now() < granted[0].at + timedelta(hours=24):
            return "the grant had expired"
        voided = [entry.type for entry in stream if entry.seq > granted[0].seq and entry.type in VOIDING]
        return f"it was void: {voided}" if voided else "" if intent.body["key"] == key else "another key"


VOIDING = (
    "grant.revoked", "run.stopping", "run.stopped", "proposal.retracted", "proposal.edited", "proposal.refreshed",
    "proposal.expired", "proposal.rejected", "plan.revised",
)  # fmt: skip


def grant_of(entry: JournalEntry) -> dict[str, Json]:
    grant = entry.body["grant"]
    assert isinstance(grant, dict)
    return grant


class Story(Household):
    """The household, with something happening at every append."""

    def __init__(self, effect_class: EffectClass, script: Sequence[Behaviour], events: Sequence[str]) -> None:
        super().__init__(effect_class, "small")
        self.events = list(events)
        self.number = 1
        self.wrongs: list[str] = []
        self.old = ""
        tool = Watched(self.tools["bank.pay"].manifest, self.ledger, script)
        self.watched = tool
        self.tools["bank.pay"] = tool
        self.setup.tools._tools["bank.pay"] = tool

    async def tell(self) -> None:
        """Lives, until everything has happened and nothing is left to do."""
        while True:
            journal = Eventful(self)
            executor = self.make(journal, self.setup, self.clock)
            try:
                if not journal.book.proposals:
                    await self.say(journal, trigger())
                if await self.lives(journal, executor):
                    return
            except Crash:
                continue

    async def lives(self, journal: Eventful, executor: Executor) -> bool:
        for _ in range(400):
            whens = [await executor.advance(state.id) for state in list(journal.book.active())]
            if self.events:
                await journal.happen()
            elif due := [when for when in whens if when]:
                self.clock.advance_to(min(due))
            else:
                return True
        raise AssertionError("the story never ends")

    def meant(self, event: str, state: ProposalState) -> Input | None:
        gates = [(uid, live.gate.digest) for uid, live in state.steps.items() if live.gate]
        asked = [(uid, live.question) for uid, live in state.steps.items() if live.question]
        self.proposal = state.id
        match event:
            case "approve":
                return self.command("approve", digest=state.digest)
            case "approve_old":
                return self.command("approve", digest=self.old)
            case "edit":
                self.old = state.digest
                return self.command("edit", digest=state.digest, step="s1", args={"amount": euros(self.number)})
            case "confirm" if gates:
                return self.command("confirm", step=gates[0][0], digest=gates[0][1])
            case "confirm_wrong" if gates:
                return self.command("confirm", step=gates[0][0], digest=self.old or "0" * 64)
            case "yes" | "no" if asked:
                return self.command("answer", step=asked[0][0], digest=asked[0][1], happened=event == "yes")
            case "stop" | "reject" | "never" | "pause" | "resume" | "abort":
                return self.command(event, digest=state.digest)
            case "retry":
                return self.command("retry", digest=state.digest, step="s1")
            case "snooze":
                return self.command("snooze", until=(self.clock.now() + timedelta(hours=2)).isoformat())
            case "retract":
                fired = state.trigger
                return Retraction(
                    id=ids.content_hash("retract", fired.id), owner=OWNER, trigger=fired.id, rule=fired.rule,
                    key=fired.key, at=self.clock.now(), reason="cancelled",
                )  # fmt: skip
            case "refresh" | "repeat":
                self.old, self.number = state.digest, self.number + 1
                dearer = Value(v=euros(self.number), type="Money", sources=("ev1",), integrity=Integrity.KNOWN)
                values = trigger().values | ({"fact.invoice.amount": dearer} if event == "refresh" else {})
                return trigger(self.number, values=values)
            case "tick":
                return Tick()
        return None


class Eventful(MemoryJournal):
    """After each append of anybody, the next thing of the story happens."""

    def __init__(self, story: Story) -> None:
        opened = story.log.open(OWNER)
        super().__init__(story.log, opened.book, story.log.epoch)
        self.story = story
        story.watched.point = self.watch

    def watch(self, name: str) -> None:
        if name.startswith("during call"):
            args, key = self.story.watched.calls[-1]
            self.story.wrongs += [self.story.watched.wrong(args, key, self.story.log.entries)]

    async def append(self, drafts: Sequence[Draft]) -> list[JournalEntry]:
        sealed = await super().append(drafts)
        if self.story.events:
            await self.happen()
        return sealed

    async def happen(self) -> None:
        event = self.story.events.pop(0)
        clock = self.story.clock
        match event:
            case "die":
                raise Crash(event)
            case "minutes" | "a_day" | "weeks":
                spans = {"minutes": timedelta(minutes=2), "a_day": timedelta(hours=25), "weeks": timedelta(days=20)}
                clock.advance_to(clock.now() + spans[event])
        state = list(self.book.proposals.values())[-1]
        if event == "tamper" and state.plan:
            state.plan = with_amount(state.plan, euros(999))
        said = self.story.meant(event, state)
        drafts = decide(self.book, said, clock.now(), self.story.setup) if said else []
        if drafts:
            await super().append(drafts)


def with_amount(plan: Plan, amount: Json) -> Plan:
    """What a bug, or somebody in our memory, might do to an approved plan."""
    more = {"amount": Fixed(value=Value(v=amount, type="Money", integrity=Integrity.USER))}
    steps = tuple(step.model_copy(update={"args": {**step.args, **more}}) for step in plan.steps)
    return plan.model_copy(update={"steps": steps})


def euros(number: int) -> Json:
    return {"amount": f"{number}.00", "currency": "EUR"}


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["keyed", "reconcile", "at_most_once"]),
    st.lists(st.sampled_from(SCRIPTS), max_size=3),
    st.lists(st.sampled_from(EVENTS), max_size=6),
    st.lists(st.sampled_from(EVENTS), max_size=14),
)
def test_no_effect_without_a_valid_grant_for_its_exact_arguments(
    effect_class: EffectClass, script: list[Behaviour], before: list[str], after: list[str]
) -> None:
    story = Story(effect_class, script, [*before, "approve", "nothing", "confirm", *after])
    asyncio.run(story.tell())
    assert [wrong for wrong in story.wrongs if wrong] == []
    assert audit.verify(story.log.entries) == []
    grants = [entry.body["grant"] for entry in story.log.entries if entry.type == "step.intent"]
    keys = {entry.body["key"] for entry in story.log.entries if entry.type == "step.intent"}
    assert "" not in grants
    if "no" not in [*before, *after]:  # a person who says "it did not happen" when it did has it done again
        assert all(sum(row.key == key for row in story.ledger.landed()) <= 1 for key in keys)


class Hasty(Executor):
    """A mutant: does not look again between its intent and the effect."""

    def _held_up(self, state: ProposalState, send: Send, live: StepState) -> str:
        return ""


def test_an_executor_that_does_not_look_again_after_its_intent_is_caught() -> None:
    story = Story("keyed", (), ["approve", "nothing", "confirm", "stop"])
    story.make = lambda journal, setup, clock: Hasty(journal, journal.book, setup, clock, Random(7))
    asyncio.run(story.tell())
    assert story.wrongs == ["it was void: ['run.stopping', 'grant.revoked']"]
