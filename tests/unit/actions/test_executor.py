"""A run: gates, grants, waits, retries, receipts and stops, seen from the journal and from the bank's ledger."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from actions.proposal.propose import decide
from actions.proposal.state import ProposalState, StepState
from actions.run.executor import Executor
from actions.settings import ActSettings
from actions.testing.bank import Behaviour
from actions.testing.household import OWNER, START, Household, plain_executor, trigger
from actions.testing.memory import MemoryJournal
from actions.tools.tool import Registry
from schemas.journal import JournalEntry
from schemas.plan import Fixed, Guard, Plan, Step
from schemas.trigger import Retraction
from schemas.value import Value

BESIDE: list[dict[str, object]] = [
    {"id": "s1", "tool": "bank.invoice", "args": {"payee": {"slot": "payee"}}},
    {"id": "s2", "tool": "wait.until", "args": {"until": "2025-03-05T09:00:00+00:00"}, "after": ["s1"]},
    {"id": "s3", "tool": "bank.invoice", "args": {"payee": {"slot": "payee"}}},
]
"""A question with a wait after it, and a question beside the two."""


class Run:
    """One approved run, advanced by hand."""

    def __init__(self, house: Household) -> None:
        self.house = house
        self.journal: MemoryJournal = house.log.open(OWNER)
        self.executor: Executor = plain_executor(self.journal, house.setup, house.clock)

    @property
    def state(self) -> ProposalState:
        return self.journal.book.proposals[self.house.proposal]

    def step(self, name: str) -> StepState:
        return self.state.step(name)

    async def approve(self, change: Callable[[Plan], Plan] | None = None) -> None:
        """``change`` stands for a plan of another shape: it is put in place before anybody has seen it."""
        await self.house.say(self.journal, trigger())
        if change and self.state.plan:
            self.state.plan = change(self.state.plan)
        await self.house.say(self.journal, self.house.command("approve", digest=self.state.digest))

    async def confirm(self) -> None:
        for uid, live in list(self.state.steps.items()):
            if live.gate:
                await self.house.say(self.journal, self.house.command("confirm", digest=live.gate.digest, step=uid))

    async def advance(self) -> None:
        """Everything that can be done by now, confirmations included."""
        await self.executor.advance(self.house.proposal)
        while any(live.gate for live in self.state.steps.values()):
            await self.confirm()
            await self.executor.advance(self.house.proposal)

    async def to_the_end(self) -> None:
        for _ in range(100):
            when = await self.executor.advance(self.house.proposal)
            if any(live.gate for live in self.state.steps.values()):
                await self.confirm()
            elif when is None:
                return
            else:
                self.house.clock.advance_to(when)

    def entries(self, type_: str) -> list[JournalEntry]:
        return [entry for entry in self.house.log.entries if entry.type == type_]


def run(story: Callable[[Run], object], house: Household) -> Run:
    async def lived() -> Run:
        made = Run(house)
        await story(made)  # type: ignore[misc]  # every story is a coroutine
        return made

    return asyncio.run(lived())


def small(*script: Behaviour, effect_class: str = "keyed") -> Household:
    return Household(effect_class, "small", {"bank.pay": script})  # type: ignore[arg-type]


class TestGrants:
    def test_a_payment_needs_its_own_confirmation_beside_the_plan(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            assert await run.executor.advance(run.house.proposal) is None
            gate = run.step("s1").gate
            assert gate is not None
            assert gate.reasons == ("this is a payment and needs its own confirmation",)
            assert run.house.tools["bank.pay"].calls == []
            await run.confirm()
            await run.advance()

        done = run(story, small())
        assert (done.state.phase, done.house.rows("s1")) == ("done", 1)

    def test_a_confirmation_of_something_else_is_refused(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.executor.advance(run.house.proposal)
            drafts = await run.house.say(run.journal, run.house.command("confirm", digest="0" * 64, step="s1"))
            assert drafts[0].body["code"] == "stale"
            await run.executor.advance(run.house.proposal)

        assert run(story, small()).house.tools["bank.pay"].calls == []

    def test_an_argument_that_changes_after_the_approval_is_refused_and_asked_again_with_the_difference(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.executor.advance(run.house.proposal)
            await run.confirm()
            plan = run.state.plan
            assert plan is not None
            run.state.plan = with_amount(plan, "8250.00")
            await run.executor.advance(run.house.proposal)

        done = run(story, small())
        gate = done.step("s1").gate
        assert done.house.tools["bank.pay"].calls == []
        assert gate is not None
        assert gate.diff == [{"arg": "amount", "before": "82.50 EUR (known)", "after": "8250.00 EUR (known)"}]
        assert "the arguments are not those you approved" in gate.reasons

    def test_an_expired_grant_asks_again(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.executor.advance(run.house.proposal)
            await run.confirm()
            run.house.clock.advance_to(START + timedelta(hours=25))
            await run.executor.advance(run.house.proposal)

        done = run(story, small())
        gate = done.step("s1").gate
        assert gate is not None
        assert gate.expired_at == START + timedelta(hours=24)
        asked = done.entries("step.gated")[-1].body
        assert "09:00" not in str(asked["reasons"]), "the journal keeps the instant, whoever shows it knows the clock"
        assert done.house.tools["bank.pay"].calls == []

    def test_another_version_of_the_tool_asks_again(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.executor.advance(run.house.proposal)
            await run.confirm()
            tool = run.house.tools["bank.pay"]
            tool.manifest = tool.manifest.model_copy(update={"version": "2.0.0"})
            await run.executor.advance(run.house.proposal)

        gate = run(story, small()).step("s1").gate
        assert gate is not None
        assert gate.reasons[-1] == "the plan, the tool or the policy has changed since you approved"

    def test_a_tool_that_is_switched_off_is_never_called(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            tools = Registry(run.house.tools.values(), disabled=["bank.pay"])
            object.__setattr__(run.house.setup, "tools", tools)
            await run.executor.advance(run.house.proposal)

        done = run(story, small())
        assert (done.state.phase, done.state.reason) == ("failed", "revoked")

    def test_every_intent_names_a_grant_for_its_exact_arguments(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.to_the_end()

        done = run(story, Household("keyed", "full"))
        assert done.house.faults() == []
        effects = [entry for entry in done.entries("step.intent") if entry.body["tool"] != "bank.invoice"]
        assert [entry.body["grant"] == "" for entry in effects] == [False, False, False]


class TestFailures:
    @pytest.mark.parametrize(
        ("behaviour", "effect_class", "reason", "effects"),
        [
            ("no", "keyed", "denied", 0),
            ("schema", "keyed", "schema", 1),
            ("lie", "keyed", "unverified", 0),
        ],
    )
    def test_a_definite_end_is_final_and_said(
        self, behaviour: Behaviour, effect_class: str, reason: str, effects: int
    ) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.to_the_end()

        done = run(story, small(behaviour, effect_class=effect_class))
        assert (done.state.phase, done.state.reason, done.house.rows("s1")) == ("failed", reason, effects)
        assert len(done.house.tools["bank.pay"].calls) == 1

    def test_a_tool_that_says_yes_and_did_nothing_is_unverified_and_what_depends_on_it_does_not_start(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.to_the_end()

        done = run(story, Household("keyed", "full", {"bank.pay": ("lie",)}))
        assert done.step("s2").phase == "unverified"
        assert done.state.unseen == [done.step("s2").uid]
        assert [done.step(name).phase for name in ("s3", "s4", "s5")] == ["pending"] * 3
        assert done.house.tools["bank.mail"].calls == []

    @pytest.mark.parametrize("effect_class", ["keyed", "reconcile"])
    def test_a_tool_that_hangs_is_timed_out_and_looked_for(self, effect_class: str) -> None:
        async def story(run: Run) -> None:
            tool = run.house.tools["bank.pay"]
            tool.manifest = tool.manifest.model_copy(update={"timeout_s": 0.01})
            await run.approve()
            await run.to_the_end()

        done = run(story, small("hang", effect_class=effect_class))
        results = [(entry.body["outcome"], entry.body["code"]) for entry in done.entries("step.result")]
        assert results[0] == ("unknown", "timeout")
        assert (done.state.phase, done.house.rows("s1")) == ("done", 1)

    def test_an_answer_that_comes_late_is_reconciled(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.to_the_end()

        done = run(story, small("slow", effect_class="reconcile"))
        assert [entry.body["found"] for entry in done.entries("step.lookup")] == [False, True]
        assert len(done.house.tools["bank.pay"].calls) == 1
        assert (done.step("s1").via, done.state.phase) == ("look_up", "done")

    def test_a_bug_in_a_tool_counts_as_unknown_and_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            with caplog.at_level(logging.ERROR):
                await run.to_the_end()

        done = run(story, small("broken", effect_class="reconcile"))
        assert [record.message for record in caplog.records] == ["tool bank.pay broke"]
        assert (done.state.phase, done.house.rows("s1")) == ("done", 1)

    def test_what_was_not_sent_is_tried_again_later_and_a_bounded_number_of_times(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.to_the_end()

        done = run(story, small(*["not_sent"] * 20))
        assert (done.state.reason, len(done.entries("step.intent"))) == ("retries", 7)
        sent = [entry.at for entry in done.entries("step.intent")]
        waits = [(after - before).total_seconds() for before, after in pairwise(sent)]
        assert all(0 <= wait <= 8 for wait in waits[:4])
        assert waits[4:] == [60, 120]  # then nobody answers there, and it is left alone for a while
        assert len(set(waits)) == 6

    def test_a_busy_provider_says_when_to_come_back(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.to_the_end()

        done = run(story, small("rate"))
        first, second = (entry.at for entry in done.entries("step.intent"))
        assert second - first == timedelta(seconds=30)

    def test_a_key_that_the_provider_may_have_forgotten_is_not_used_again(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.executor.advance(run.house.proposal)
            await run.confirm()
            await run.executor.advance(run.house.proposal)
            run.house.clock.advance_to(run.house.clock.now() + timedelta(hours=20))
            await run.to_the_end()

        done = run(story, small("fail_after"))
        assert (len(done.house.tools["bank.pay"].calls), done.step("s1").via) == (1, "look_up")

    def test_a_look_up_that_fails_again_and_again_ends_in_a_question(self) -> None:
        async def broken(args: object, key: str) -> None:
            raise RuntimeError("the bank's search is down")

        async def story(run: Run) -> None:
            run.house.tools["bank.pay"].look_up = broken  # type: ignore[method-assign, assignment]
            await run.approve()
            await run.to_the_end()

        done = run(story, small("fail_after", effect_class="reconcile"))
        assert (done.step("s1").phase, len(done.entries("step.lookup"))) == ("asked", 5)
        assert "Pay 82.50 EUR to Acme. Did it happen?" in done.step("s1").asked


class TestTheQuestion:
    def test_it_is_not_asked_before_the_request_can_no_longer_land(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.to_the_end()

        done = run(story, small("fail_after", effect_class="at_most_once"))
        (intent,), (asked,) = done.entries("step.intent"), done.entries("human.asked")
        assert asked.at - intent.at >= timedelta(seconds=60)

    def test_no_means_a_fresh_intent_and_an_old_answer_is_not_heard_again(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.to_the_end()
            first = run.step("s1").question
            no = run.house.command("answer", digest=first, step="s1", happened=False)
            await run.house.say(run.journal, no)
            await run.to_the_end()
            again = run.house.command("answer", digest=first, step="s1", happened=False)
            (refused,) = await run.house.say(run.journal, again)
            assert refused.body["code"] == "stale"

        done = run(story, small("lost", "lost", effect_class="at_most_once"))
        assert [entry.body["attempt"] for entry in done.entries("step.intent")] == [1, 2]
        assert done.step("s1").phase == "asked"

    def test_yes_with_a_reference_fills_the_result(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.to_the_end()
            yes = run.house.command(
                "answer", digest=run.step("s1").question, step="s1", happened=True, out={"payment_id": "17"}
            )
            await run.house.say(run.journal, yes)
            await run.to_the_end()

        done = run(story, small("fail_after", effect_class="at_most_once"))
        assert (done.state.phase, done.step("s1").out["payment_id"].v) == ("done", "17")


class TestStops:
    def retraction(self) -> Retraction:
        fired = trigger()
        return Retraction(
            id="r1",
            owner=OWNER,
            trigger=fired.id,
            rule=fired.rule,
            key=fired.key,
            at=START,
            reason="cancelled",
            says="Cancelled.",
        )

    @pytest.mark.parametrize("paid", [False, True])
    def test_a_cancelled_source_stops_a_running_graph_before_its_next_effect(self, paid: bool) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.executor.advance(run.house.proposal)
            if paid:
                await run.advance()
            await run.house.say(run.journal, self.retraction())
            await run.to_the_end()

        done = run(story, Household("keyed", "full"))
        assert (done.state.phase, done.state.reason, done.state.says) == ("stopped", "retracted", "Cancelled.")
        assert (done.house.rows("s2"), done.house.rows("s5")) == (int(paid), 0)

    @pytest.mark.parametrize("effect_class", ["keyed", "reconcile"])
    def test_a_stop_finds_out_what_became_of_a_request_and_sends_nothing_more(self, effect_class: str) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.executor.advance(run.house.proposal)
            await run.confirm()
            await run.executor.advance(run.house.proposal)
            assert run.step("s1").phase == "unknown"
            await run.house.say(run.journal, run.house.command("stop"))
            await run.to_the_end()

        done = run(story, small("fail_after", effect_class=effect_class))
        assert (done.state.phase, done.step("s1").phase) == ("stopped", "ok")
        assert len(done.house.tools["bank.pay"].calls) == 1

    def test_a_stop_that_comes_while_the_intent_is_written_still_stops_the_effect(self) -> None:
        class Interrupted(MemoryJournal):
            async def append(self, drafts):  # type: ignore[no-untyped-def]  # the port's own signature
                sealed = await super().append(drafts)
                if drafts[0].type == "step.intent":
                    await super().append(house_stop())
                return sealed

        house = small()

        def house_stop():  # type: ignore[no-untyped-def]  # drafts
            command = house.command("stop")
            return decide(journal.book, command, house.clock.now(), house.setup)

        journal = house.log.open(OWNER)
        journal = Interrupted(house.log, journal.book, house.log.epoch)

        asyncio.run(confirmed(house, journal))
        assert house.tools["bank.pay"].calls == []
        assert house.state.phase == "stopped"

    def test_an_intent_that_took_too_long_to_write_is_written_anew(self) -> None:
        """A laptop that slept between the two: the settle window would be counted from the wrong moment."""

        class Sleepy(MemoryJournal):
            slept = False

            async def append(self, drafts):  # type: ignore[no-untyped-def]  # the port's own signature
                sealed = await super().append(drafts)
                if drafts[0].type == "step.intent" and not self.slept:
                    self.slept = True
                    house.clock.advance_to(house.clock.now() + timedelta(minutes=10))
                return sealed

        house = small(effect_class="reconcile")
        journal = house.log.open(OWNER)
        journal = Sleepy(house.log, journal.book, house.log.epoch)

        asyncio.run(confirmed(house, journal))
        intents = [entry for entry in house.log.entries if entry.type == "step.intent"]
        results = [entry.body["code"] for entry in house.log.entries if entry.type == "step.result"]
        assert (len(intents), results) == (2, ["stale", ""])
        assert len(house.tools["bank.pay"].calls) == 1


class TestOrder:
    def test_a_wait_holds_nothing_and_ends_at_its_instant(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.advance()
            when = await run.executor.advance(run.house.proposal)
            assert when == START + timedelta(days=2)
            assert run.step("s4").phase == "ok"
            run.house.clock.advance_to(when)
            await run.advance()

        done = run(story, Household("keyed", "full"))
        assert done.state.phase == "done"

    def test_a_guard_that_does_not_hold_skips_the_step_with_the_reason(self) -> None:
        async def story(run: Run) -> None:
            await run.approve(only_if("s4", Guard(step="s2", field="payment_id", op="is", value="other")))
            await run.to_the_end()

        done = run(story, Household("keyed", "full"))
        assert (done.step("s4").phase, done.step("s4").code, done.state.phase) == ("skipped", "guard", "done")
        assert done.house.tools["bank.mail"].calls == []

    @pytest.mark.parametrize(
        ("guard", "phase"),
        [
            (Guard(step="s2", field="payment_id", op="is_not", value="other"), "ok"),
            (Guard(step="s2", field="payment_id", op="present"), "ok"),
            (Guard(step="s2", field="nothing", op="present"), "skipped"),
            (Guard(step="s2", field="nothing", op="is_not", value="x"), "ok"),
        ],
    )
    def test_a_guard_reads_an_earlier_result(self, guard: Guard, phase: str) -> None:
        async def story(run: Run) -> None:
            await run.approve(only_if("s4", guard))
            await run.to_the_end()

        assert run(story, Household("keyed", "full")).step("s4").phase == phase

    def test_what_needs_a_result_that_was_never_made_is_skipped_too(self) -> None:
        async def story(run: Run) -> None:
            never = Guard(step="s1", field="payee", op="is", value="nobody")
            await run.approve(changed("s2", when=never, depends_on=("s1",)))
            await run.to_the_end()

        done = run(story, Household("keyed", "full"))
        assert [(done.step(n).phase, done.step(n).code) for n in ("s2", "s4")] == [
            ("skipped", "guard"),
            ("skipped", "missing_input"),
        ]
        assert (done.step("s5").phase, done.state.phase) == ("ok", "done")

    def test_a_wait_without_an_instant_fails_and_says_so(self) -> None:
        async def story(run: Run) -> None:
            await run.approve(changed("s3", args={}))
            await run.to_the_end()

        done = run(story, Household("keyed", "full"))
        assert (done.state.reason, done.step("s3").message) == ("bad_argument", "there is no instant to wait for")

    def test_a_read_that_was_stopped_in_flight_is_let_be(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await run.executor.advance(run.house.proposal)
            assert run.step("s1").phase == "unknown"
            await run.house.say(run.journal, run.house.command("stop"))
            await run.to_the_end()

        done = run(story, Household("keyed", "full", {"bank.invoice": ("fail_before",)}))
        assert (done.state.phase, done.step("s1").code) == ("stopped", "stopped")

    def test_an_outward_act_is_held_with_stop_before_it_is_sent(self) -> None:
        async def story(run: Run) -> None:
            await run.approve(held("s1", 60.0))
            await run.advance()
            assert run.step("s1").phase == "held"
            assert await run.executor.advance(run.house.proposal) == START + timedelta(seconds=60)
            await run.house.say(run.journal, run.house.command("stop"))
            await run.to_the_end()

        done = run(story, small())
        assert (done.state.phase, done.house.rows("s1")) == ("stopped", 0)

    def test_two_callers_advance_a_run_once(self) -> None:
        async def story(run: Run) -> None:
            await run.approve()
            await asyncio.gather(*(run.executor.advance(run.house.proposal) for _ in range(3)))
            await run.confirm()
            await asyncio.gather(*(run.executor.advance(run.house.proposal) for _ in range(3)))

        done = run(story, small(effect_class="reconcile"))
        assert (len(done.house.tools["bank.pay"].calls), done.state.phase) == (1, "done")

    def test_a_call_that_ends_while_something_else_is_written_is_not_waited_for_any_more(self) -> None:
        """The result of s3 is written while the executor writes that the wait beside it has begun."""
        house = Household("keyed", "small", steps=BESIDE)
        journal = house.log.open(OWNER)
        began, ended = asyncio.Event(), asyncio.Event()

        def third() -> str:
            return journal.book.proposals[house.proposal].step("s3").uid

        class Crossing(MemoryJournal):
            async def append(self, drafts):  # type: ignore[no-untyped-def]  # the port's own signature
                is_result = drafts[0].type == "step.result" and drafts[0].body["step"] == third()
                if is_result:
                    await began.wait()
                if drafts[0].type == "wait.started":
                    began.set()
                    await ended.wait()
                    await asyncio.sleep(0)  # the call's task ends
                sealed = await super().append(drafts)
                if is_result:
                    ended.set()
                return sealed

        async def story() -> None:
            crossing = Crossing(house.log, journal.book, house.log.epoch)
            await house.say(crossing, trigger())
            state = journal.book.proposals[house.proposal]
            await house.say(crossing, house.command("approve", digest=state.digest))
            await asyncio.wait_for(plain_executor(crossing, house.setup, house.clock).advance(house.proposal), 60)
            assert [state.step(name).phase for name in ("s1", "s2", "s3")] == ["ok", "waiting", "ok"]

        asyncio.run(story())

    def test_an_unknown_proposal_has_nothing_to_do(self) -> None:
        async def story(run: Run) -> None:
            assert await run.executor.advance("nonesuch") is None

        run(story, small())


def test_an_approval_lasts_over_the_waits_that_the_person_saw() -> None:
    """The note after the wait is granted for as long after the wait as it would be after the approval."""
    house = Household("keyed", "full", settings=ActSettings(grant_ttl=timedelta(hours=1)))

    async def story(run: Run) -> None:
        await run.approve()
        await run.advance()
        run.house.clock.advance_to(START + timedelta(days=2, minutes=1))
        await run.advance()

    done = run(story, house)
    assert done.state.phase == "done"


async def confirmed(house: Household, journal: MemoryJournal) -> None:
    """Approved, confirmed and advanced, on a journal of one's own."""
    await house.say(journal, trigger())
    state = journal.book.proposals[house.proposal]
    await house.say(journal, house.command("approve", digest=state.digest))
    executor = plain_executor(journal, house.setup, house.clock)
    await executor.advance(house.proposal)
    gate = state.step("s1").gate
    assert gate is not None
    await house.say(journal, house.command("confirm", digest=gate.digest, step="s1"))
    await executor.advance(house.proposal)


def changed(name: str, **update: object) -> Callable[[Plan], Plan]:
    def change(plan: Plan) -> Plan:
        steps = tuple(step.model_copy(update=update) if step.id == name else step for step in plan.steps)
        return plan.model_copy(update={"steps": steps})

    return change


def only_if(name: str, guard: Guard) -> Callable[[Plan], Plan]:
    return changed(name, when=guard, depends_on=("s2",))


def held(name: str, seconds: float) -> Callable[[Plan], Plan]:
    return changed(name, hold_s=seconds)


def with_amount(plan: Plan, amount: str) -> Plan:
    def dearer(step: Step) -> Step:
        before = step.args["amount"]
        assert isinstance(before, Fixed)
        value: Value = before.value.model_copy(update={"v": {"amount": amount, "currency": "EUR"}})
        return step.model_copy(update={"args": {**step.args, "amount": Fixed(value=value)}})

    return plan.model_copy(update={"steps": tuple(dearer(step) for step in plan.steps)})
