"""A run whose plan cannot go on: another rest, what stays of the old one, and when the person is asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from actions.planning.otherwise import PlaybookReplanner
from actions.planning.playbook_loader import load, load_all
from actions.policy import audit
from actions.proposal.state import ProposalState
from actions.run.replan import Replanner, Wanted, Way
from actions.setup import Setup
from actions.testing.bank import BankTool, Behaviour, manifest
from actions.testing.desk import Desk
from actions.testing.household import OWNER, START, Household, plain_executor, trigger
from actions.testing.memory import MemoryJournal
from schemas.clock import ManualClock
from schemas.errors import ConfigError
from schemas.journal import JournalEntry
from schemas.model import Json
from schemas.plan import Fixed, Step
from schemas.value import Integrity, Value

Spec = Mapping[str, object]
MONEY = {"amount": {"slot": "amount"}}
PAYEE = {"payee": {"slot": "payee"}}


def step(name: str, tool: str, **more: object) -> dict[str, object]:
    return {"id": name, "tool": f"bank.{tool}", "args": PAYEE if tool == "invoice" else PAYEE | MONEY} | more


def otherwise(*steps: Spec, causes: Sequence[str] = ()) -> list[Spec]:
    return [{"steps": list(steps), "causes": list(causes)}]


class World:
    """One approved run, advanced by hand; confirmations of single steps are given, approvals of new plans are not."""

    def __init__(
        self,
        steps: Sequence[Spec],
        scripts: Mapping[str, Sequence[Behaviour]],
        replanner: Replanner | None = None,
        effect_class: str = "keyed",
    ) -> None:
        self.house = Household(effect_class, "small", scripts, steps=steps, replanner=replanner or PlaybookReplanner())  # type: ignore[arg-type]  # one of the classes
        self.journal: MemoryJournal = self.house.log.open(OWNER)

    @property
    def state(self) -> ProposalState:
        return self.journal.book.proposals[self.house.proposal]

    async def start(self) -> None:
        await self.house.say(self.journal, trigger())
        await self.approve()

    async def approve(self) -> None:
        await self.tell("approve", digest=self.state.digest)

    async def tell(self, verb: str, digest: str = "", **args: Json) -> str:
        """The type of the first entry that the command leads to, or why it is refused."""
        said = self.house.command(verb, digest=digest or self.state.digest, **args)  # type: ignore[arg-type]  # a verb
        drafts = await self.house.say(self.journal, said)
        return str(drafts[0].body["code"]) if drafts[0].type == "command.refused" else drafts[0].type

    async def go(self) -> None:
        """As far as it goes without another approval."""
        executor = plain_executor(self.journal, self.house.setup, self.house.clock)
        for _ in range(60):
            when = await executor.advance(self.house.proposal)
            gates = [(uid, live.gate.digest) for uid, live in self.state.steps.items() if live.gate]
            for uid, digest in gates:
                await self.tell("confirm", digest=digest, step=uid)
            if when is None and not gates:
                return
            self.house.clock.advance_to(when or self.house.clock.now())
        raise AssertionError("it never rests")

    def calls(self, tool: str) -> int:
        return len(self.house.tools[f"bank.{tool}"].calls)

    def entries(self, type_: str) -> list[JournalEntry]:
        return [entry for entry in self.house.log.entries if entry.type == type_]

    def phases(self) -> dict[str, str]:
        assert self.state.plan is not None
        return {step.id: self.state.steps[step.uid].phase for step in self.state.plan.steps}


def lived(world: World, story: Callable[[World], object] | None = None) -> World:
    async def life() -> None:
        await world.start()
        await world.go()
        if story:
            await story(world)  # type: ignore[misc]  # every story is a coroutine
        assert audit.verify(world.house.log.entries) == []
        again = world.house.log.open(OWNER).book.proposals[world.house.proposal]
        assert again == world.state, "the journal folds to another state"

    asyncio.run(life())
    return world


async def approve_and_go(world: World) -> None:
    await world.approve()
    await world.go()


PAY_OR_MAIL = [
    step("s1", "pay", otherwise=otherwise(step("s2", "mail"), causes=["denied", "not_found"])),
    step("s3", "note", after=["s1"]),
]


class TestAnotherWay:
    def test_an_added_effect_waits_for_the_person_and_then_takes_the_place_of_what_failed(self) -> None:
        world = World(PAY_OR_MAIL, {"bank.pay": ("no",)})

        async def story(world: World) -> None:
            assert world.state.revision is not None
            assert world.state.revision.reasons == ("s2 (bank.mail) was not in the plan that you approved",)
            assert (world.calls("mail"), world.calls("note")) == (0, 0)
            await approve_and_go(world)

        done = lived(world, story)
        assert (done.state.phase, done.phases()) == ("done", {"s2": "ok", "s3": "ok"})
        assert (done.calls("pay"), done.calls("mail"), done.calls("note")) == (1, 1, 1)
        revised = done.entries("plan.revised")[0].body
        assert (revised["cause"], revised["version"], revised["parent"]) == ("denied", 2, 1)
        assert {"step": "s1", "what": "tool", "before": "bank.pay", "after": ""} in revised["diff"]  # type: ignore[operator]  # JSON

    def test_a_new_plan_that_is_not_wanted_stops_the_run(self) -> None:
        async def story(world: World) -> None:
            assert await world.tell("reject") == "run.stopping"
            await world.go()

        done = lived(World(PAY_OR_MAIL, {"bank.pay": ("no",)}), story)
        assert (done.state.phase, done.state.reason, done.calls("mail")) == ("stopped", "revision_rejected", 0)

    def test_an_approval_of_the_plan_before_does_not_approve_the_new_one(self) -> None:
        async def story(world: World) -> None:
            old = world.entries("run.started")[0].body["digest"]
            assert await world.tell("approve", digest=str(old)) == "stale"
            await world.go()

        assert lived(World(PAY_OR_MAIL, {"bank.pay": ("no",)}), story).calls("mail") == 0

    def test_what_asks_nothing_new_goes_on_by_itself_under_the_grants_of_before_and_tells(self) -> None:
        read = otherwise(step("s2", "other", args=PAYEE))
        steps = [step("s1", "invoice", otherwise=read), step("s3", "note", after=["s1"]), step("s4", "pay")]
        world = World(steps, {"bank.invoice": ("no",)})
        other = BankTool(manifest("bank.other", "pure"), world.house.ledger)
        world.house.setup = with_tools(world.house, other)
        before = {}

        async def remember() -> None:
            await world.start()
            before.update({s.id: s.uid for s in world.state.plan.steps})  # type: ignore[union-attr]  # it has a plan
            await world.go()

        asyncio.run(remember())
        assert world.state.phase == "done"
        assert world.phases() == {"s2": "ok", "s3": "ok", "s4": "ok"}
        after = {s.id: s.uid for s in world.state.plan.steps}  # type: ignore[union-attr]  # it has a plan
        assert (after["s3"], after["s4"]) == (before["s3"], before["s4"])
        assert world.entries("plan.accepted") == []
        assert world.house.rows("s3") == world.house.rows("s4") == 1
        assert audit.verify(world.house.log.entries) == []

    def test_a_step_that_used_the_result_uses_the_one_of_the_other_way_and_is_asked_about_again(self) -> None:
        read = otherwise(step("s2", "other", args=PAYEE))
        steps = [
            step("s1", "invoice", otherwise=read),
            step("s3", "note", args={"payee": {"ref": "s1.payee"}, "amount": {"ref": "s1.amount"}}),
        ]
        world = World(steps, {"bank.invoice": ("no",)})
        world.house.setup = with_tools(world.house, BankTool(manifest("bank.other", "pure"), world.house.ledger))
        done = lived(world, approve_and_go)
        assert done.state.phase == "done"
        assert done.entries("plan.revised")[0].body["needs"] == [
            "s3 (bank.note): payee changes from (payee of s1) to (payee of s2)"
        ]

    def test_what_cannot_be_had_from_the_other_way_is_left_out_with_all_that_rests_on_it(self) -> None:
        steps = [
            step("s1", "invoice", otherwise=otherwise(step("s2", "note"))),
            step("s3", "pay", args={"payee": {"ref": "s1.payee"}, "amount": {"ref": "s1.amount"}}),
            step("s4", "mail", args={"payee": {"text": "paid {s3.payment_id}"}, **MONEY}),
        ]
        done = lived(World(steps, {"bank.invoice": ("no",)}), approve_and_go)
        assert (done.state.phase, done.phases()) == ("done", {"s2": "ok"})

    def test_for_another_cause_the_run_fails_as_it_would_have(self) -> None:
        steps = [step("s1", "pay", otherwise=otherwise(step("s2", "mail"), causes=["rate"]))]
        done = lived(World(steps, {"bank.pay": ("no",)}))
        assert (done.state.phase, done.state.reason) == ("failed", "denied")
        assert done.entries("plan.stuck")[0].body["cause"] == "denied"

    def test_a_plan_changes_at_most_twice_without_a_person(self) -> None:
        third = step("s3", "note", otherwise=otherwise(step("s4", "invoice")))
        second = step("s2", "mail", otherwise=otherwise(third))
        steps = [step("s1", "pay", otherwise=otherwise(second))]

        async def story(world: World) -> None:
            await approve_and_go(world)
            await approve_and_go(world)

        done = lived(World(steps, {"bank.pay": ("no",), "bank.mail": ("no",), "bank.note": ("no",)}), story)
        assert len(done.entries("plan.revised")) == 2
        assert (done.state.phase, done.calls("invoice")) == ("failed", 0)

    def test_nobody_plans_around_a_request_whose_outcome_is_not_known(self) -> None:
        steps = [
            step("s1", "mail", otherwise=otherwise(step("s2", "invoice"))),
            step("s3", "pay"),
        ]
        world = lived(World(steps, {"bank.mail": ("not_sent",) * 8, "bank.pay": ("fail_after",)}, None, "reconcile"))
        types = [(entry.type, entry.body.get("outcome")) for entry in world.house.log.entries]
        assert world.state.phase == "done"
        assert types.index(("step.result", "unknown")) < types.index(("plan.revised", None))
        revised_at = types.index(("plan.revised", None))
        found = [at for at, (type_, outcome) in enumerate(types) if type_ == "step.result" and outcome == "ok"]
        assert found[0] < revised_at

    def test_another_playbook_takes_the_place_of_all_that_depended_on_the_step(self) -> None:
        steps = [step("s1", "pay", otherwise=[{"playbook": "plain"}]), step("s2", "mail", after=["s1"])]
        world = World(steps, {"bank.pay": ("no",)})
        plain = world.house.setup.playbooks["pay"].model_copy(
            update={"id": "plain", "steps": World([step("s1", "note")], {}).house.setup.playbooks["pay"].steps}
        )
        world.house.setup = replace(world.house.setup, playbooks={**world.house.setup.playbooks, "plain": plain})
        done = lived(world, approve_and_go)
        assert (done.state.phase, done.phases(), done.calls("mail")) == ("done", {"s3": "ok"}, 0)


def with_tools(house: Household, *tools: BankTool) -> Setup:
    from actions.tools.tool import Registry

    return replace(house.setup, tools=Registry([*house.tools.values(), *tools]))


class Scripted:
    """A replanner that answers with what it is told to make of the question."""

    def __init__(self, answer: Callable[[Wanted], Way | None]) -> None:
        self.asked: list[Wanted] = []
        self._answer = answer

    async def replan(self, wanted: Wanted, setup: Setup) -> Way | None:
        self.asked.append(wanted)
        return self._answer(wanted)


def made_new(wanted: Wanted, like: Step, **changes: object) -> Step:
    name = wanted.free_id()
    return like.model_copy(update={"id": name, "uid": wanted.uid(name), "depends_on": (), **changes})


def another_amount(wanted: Wanted) -> Way:
    kept = wanted.open()[0]
    dearer = Fixed(value=Value(v={"amount": "9.00", "currency": "EUR"}, type="Money", integrity=Integrity.USER))
    return Way((kept.model_copy(update={"args": kept.args | {"amount": dearer}}),), "model:x")


def foreign_uid(wanted: Wanted) -> Way:
    return Way((made_new(wanted, wanted.plan.steps[0], uid="mine"),), "model:x")


def again_what_is_done(wanted: Wanted) -> Way:
    done = next(s for s in wanted.plan.steps if wanted.state.steps[s.uid].phase == "ok")
    return Way((made_new(wanted, done),), "model:x")


def upon_the_failed_one(wanted: Wanted) -> Way:
    assert wanted.step is not None
    return Way((made_new(wanted, wanted.plan.steps[-1], depends_on=(wanted.step.id,)),), "model:x")


class TestRules:
    STEPS = (
        step("s1", "note"),
        step("s2", "pay", after=["s1"]),
        step("s3", "mail", after=["s2"]),
    )

    @pytest.mark.parametrize(
        ("answer", "says"),
        [
            (another_amount, "s3 was changed under its old uid"),
            (foreign_uid, "s4 has a uid that is not its own"),
            (again_what_is_done, "s4 does the same as s1"),
            (upon_the_failed_one, "there is no step 's2'"),
            (lambda wanted: None, "there is no other way on"),
        ],
    )
    def test_a_way_that_breaks_a_rule_is_not_taken(self, answer: Callable[[Wanted], Way | None], says: str) -> None:
        done = lived(World(self.STEPS, {"bank.pay": ("no",)}, Scripted(answer)))
        assert done.state.phase == "failed"
        assert says in str(done.entries("plan.stuck")[0].body["says"])

    def test_a_model_can_neither_lower_a_gate_nor_lie_about_an_effect(self) -> None:
        def lie(wanted: Wanted) -> Way:
            like = wanted.plan.steps[-1]
            lower: dict[str, object] = {"gate": "none", "effect": "read", "effect_class": "pure", "hold_s": 0.0}
            return Way((made_new(wanted, like, **lower),), "model:x")

        done = lived(World(self.STEPS, {"bank.pay": ("no",)}, Scripted(lie)))
        added = done.state.plan.steps[-1]  # type: ignore[union-attr]  # it has a plan
        assert (added.gate, added.effect, added.effect_class) == ("second", "payment", "reconcile")
        assert added.uid in {entry.body["step"] for entry in done.entries("step.gated")}

    def test_a_replanner_that_breaks_counts_as_no_way(self, caplog: pytest.LogCaptureFixture) -> None:
        def broken(wanted: Wanted) -> Way:
            raise RuntimeError("the model is down")

        done = lived(World(self.STEPS, {"bank.pay": ("no",)}, Scripted(broken)))
        assert (done.state.phase, done.state.reason) == ("failed", "denied")
        assert "the replanner broke" in caplog.text

    def test_it_learns_our_own_word_for_the_failure_and_nothing_that_the_other_side_said(self) -> None:
        asked = Scripted(lambda wanted: None)
        lived(World(self.STEPS, {"bank.pay": ("no",)}, asked))
        assert [(w.cause, w.step.id if w.step else "") for w in asked.asked] == [("denied", "s2")]
        assert [s.id for s in asked.asked[0].open()] == ["s3"]

    def test_a_stop_that_comes_while_it_is_planned_goes_first(self) -> None:
        world = World(self.STEPS, {"bank.pay": ("no",)})

        class Slow:
            async def replan(self, wanted: Wanted, setup: Setup) -> Way | None:
                await world.tell("stop")
                return Way(wanted.open(), "model:x")

        world.house.setup = replace(world.house.setup, replanner=Slow())
        done = lived(world)
        assert (done.state.phase, done.entries("plan.revised")) == ("stopped", [])

    def test_a_tool_that_is_gone_is_a_cause_of_its_own(self) -> None:
        from actions.tools.tool import Registry

        asked = Scripted(lambda wanted: None)
        world = World(self.STEPS, {}, asked)

        async def story() -> None:
            await world.start()
            tools = Registry(world.house.tools.values(), disabled=["bank.pay"])
            world.house.setup = replace(world.house.setup, tools=tools)
            await world.go()

        asyncio.run(story())
        assert asked.asked[0].cause == "revoked"


class TestEditingTheRest:
    STEPS = (step("s1", "pay"), step("s2", "note", after=["s1"]))
    CHEAPER: Json = {"amount": "5.00", "currency": "EUR"}

    def test_what_has_not_begun_can_be_changed_and_is_asked_about_again(self) -> None:
        world = World(self.STEPS, {"bank.pay": ("not_sent", "ok")})

        async def story() -> None:
            await world.start()
            assert await world.tell("edit", step="s2", args={"amount": self.CHEAPER}) == "plan.revised"
            await world.go()
            assert (world.calls("pay"), world.calls("note")) == (0, 0)
            await world.approve()
            await world.go()

        asyncio.run(story())
        assert world.state.phase == "done"
        assert world.house.tools["bank.note"].calls[0][0]["amount"] == self.CHEAPER
        assert world.house.rows("s1") == world.house.rows("s2") == 1
        assert audit.verify(world.house.log.entries) == []

    def test_what_has_begun_or_is_unknown_cannot_be_changed(self) -> None:
        world = World(self.STEPS, {"bank.pay": ("lost",)}, effect_class="at_most_once")

        async def story(world: World) -> None:
            assert world.phases()["s1"] == "asked"
            assert await world.tell("edit", step="s2", args={"amount": self.CHEAPER}) == "in_doubt"
            await world.tell("answer", digest=world.state.step("s1").question, step="s1", happened=True)
            assert await world.tell("edit", step="s1", args={"amount": self.CHEAPER}) == "begun"
            assert await world.tell("edit", step="s2", args={"amount": "much"}) == "bad_value"
            assert await world.tell("edit", step="s2", digest="0" * 64, args={"amount": self.CHEAPER}) == "stale"

        lived(world, story)


GOOD = """id: travel
version: 1
title: Travel
steps:
  - id: s1
    tool: document.write
    args: {template: payment.txt, name: a.txt}
    otherwise:
      - causes: [denied]
        steps:
          - {id: s2, tool: notify, args: {text: no}}
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("tool: notify", "tool: notfy", "11:22: unknown tool 'notfy'; did you mean 'notify'?"),
        ("id: s2", "id: s1", "11:14: step s1 is there twice"),
        ("args: {text: no}", "args: {text: {ref: s1.path}}", "11:13: s2 refers to 's1', which is not an earlier step"),
        ("causes: [denied]", "causes: [tired]", "9:18: steps"),
        ("causes: [denied]", "playbook: other", "9:9: steps.0.otherwise.0: name either"),
        ("otherwise:", "otherwse:", "8:5: unknown key"),
    ],
)
def test_another_way_that_is_wrong_says_where(old: str, new: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "travel.yaml"
    tools = Desk(tmp_path, ManualClock(START)).registry()
    file.write_text(GOOD)
    assert load(file, tools).steps[0].otherwise[0].causes == ("denied",)
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(ConfigError, match="travel") as caught:
        load(file, tools)
    assert says in str(caught.value)


def test_another_playbook_that_is_not_there_is_said_with_its_place(tmp_path: Path) -> None:
    start = GOOD.split("      - causes")[0]
    (tmp_path / "travel.yaml").write_text(f"{start}      - playbook: trevel-plain\n")
    with pytest.raises(ConfigError, match=r"travel.yaml:9:9: no other playbook 'trevel-plain'"):
        load_all(Desk(tmp_path, ManualClock(START)).registry(), (tmp_path,))
