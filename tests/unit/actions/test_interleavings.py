"""Whatever people, rules, time and crashes do between any two appends: no effect without a valid grant for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from actions.journal import EXECUTOR, Draft
from actions.planning.playbook import Slot
from actions.policy import audit
from actions.proposal.propose import Input, Tick, decide
from actions.proposal.state import ProposalState, StepState
from actions.run.executor import Executor
from actions.run.move import Send
from actions.testing.bank import BankTool, Behaviour, manifest
from actions.testing.household import OWNER, Household, trigger
from actions.testing.memory import MemoryJournal
from actions.testing.points import Crash
from actions.tools.tool import Arg, Args
from schemas import ids
from schemas.command import Command, Verb
from schemas.journal import JournalEntry
from schemas.model import Json
from schemas.plan import EffectClass, Fixed, Plan
from schemas.trigger import Retraction, Trigger
from schemas.value import Integrity, Value
from tests.scale import scaled

EVENTS = (
    "approve", "approve_old", "edit", "confirm", "confirm_wrong", "stop", "retract", "refresh", "repeat", "snooze",
    "reject", "never", "yes", "no", "tick", "minutes", "a_day", "weeks", "tamper", "die", "nothing",
    "pause", "resume", "abort", "retry",
)  # fmt: skip
IBAN = "DE89370400440532013000"
STANDING = ("allow", "allow_less", "revoke", "stop_everything", "resume_everything", "wrong")
SCRIPTS: tuple[Behaviour, ...] = ("ok", "fail_after", "fail_before", "slow", "not_sent", "lost")


class Watched(BankTool):
    """Looks at every call, from the journal alone, whether a person granted exactly this and has not taken it back."""

    def wrong(self, args: Args, key: str, entries: Sequence[JournalEntry]) -> str:
        intent = [entry for entry in entries if entry.type == "step.intent"][-1]
        stream = [entry for entry in entries if entry.stream == intent.stream]
        granted = [e for e in stream if e.type == "grant.issued" and grant_of(e)["id"] == intent.body["grant"]]
        if newest(entries, "acting.stopped", "acting.resumed") == "acting.stopped":
            return "everything was stopped"
        if len(granted) == 1 and granted[0].actor == EXECUTOR:
            if faults := self.not_allowed(grant_of(granted[0]), args, entries):
                return faults
        elif len(granted) != 1 or granted[0].actor != f"person:{OWNER}":
            return "nobody granted it"
        allowed = grant_of(granted[0])["args"]
        if not isinstance(allowed, dict) or {name: v["v"] for name, v in allowed.items()} != dict(args):  # type: ignore[index, call-overload]  # JSON
            return f"{allowed} were granted, {args} were sent"
        if not granted[0].at <= self.ledger.clock.now() < granted[0].at + timedelta(hours=24):
            return "the grant had expired"
        voided = [entry.type for entry in stream if entry.seq > granted[0].seq and entry.type in VOIDING]
        return f"it was void: {voided}" if voided else "" if intent.body["key"] == key else "another key"

    def not_allowed(self, grant: dict[str, Json], args: Args, entries: Sequence[JournalEntry]) -> str:
        """A grant that the executor issued rests on a permission of the person's that stands and covers this."""
        given = [e for e in entries if e.type == "permission.allowed" and permission_of(e)["id"] == grant["permission"]]
        if len(given) != 1 or given[0].actor != f"person:{OWNER}":
            return "nobody allowed it"
        later = entries[entries.index(given[0]) :]
        if any(e.type == "permission.revoked" and e.body["id"] == grant["permission"] for e in later):
            return "the permission was taken back"
        if any(is_bad(e) and rested_on(e, entries) == grant["permission"] for e in later):
            return "the permission was lost"
        permission, amount = permission_of(given[0]), args["amount"]
        if args["payee"] != permission["to"] or cents(amount) > cents(permission["cap"]):
            return f"{permission} does not cover {args}"
        return "" if self.ledger.clock.now().isoformat() < str(permission["expires_at"]) else "the permission was over"


def newest(entries: Sequence[JournalEntry], *types: str) -> str:
    return next((entry.type for entry in reversed(entries) if entry.type in types), "")


def is_bad(entry: JournalEntry) -> bool:
    failed = entry.type == "step.result" and entry.body["outcome"] == "failed"
    return failed or entry.type == "step.wrong" or (entry.type == "step.verified" and entry.body.get("final") is True)


def rested_on(entry: JournalEntry, entries: Sequence[JournalEntry]) -> Json:
    """The permission under which the step of this entry was last begun."""
    before = entries[: entries.index(entry)]
    intents = [e for e in before if e.type == "step.intent" and e.body["step"] == entry.body["step"]]
    used = [grant_of(e) for e in before if e.type == "grant.issued" and intents]
    return next((grant["permission"] for grant in used if grant["id"] == intents[-1].body["grant"]), "")


def permission_of(entry: JournalEntry) -> dict[str, Json]:
    permission = entry.body["permission"]
    assert isinstance(permission, dict)
    return permission


def cents(money: Json) -> Decimal:
    assert isinstance(money, dict)
    return abs(Decimal(str(money["amount"])))


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

    def fired(self, number: int = 1, **changes: object) -> Trigger:
        return trigger(number, **changes)

    async def tell(self) -> None:
        """Lives, until everything has happened and nothing is left to do."""
        while True:
            journal = Eventful(self)
            executor = self.make(journal, self.setup, self.clock)
            try:
                if not journal.book.proposals:
                    await self.say(journal, self.fired())
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
                values = self.fired().values | ({"fact.invoice.amount": dearer} if event == "refresh" else {})
                return self.fired(self.number, values=values)
            case "tick":
                return Tick()
        return None


class Allowing(Story):
    """The same with an account number for a payee, so that the person can allow it ahead, and stop everything."""

    def __init__(self, effect_class: EffectClass, script: Sequence[Behaviour], events: Sequence[str]) -> None:
        super().__init__(effect_class, script, events)
        args = {"payee": Arg(type="Iban"), "amount": Arg(type="Money")}
        self.watched.manifest = manifest("bank.pay", effect_class, args=args)
        before = self.setup.playbooks["pay"]
        payee = Slot.model_validate({"type": "Iban", "from": ["party.iban"], "required": True})
        after = before.model_copy(update={"slots": {**before.slots, "payee": payee}})
        self.setup = replace(self.setup, playbooks={"pay": after})

    def fired(self, number: int = 1, **changes: object) -> Trigger:
        made = trigger(number, **changes)
        iban = Value(v=IBAN, type="Iban", sources=("ev1",), integrity=Integrity.KNOWN)
        return made.model_copy(update={"values": {**made.values, "party.iban": iban}})

    def meant(self, event: str, state: ProposalState) -> Input | None:
        match event:
            case "allow" | "allow_less":
                ends = (self.clock.now() + timedelta(days=9)).isoformat()
                cap = euros(100 if event == "allow" else 1)
                return self.standing("allow", tool="bank.pay", to=IBAN, cap=cap, times=3, expires_at=ends)
            case "revoke":
                known = list(state.experience.permissions)
                return self.standing("revoke", id=known[-1] if known else "")
            case "stop_everything" | "resume_everything":
                return self.standing(event)
            case "wrong":
                return self.command("wrong", step="s1")
        return super().meant(event, state)

    def standing(self, verb: Verb, **args: Json) -> Command:
        said = self.command(verb)
        return said.model_copy(update={"proposal": "standing", "args": args})


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


@settings(max_examples=scaled(150, 3000), deadline=None)
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


@settings(max_examples=scaled(150, 3000), deadline=None)
@given(
    st.sampled_from(["keyed", "reconcile", "at_most_once"]),
    st.lists(st.sampled_from([*SCRIPTS, "lie"]), max_size=3),
    st.lists(st.sampled_from([*EVENTS, *STANDING]), max_size=4),
    st.lists(st.sampled_from([*EVENTS, *STANDING, *STANDING]), max_size=14),
)
def test_nor_with_permissions_that_come_and_go_and_everything_stopped_in_between(
    effect_class: EffectClass, script: list[Behaviour], before: list[str], after: list[str]
) -> None:
    story = Allowing(effect_class, script, [*before, "allow", "approve", "nothing", *after])
    asyncio.run(story.tell())
    assert [wrong for wrong in story.wrongs if wrong] == []
    assert audit.verify(story.log.entries) == []
    stopped = False
    for entry in story.log.entries:
        stopped = {"acting.stopped": True, "acting.resumed": False}.get(entry.type, stopped)
        assert not (stopped and entry.type == "step.intent")


def test_a_permission_does_let_a_step_go_without_a_confirmation() -> None:
    story = Allowing("keyed", (), ["allow", "approve"])
    asyncio.run(story.tell())
    assert (story.wrongs, newest(story.log.entries, "step.gated", "run.done")) == ([""], "run.done")


class Hasty(Executor):
    """A mutant: does not look again between its intent and the effect."""

    def _held_up(self, state: ProposalState, send: Send, live: StepState) -> str:
        return ""


def test_an_executor_that_does_not_look_again_after_its_intent_is_caught() -> None:
    story = Story("keyed", (), ["approve", "nothing", "confirm", "stop"])
    story.make = lambda journal, setup, clock: Hasty(journal, journal.book, setup, clock, Random(7))
    asyncio.run(story.tell())
    assert story.wrongs == ["it was void: ['run.stopping', 'grant.revoked']"]


def test_one_that_does_not_see_that_the_permission_is_gone_is_caught() -> None:
    story = Allowing("keyed", (), ["allow", "approve", "nothing", "revoke"])
    story.make = lambda journal, setup, clock: Hasty(journal, journal.book, setup, clock, Random(7))
    asyncio.run(story.tell())
    assert story.wrongs == ["the permission was taken back"]
