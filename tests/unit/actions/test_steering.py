"""A run in a person's hands: paused, aborted, undone, tried again; and several steps at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

import pytest

from actions.policy import audit
from actions.proposal.state import ProposalState
from actions.testing.bank import Behaviour
from actions.testing.household import OWNER, START, Household, Shape, plain_executor, trigger
from actions.testing.memory import MemoryJournal
from schemas.journal import JournalEntry
from schemas.model import Json

HOUR_S = 3600.0


class World:
    """One run, advanced by hand up to an instant; confirmations of single steps are given when asked for."""

    def __init__(
        self,
        shape: Shape = "full",
        scripts: Mapping[str, Sequence[Behaviour]] | None = None,
        effect_class: str = "keyed",
        undo_window_s: float | None = None,
        steps: Sequence[Mapping[str, object]] = (),
    ) -> None:
        self.house = Household(effect_class, shape, scripts or {}, undo_window_s=undo_window_s, steps=steps)  # type: ignore[arg-type]  # one of the classes
        self.journal: MemoryJournal = self.house.log.open(OWNER)

    @property
    def state(self) -> ProposalState:
        return self.journal.book.proposals[self.house.proposal]

    async def start(self) -> None:
        await self.house.say(self.journal, trigger())
        await self.tell("approve", digest=self.state.digest)

    async def tell(self, verb: str, digest: str = "", **args: Json) -> str:
        """The type of the first entry that the command leads to, or why it is refused."""
        said = self.house.command(verb, digest=digest or self.state.digest, **args)  # type: ignore[arg-type]  # a verb
        drafts = await self.house.say(self.journal, said)
        return str(drafts[0].body["code"]) if drafts[0].type == "command.refused" else drafts[0].type

    async def go(self, until: timedelta = timedelta(hours=1)) -> None:
        """As far as it goes before that time has passed since the start."""
        executor = plain_executor(self.journal, self.house.setup, self.house.clock)
        for _ in range(80):
            when = await executor.advance(self.house.proposal)
            gates = [(uid, live.gate.digest) for uid, live in self.state.steps.items() if live.gate]
            for uid, digest in gates:
                await self.tell("confirm", digest=digest, step=uid)
            if gates:
                continue
            if when is None or when > START + until:
                return
            self.house.clock.advance_to(when)
        raise AssertionError("it never rests")

    def phases(self) -> dict[str, str]:
        assert self.state.plan is not None
        return {step.id: self.state.steps[step.uid].phase for step in self.state.plan.steps}

    def entries(self, type_: str) -> list[JournalEntry]:
        return [entry for entry in self.house.log.entries if entry.type == type_]

    def calls(self, tool: str) -> int:
        return len(self.house.tools[f"bank.{tool}"].calls)


def lived(world: World, story: Callable[[World], object]) -> World:
    async def life() -> None:
        await world.start()
        await story(world)  # type: ignore[misc]  # every story is a coroutine
        assert audit.verify(world.house.log.entries) == []
        again = world.house.log.open(OWNER).book.proposals[world.house.proposal]
        assert again == world.state, "the journal folds to another state"

    asyncio.run(life())
    return world


WEEK = timedelta(days=7)


class TestPause:
    def test_nothing_begins_while_it_is_paused_and_what_came_due_happens_when_it_goes_on(self) -> None:
        async def story(world: World) -> None:
            await world.go()
            assert world.phases()["s3"] == "waiting"
            assert await world.tell("pause") == "run.paused"
            world.house.clock.advance_to(START + WEEK)
            await world.go(WEEK)
            assert world.phases()["s3"] == "waiting"
            assert world.calls("note") == 0
            assert await world.tell("resume") == "run.resumed"
            await world.go(WEEK)

        done = lived(World(), story)
        assert done.state.phase == "done"
        (fired,) = done.entries("wait.fired")
        assert fired.at == START + WEEK

    def test_a_pause_that_comes_while_the_intent_is_written_holds_the_call_back(self) -> None:
        world = World("small")

        class Paused(MemoryJournal):
            async def append(self, drafts):  # type: ignore[no-untyped-def]  # the port's own signature
                sealed = await super().append(drafts)
                if drafts[0].type == "step.intent" and not world.entries("run.paused"):
                    await world.tell("pause")
                return sealed

        async def story(world: World) -> None:
            world.journal = Paused(world.house.log, world.journal.book, world.house.log.epoch)
            await world.go()
            assert (world.calls("pay"), world.phases()["s1"]) == (0, "pending")
            await world.tell("resume")
            await world.go()

        done = lived(world, story)
        assert (done.state.phase, done.house.rows("s1")) == ("done", 1)

    @pytest.mark.parametrize("effect_class", ["keyed", "reconcile", "at_most_once"])
    def test_what_was_under_way_is_found_out_about_and_nothing_is_sent(self, effect_class: str) -> None:
        async def story(world: World) -> None:
            await world.start_paused_after_doubt()

        class Doubtful(World):
            async def start_paused_after_doubt(self) -> None:
                executor = plain_executor(self.journal, self.house.setup, self.house.clock)
                await executor.advance(self.house.proposal)
                for uid, live in list(self.state.steps.items()):
                    if live.gate:
                        await self.tell("confirm", digest=live.gate.digest, step=uid)
                await executor.advance(self.house.proposal)
                await self.tell("pause")
                await self.go(timedelta(days=1))

        done = lived(Doubtful("small", {"bank.pay": ("fail_after",)}, effect_class), story)
        assert done.calls("pay") == 1
        assert done.phases()["s1"] == ("asked" if effect_class == "at_most_once" else "ok")

    def test_pausing_twice_and_resuming_what_runs_are_refused(self) -> None:
        async def story(world: World) -> None:
            assert await world.tell("resume") == "not_paused"
            await world.tell("pause")
            assert await world.tell("pause") == "paused"
            assert await world.tell("abort") == "run.stopping"
            await world.go()
            assert await world.tell("pause") == "not_running"

        assert lived(World("small"), story).state.phase == "stopped"


class TestUndo:
    def test_what_was_done_is_taken_back_last_one_first_each_under_its_own_intent_key_and_grant(self) -> None:
        async def story(world: World) -> None:
            await world.go()
            assert await world.tell("abort", undo=True) == "run.stopping"
            await world.go()

        done = lived(World(undo_window_s=HOUR_S), story)
        assert done.state.phase == "stopped"
        assert done.phases() == {"s1": "ok", "s2": "ok", "s4": "ok", "s6": "ok", "s7": "ok"}
        plan = done.state.plan
        assert plan is not None
        assert [(s.undoes, s.depends_on) for s in plan.steps if s.undoes] == [
            (plan.step("s4").uid, ()),
            (plan.step("s2").uid, ("s6",)),
        ]
        intents = [e.body for e in done.entries("step.intent") if e.body["tool"] == "bank.refund"]
        assert len({str(body["key"]) for body in intents}) == len({str(body["grant"]) for body in intents}) == 2
        assert "" not in {body["grant"] for body in intents}
        assert done.house.rows("s6") == done.house.rows("s7") == 1
        assert done.state.left == []

    def test_what_stays_is_said_with_the_reason(self) -> None:
        async def story(world: World) -> None:
            await world.go()
            world.house.clock.advance_to(START + timedelta(hours=2))
            await world.tell("abort", undo=True)
            await world.go(timedelta(hours=3))

        done = lived(World(undo_window_s=HOUR_S), story)
        assert (done.state.phase, done.calls("refund")) == ("stopped", 0)
        assert [(item["id"], item["why"]) for item in done.state.left] == [
            ("s4", "the time to undo it was over after 3600 s"),
            ("s2", "the time to undo it was over after 3600 s"),
        ]

    def test_without_undo_what_was_done_stays(self) -> None:
        async def story(world: World) -> None:
            await world.go()
            await world.tell("abort")
            await world.go()

        done = lived(World(undo_window_s=HOUR_S), story)
        assert (done.state.phase, done.calls("refund")) == ("stopped", 0)

    def test_a_request_whose_outcome_is_unknown_is_found_out_about_before_it_is_undone(self) -> None:
        async def story(world: World) -> None:
            executor = plain_executor(world.journal, world.house.setup, world.house.clock)
            await executor.advance(world.house.proposal)
            for uid, live in list(world.state.steps.items()):
                if live.gate:
                    await world.tell("confirm", digest=live.gate.digest, step=uid)
            await executor.advance(world.house.proposal)
            assert world.phases()["s1"] == "unknown"
            await world.tell("abort", undo=True)
            await world.go()

        done = lived(World("small", {"bank.pay": ("fail_after",)}, "reconcile", HOUR_S), story)
        assert (done.state.phase, done.calls("pay"), done.house.rows("s2")) == ("stopped", 1, 1)

    def test_an_undo_that_fails_is_said_and_what_waited_for_it_stays(self) -> None:
        async def story(world: World) -> None:
            await world.go()
            await world.tell("abort", undo=True)
            await world.go()

        done = lived(World(scripts={"bank.refund": ("no",)}, undo_window_s=HOUR_S), story)
        assert done.state.phase == "stopped"
        assert [item["id"] for item in done.state.left] == ["s4", "s2"]
        assert "the account is closed" in str(done.state.left[0]["why"])

    def test_a_run_that_is_over_can_be_undone_once(self) -> None:
        async def story(world: World) -> None:
            await world.go(WEEK)
            assert world.state.phase == "done"
            assert await world.tell("abort") == "not_running"
            assert await world.tell("abort", undo=True) == "run.stopping"
            await world.go(WEEK)
            assert world.state.phase == "stopped"
            assert await world.tell("abort", undo=True) == "not_running"

        done = lived(World(undo_window_s=30 * 86_400.0), story)
        assert done.calls("refund") == 3

    def test_undoing_can_be_stopped_too(self) -> None:
        async def story(world: World) -> None:
            await world.go()
            await world.tell("abort", undo=True)
            executor = plain_executor(world.journal, world.house.setup, world.house.clock)
            await executor.advance(world.house.proposal)
            assert world.state.phase == "undoing"
            assert await world.tell("stop") == "run.stopping"
            await world.go()

        world = World(scripts={"bank.refund": ("not_sent", "ok", "ok")}, undo_window_s=HOUR_S)
        done = lived(world, story)
        assert (done.state.phase, done.house.rows("s6"), done.house.rows("s7")) == ("stopped", 0, 0)


class TestRetry:
    def test_a_failed_run_goes_on_from_its_failed_step_under_a_new_key(self) -> None:
        async def story(world: World) -> None:
            await world.go()
            assert (world.state.phase, world.state.reason) == ("failed", "denied")
            assert await world.tell("retry", digest="0" * 64, step="s2") == "stale"
            assert await world.tell("retry", step="s2") == "plan.revised"
            await world.go(WEEK)

        done = lived(World(scripts={"bank.pay": ("no", "ok")}), story)
        assert (done.state.phase, done.calls("invoice"), done.calls("pay")) == ("done", 1, 2)
        assert len({key for _, key in done.house.tools["bank.pay"].calls}) == 2
        assert done.house.faults() == [f"{uid}: failed" for uid, live in done.state.steps.items() if live.code]

    def test_what_is_done_or_may_have_happened_is_not_tried_again(self) -> None:
        async def story(world: World) -> None:
            await world.go()
            assert world.phases()["s2"] == "unverified"
            assert await world.tell("retry", step="s1") == "not_failed"
            assert await world.tell("retry", step="s2") == "in_doubt"
            assert await world.tell("retry", step="s9") == "unknown_step"

        assert lived(World(scripts={"bank.pay": ("lie",)}), story).calls("pay") == 1


class TestAtOnce:
    def test_ready_steps_run_beside_each_other_but_one_effect_at_a_time_at_an_account(self) -> None:
        async def story(world: World) -> None:
            await world.go()

        done = lived(World("wide"), story)
        assert done.state.phase == "done"
        assert set(done.phases().values()) == {"ok"}
        assert 2 <= done.house.ledger.peak <= 4
        assert done.house.ledger.crowded <= {"bank"}  # a question may be asked beside an effect
        intents = [str(entry.body["tool"]) for entry in done.entries("step.intent")]
        pay, note = intents.index("bank.pay"), intents.index("bank.note")
        result = [str(e.body["step"]) for e in done.house.log.entries if e.type == "step.result"]
        assert pay < note
        assert result.index(done.state.step("s1").uid) < len(result)

    def test_four_at_once_and_no_more(self) -> None:
        steps = [
            {"id": f"s{number}", "tool": "bank.invoice", "args": {"payee": f"number {number}"}}
            for number in range(1, 8)
        ]

        async def story(world: World) -> None:
            await world.go()

        done = lived(World("small", steps=steps), story)
        assert (done.state.phase, done.house.ledger.peak) == ("done", 4)

    def test_the_longest_path_goes_first(self) -> None:
        pay = {"payee": {"slot": "payee"}, "amount": {"slot": "amount"}}
        steps = [
            {"id": "s1", "tool": "bank.note", "args": pay},
            {"id": "s2", "tool": "bank.pay", "args": pay},
            {"id": "s3", "tool": "wait.until", "args": {"until": "2025-03-05T09:00:00+00:00"}, "after": ["s2"]},
        ]

        async def story(world: World) -> None:
            await world.go(WEEK)

        done = lived(World("small", steps=steps), story)
        assert [entry.body["tool"] for entry in done.entries("step.intent")] == ["bank.pay", "bank.note"]

    def test_the_same_world_gives_the_same_journal(self) -> None:
        async def story(world: World) -> None:
            await world.go()

        first, second = (lived(World("wide"), story).house.log.entries for _ in range(2))
        assert [entry.hash for entry in first] == [entry.hash for entry in second]

    def test_a_call_that_hangs_does_not_hold_up_a_timer_beside_it(self) -> None:
        """The clock of this test is the real one as far as the hanging call goes: it is cut off by its time-out."""
        steps = [
            {"id": "s1", "tool": "bank.invoice", "args": {"payee": "x"}},
            {"id": "s2", "tool": "wait.until", "args": {"until": "2025-03-03T09:00:00.200000+00:00"}},
        ]
        world = World("small", {"bank.invoice": ("hang",)}, steps=steps)

        async def life() -> None:
            await world.start()
            executor = plain_executor(world.journal, world.house.setup, world.house.clock)
            going = asyncio.ensure_future(executor.advance(world.house.proposal))
            while not world.calls("invoice"):
                await asyncio.sleep(0)
            world.house.clock.advance_to(START + timedelta(seconds=1))
            other = asyncio.ensure_future(executor.advance(world.house.proposal))
            while world.phases()["s2"] != "ok":
                await asyncio.sleep(0)
            assert world.phases()["s1"] == "sent"
            going.cancel()
            other.cancel()
            await asyncio.gather(going, other, return_exceptions=True)

        asyncio.run(life())
