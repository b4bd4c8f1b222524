"""Waits: for a day, for an event, for a value that is asked for again and again; over restarts and deadlines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actions.planning.playbook_loader import load
from actions.policy import audit
from actions.proposal.state import Awaits, ProposalState, Trait
from actions.run import predicate, waits
from actions.testing.bank import BankTool, manifest
from actions.testing.desk import Desk
from actions.testing.household import OWNER, START, Household, plain_executor, trigger
from actions.testing.memory import MemoryJournal
from actions.testing.points import Crash, Points
from actions.tools.tool import Args
from schemas.clock import ManualClock
from schemas.errors import ConfigError
from schemas.event import Event, Party
from schemas.model import Json
from schemas.money import Money
from schemas.payloads import BankPayload, MailPayload
from schemas.plan import Op

PAY = {"payee": {"slot": "payee"}, "amount": {"slot": "amount"}}
WEEKS = timedelta(days=30)


def event(number: int, kind: str, **changes: object) -> Event:
    at = START + timedelta(minutes=number)
    base: dict[str, object] = {
        "id": f"e{number}", "owner": OWNER, "account": "a", "source": "x", "kind": kind, "subject": f"s{number}",
        "version": "1", "occurred_at": at, "observed_at": at, "title": f"event {number}",
    }  # fmt: skip
    return Event.model_validate(base | changes)


def reply(number: int, to: str, sender: str = "office@example.org") -> Event:
    parties = (Party(role="from", name="Office", address=sender),)
    return event(number, "mail.received", parties=parties, payload=MailPayload(in_reply_to=f"<{to}>"))


def debit(number: int, amount: str, payee: str = "Acme") -> Event:
    money = Money(amount=Decimal(amount), currency="EUR")
    parties = (Party(role="payee", name=payee),)
    return event(number, "bank.posted", amount=money, parties=parties, payload=BankPayload(), trust="service")


ASK: list[Mapping[str, object]] = [
    {"id": "s1", "tool": "bank.mail", "args": PAY},
    {"id": "s2", "tool": "wait.reply", "args": {"message_id": {"ref": "s1.payment_id"}, "days": 14}},
    {"id": "s3", "tool": "bank.note", "args": PAY, "when": {"ref": "s2.got_reply", "value": True}},
]
DEBIT: list[Mapping[str, object]] = [
    {"id": "s1", "tool": "bank.note", "args": PAY},
    {"id": "s2", "tool": "wait.event", "after": ["s1"],
     "args": {"kind": "bank.posted", "match.paid": {"slot": "amount"}, "match.party.contains": {"slot": "payee"},
              "until": "2025-03-20T09:00:00+00:00", "on_timeout": "fail"}},
]  # fmt: skip


class World:
    def __init__(self, steps: Sequence[Mapping[str, object]]) -> None:
        self.house = Household("keyed", "small", steps=steps)
        tool = self.house.tools["bank.mail"]
        tool.manifest = tool.manifest.model_copy(
            update={"returns": {"payment_id": "MessageId"}, "minted": ("payment_id",)}
        )
        self.journal: MemoryJournal = self.house.log.open(OWNER)
        self.before_wait: Callable[[], None] = lambda: None

    @property
    def state(self) -> ProposalState:
        return self.journal.book.proposals[self.house.proposal]

    def restart(self) -> None:
        self.journal = self.house.log.open(OWNER)

    async def start(self) -> None:
        await self.house.say(self.journal, trigger())
        await self.house.say(self.journal, self.house.command("approve", digest=self.state.digest))

    async def go(self, until: timedelta = timedelta(hours=1)) -> None:
        executor = plain_executor(self.journal, self.house.setup, self.house.clock)
        for _ in range(200):
            before = len(self.house.log.entries)
            when = await executor.advance(self.house.proposal)
            await self.journal.feed(self.house.clock)
            command = self.house.answer(self.state)
            if command:
                await self.house.say(self.journal, command)
            if len(self.house.log.entries) > before:
                continue
            if when is None or when > START + until:
                return
            self.house.clock.advance_to(when)
        raise AssertionError("it never rests")

    def arrive(self, *events: Event) -> None:
        self.house.log.events.extend(events)

    @property
    def message(self) -> str:
        return str(self.state.step("s1").out["payment_id"].v)

    def phase(self, step: str) -> str:
        return self.state.step(step).phase


def lived(world: World, story: Callable[[World], object]) -> World:
    async def life() -> None:
        await world.start()
        await story(world)  # type: ignore[misc]  # every story is a coroutine
        assert audit.verify(world.house.log.entries) == []
        again = world.house.log.open(OWNER).book
        assert again.proposals[world.house.proposal] == world.state, "the journal folds to another state"
        assert again.waits.waits == world.journal.book.waits.waits

    asyncio.run(life())
    return world


class TestEvents:
    def test_a_reply_ends_the_wait_and_what_depends_on_it_goes_on(self) -> None:
        async def story(world: World) -> None:
            await world.go()
            assert world.phase("s2") == "waiting"
            world.arrive(reply(1, "somebody-else"), debit(2, "-82.50"))
            await world.go()
            assert world.phase("s2") == "waiting"
            world.restart()
            world.arrive(reply(3, world.message))
            await world.go()

        done = lived(World(ASK), story)
        out = done.state.step("s2").out
        assert (done.state.phase, done.phase("s3")) == ("done", "ok")
        assert (out["got_reply"].v, out["sender"].v, out["event"].v) == (True, "office@example.org", "e3")
        assert (out["got_reply"].integrity, out["sender"].integrity) == ("system", "untrusted")

    def test_a_reply_that_comes_before_the_wait_begins_is_not_lost(self) -> None:
        """It is there already when the mail's own result is written down."""
        world = World(ASK)
        mail = world.house.tools["bank.mail"]

        class Quick(BankTool):
            async def call(self, args: Args, key: str) -> dict[str, Json]:
                out = await super().call(args, key)
                world.arrive(reply(5, str(out["payment_id"])))
                return out

        quick = Quick(mail.manifest, mail.ledger)
        world.house.tools["bank.mail"] = quick
        world.house.setup.tools._tools["bank.mail"] = quick
        world.arrive(*(debit(number, "-1.00") for number in range(4)))

        async def story(world: World) -> None:
            await world.go()

        done = lived(world, story)
        assert (done.state.phase, done.state.step("s2").out["event"].v) == ("done", "e5")
        (started,) = [entry for entry in done.house.log.entries if entry.type == "wait.started"]
        assert started.body["cursor"] == 4

    def test_what_came_before_the_step_that_asks_for_it_is_no_answer(self) -> None:
        world = World(DEBIT)
        world.arrive(debit(1, "-82.50"))

        async def story(world: World) -> None:
            await world.go()
            assert world.phase("s2") == "waiting"
            world.arrive(
                debit(2, "-82.51"), debit(3, "82.50"), debit(4, "-82.50", "Other"), debit(5, "-82.5", "ACME Ltd")
            )
            await world.go()

        done = lived(world, story)
        assert (done.state.phase, done.state.step("s2").out["event"].v) == ("done", "e5")

    def test_without_a_reply_the_wait_ends_at_its_deadline_and_says_so(self) -> None:
        async def story(world: World) -> None:
            await world.go(WEEKS)

        done = lived(World(ASK), story)
        assert done.state.step("s2").out["got_reply"].v is False
        assert (done.state.phase, done.phase("s3")) == ("done", "skipped")

    def test_a_wait_that_must_not_be_in_vain_fails_with_its_own_cause(self) -> None:
        async def story(world: World) -> None:
            await world.go(WEEKS)

        done = lived(World(DEBIT), story)
        assert (done.state.phase, done.state.reason) == ("failed", "timeout")

    def test_an_event_and_the_deadline_at_once_end_it_once(self) -> None:
        async def story(world: World) -> None:
            await world.go()
            world.house.clock.advance_to(START + WEEKS)
            found = debit(9, "-82.50")
            drafts = waits.arrived(world.state, world.state.step("s2").uid, found, world.house.clock.now())
            await plain_executor(world.journal, world.house.setup, world.house.clock).advance(world.house.proposal)
            await world.journal.append(drafts)

        assert lived(World(DEBIT), story).state.phase == "failed"

    @pytest.mark.parametrize(
        ("args", "says"),
        [
            ({"kind": "bank.posted", "match.paid": {"slot": "amount"}}, "needs an end"),
            ({"kind": "bank.psted", "match.title": "x", "days": 3}, "no events of kind 'bank.psted'"),
            ({"kind": "bank.posted", "days": 3}, "says nothing of the event"),
            ({"kind": "bank.posted", "match.colour": "x", "days": 3}, "events have no 'colour'"),
            ({"kind": "bank.posted", "match.title.like": "x", "days": 3}, "no comparison 'like'"),
        ],
    )
    def test_a_wait_that_cannot_be_says_why(self, args: dict[str, object], says: str) -> None:
        async def story(world: World) -> None:
            await world.go()

        done = lived(World([{"id": "s1", "tool": "wait.event", "args": args}]), story)
        assert done.state.phase == "failed"
        assert says in done.state.says

    def test_a_death_anywhere_loses_no_reply_and_does_nothing_twice(self) -> None:
        async def life(world: World, points: Points) -> None:
            world.journal = world.house.log.open(OWNER, points)
            for tool in world.house.tools.values():
                tool.point = points
                await world.house.say(world.journal, trigger())
            for _ in range(30):
                if world.state.phase == "done":
                    return
                if world.state.phase == "running" and world.phase("s1") == "ok" and not world.house.log.events:
                    world.arrive(reply(1, world.message))
                await world.go()

        for die_at in range(200):
            world, points = World(ASK), Points(die_at)
            try:
                asyncio.run(life(world, points))
            except Crash:
                asyncio.run(life(world, Points()))
            assert (world.state.phase, world.phase("s3")) == ("done", "ok"), points.names[-1]
            assert world.house.rows("s1") == world.house.rows("s3") == 1, points.names[-1]
            if len(points.names) <= die_at:
                return
        raise AssertionError("too many points")


class TestIndex:
    def test_an_event_is_held_against_its_own_waits_only(self, monkeypatch: pytest.MonkeyPatch) -> None:
        index, asked = waits.WaitIndex(), []
        for number in range(1000):
            awaits = Awaits("mail.received", (Trait("in_reply_to", "is", f"m{number}"),), 0, "go_on")
            index._add((f"p{number}", "s"), awaits)
        real = waits.matches
        monkeypatch.setattr(waits, "matches", lambda awaits, event: asked.append(awaits) or real(awaits, event))
        assert index.found_by(reply(1, "m7"), 3) == [("p7", "s")]
        assert index.found_by(debit(1, "-1"), 3) == []
        assert len(asked) == 1
        for number in range(1000):
            index._remove((f"p{number}", "s"))
        assert (index.kinds(), index._by_key, index._by_proposal) == (set(), {}, {})

    def test_an_event_before_the_cursor_does_not_count(self) -> None:
        index = waits.WaitIndex()
        index._add(("p", "s"), Awaits("mail.received", (Trait("title", "contains", "EVENT"),), 5, "go_on"))
        assert index.found_by(reply(1, "m"), 4) == []
        assert index.found_by(reply(1, "m"), 5) == [("p", "s")]


class Price(BankTool):
    """A price that falls by ten each time that it is asked for."""

    price = 100

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        answer = await super().call(args, key)
        Price.price -= 10
        return answer | {"amount": {"amount": f"{Price.price}.00", "currency": "EUR"}}


def polling(**changes: object) -> list[Mapping[str, object]]:
    until = {
        "field": "amount",
        "op": "below",
        "value": {"amount": "65", "currency": "EUR"},
        "every": "6h",
        "at_most": 9,
    }
    return [
        {"id": "s1", "tool": "bank.price", "args": {"payee": "x"}, "repeat": until | changes},
        {"id": "s2", "tool": "bank.note", "args": PAY, "after": ["s1"]},
    ]


class TestPolling:
    def story(self, **changes: object) -> World:
        Price.price = 100
        world = World(polling(**changes))
        price = Price(manifest("bank.price", "pure"), world.house.ledger)
        world.house.tools["bank.price"] = price
        world.house.setup.tools._tools["bank.price"] = price

        async def story(world: World) -> None:
            await world.go(timedelta(hours=7))
            world.restart()
            await world.go(WEEKS)

        return lived(world, story)

    def test_a_question_is_asked_again_at_its_interval_until_the_answer_is_what_was_waited_for(self) -> None:
        done = self.story()
        asked = [e.at for e in done.house.log.entries if e.type == "step.intent" and e.body["tool"] == "bank.price"]
        assert [at - asked[0] for at in asked] == [timedelta(hours=6 * number) for number in range(4)]
        assert (done.state.phase, done.state.step("s1").out["amount"].v) == (
            "done",
            {"amount": "60.00", "currency": "EUR"},
        )

    @pytest.mark.parametrize(("on_end", "phase"), [("fail", "failed"), ("go_on", "done")])
    def test_after_as_many_times_as_was_said_it_ends_as_was_said(self, on_end: str, phase: str) -> None:
        done = self.story(at_most=2, on_end=on_end)
        assert (done.state.phase, Price.price) == (phase, 80)
        assert done.state.reason == ("timeout" if phase == "failed" else "done")


@pytest.mark.parametrize(
    ("op", "value", "wanted", "does"),
    [
        ("below", {"amount": "9.99", "currency": "EUR"}, {"amount": "10", "currency": "EUR"}, True),
        ("below", {"amount": "9.99", "currency": "USD"}, {"amount": "10", "currency": "EUR"}, False),
        ("at_least", 3, 3, True),
        ("above", "2025-03-04", "2025-03-03", True),
        ("at_most", "2025-03-04T09:00:00+01:00", "2025-03-04T08:00:00+00:00", True),
        ("above", "tomorrow", "today", False),
        ("above", True, 0, False),
        ("is", "Granted ", "granted", True),
        ("is", {"amount": "5", "currency": "EUR"}, {"amount": "5.00", "currency": "EUR"}, True),
        ("is", 1, True, False),
        ("is_not", None, "x", True),
        ("contains", "Approval GRANTED", "granted", True),
        ("contains", None, "x", False),
        ("present", "", None, False),
    ],
)
def test_comparisons_are_typed(op: Op, value: Json, wanted: Json, does: bool) -> None:
    assert predicate.holds(op, value, wanted) is does


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.text())), st.text())
def test_no_value_breaks_a_comparison(value: Json, wanted: str) -> None:
    for op in ("is", "is_not", "present", "contains", "below", "above", "at_least", "at_most"):
        assert predicate.holds(op, value, wanted) in (True, False)


AGAIN = "repeat: {field: event, every: 1h, at_most: 2}"
WRITTEN = """id: watch
version: 1
title: Watch
slots:
  limit: {type: Money, from: [amount]}
steps:
  - id: s1
    tool: history.query
    args: {sql: select 1}
    repeat: {field: count, op: above, value: 3, every: 6h, at_most: 8}
  - id: s2
    tool: wait.event
    args: {kind: bank.posted, match.paid: {slot: limit}, days: 5}
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("field: count", "field: cuont", "10:14: history.query returns no 'cuont'; did you mean 'count'?"),
        ("every: 6h", "every: often", "10:49: steps.0.repeat.every"),
        ("value: 3", "slot: limt", "10:39: unknown slot 'limt'; did you mean 'limit'?"),
        ("match.paid", "match.payed", "13:31: events have no 'payed'"),
        ("match.paid", "match.paid.near", "13:31: there is no comparison 'near'"),
        (
            "    args: {kind",
            "    repeat: {field: event, every: 1h, at_most: 2}\n    args: {kind",
            "13:5: wait.event cannot",
        ),
    ],
)
def test_a_playbook_that_waits_wrongly_says_where(old: str, new: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "watch.yaml"
    tools = Desk(tmp_path, ManualClock(START)).registry()
    file.write_text(WRITTEN)
    assert load(file, tools).steps[0].repeat is not None
    file.write_text(WRITTEN.replace(old, new))
    with pytest.raises(ConfigError, match="watch") as caught:
        load(file, tools)
    assert says in str(caught.value)
