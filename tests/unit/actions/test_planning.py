"""Where no playbook fits a model may be asked: what it says becomes a plan, questions, or a reminder; nothing is lost
and nothing asked twice, whenever the process dies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from actions.journal import Draft
from actions.planning.asker import Asker
from actions.planning.playbook import Playbook
from actions.planning.playbook_loader import load_all
from actions.planning.spending import ModelSettings
from actions.policy import audit
from actions.proposal.propose import Input, Tick, decide, next_tick
from actions.proposal.state import ProposalState
from actions.settings import ActSettings
from actions.setup import Setup
from actions.testing.canary import CANARY, NOW, PLAN, step, trigger
from actions.testing.desk import Desk
from actions.testing.memory import MemoryJournal, MemoryLog
from actions.testing.modelscript import Body, Cut, Mode, Said, Script, Status, Text, in_turn, script
from actions.testing.points import nowhere
from actions.testing.scriptedmodel import ScriptedModel
from schemas import ids
from schemas.clock import ManualClock
from schemas.command import Command, Verb
from schemas.model import Json
from schemas.trigger import Retraction, Trigger

MODEL = ModelSettings("scripted", "127.0.0.1")
OWNER = "ann"


@cache
def playbooks() -> dict[str, Playbook]:
    return load_all(Desk(Path("/nowhere"), ManualClock(NOW)).registry())


@dataclass
class World:
    """One owner, one model, over several lives of the process."""

    folder: Path
    script: Script
    model: ModelSettings | None = MODEL
    wanted: Trigger = field(default_factory=trigger)

    def __post_init__(self) -> None:
        self.clock = ManualClock(NOW)
        self.log = MemoryLog()
        tools = Desk(self.folder, self.clock).registry()
        settings = ActSettings(daily_budget=3)
        self.setup = Setup(playbooks(), tools, settings=settings, model=self.model)
        self.scripted = ScriptedModel(self.script, self.clock)
        self.proposal = ids.proposal_id(OWNER, self.wanted.id)

    @property
    def state(self) -> ProposalState:
        return self.log.open(OWNER).book.proposals[self.proposal]

    @property
    def types(self) -> list[str]:
        return [entry.type for entry in self.log.entries if entry.stream == self.proposal]

    def live(self, point: Callable[[str], None] = nowhere, first: Input | None = None) -> ProposalState:
        """One life: the input (again), and then planning until nothing moves."""
        asyncio.run(self._live(point, first or self.wanted))
        return self.state

    async def _live(self, point: Callable[[str], None], first: Input) -> None:
        journal = self.log.open(OWNER, point)
        await self.say(journal, first)
        asker = Asker(journal, journal.book, self.setup, self.scripted, self.clock)
        for _ in range(20):
            when = await asker.advance(self.proposal)
            self.clock.advance_to(when or self.clock.now())
            if not await self.say(journal, Tick()) and when is None:
                return
        raise AssertionError("planning does not end")

    async def say(self, journal: MemoryJournal, said: Input) -> list[Draft]:
        drafts = decide(journal.book, said, self.clock.now(), self.setup)
        return drafts if drafts and await journal.append(drafts) else []

    def command(self, verb: Verb, digest: str = "", **args: Json) -> Command:
        id_ = ids.command_id(self.proposal, verb, str(len(self.log.entries)))
        return Command(
            id=id_, owner=OWNER, who=OWNER, channel="cli", verb=verb, proposal=self.proposal, digest=digest, args=args,
            at=self.clock.now(),
        )  # fmt: skip


Make = Callable[..., World]


@pytest.fixture
def world(tmp_path: Path) -> Make:
    def make(said: Script | Mode, **changes: Any) -> World:
        return World(tmp_path, said if callable(said) else script(said, PLAN), **changes)

    return make


def reminder(state: ProposalState) -> str:
    """Why it is only a reminder."""
    assert state.plan is not None
    assert state.plan.planner == "reminder"
    assert state.phase == "offered"
    return state.plan.reasons[-1].removeprefix("only a reminder: ")


def test_a_good_answer_is_offered_as_the_plan(world: Make) -> None:
    made = world("good")
    state = made.live()
    assert state.plan is not None
    assert (state.phase, state.plan.planner, state.plan.version) == ("offered", "model:scripted@2", 1)
    assert [s.tool for s in state.plan.steps] == ["calendar.add", "wait.until", "notify"]
    assert made.types == [
        "proposal.drafted", "proposal.planning", "model.asked", "model.answered", "proposal.offered"
    ]  # fmt: skip


ENDS: list[tuple[Mode, str, int]] = [
    ("invalid-json", "the model's plan was not sound: the reply was no whole JSON object", 3),
    ("unknown-tool", "the model's plan was not sound: no tool 'bank.transfer_everything'", 3),
    ("endless-repair", "the model's plan was not sound: no tool 'bank.transfer_everything'", 3),
    ("cycle", "the model's plan was not sound: the steps wait for one another", 3),
    ("wrong-types", "the model's plan was not sound: [17, True] does not fit here", 3),
    ("truncated", "the model's plan was not sound: the reply was no whole JSON object", 3),
    ("timeout", "the model took too long", 1),
    ("cut-stream", "the model's plan was not sound: the reply was no whole JSON object", 3),
    ("polite-cut", "the model's plan was not sound: the reply was no whole JSON object", 3),
    ("endless", "the model's answer did not end", 1),
    ("refusal", "the model refused", 1),
    ("429", "the model's server wanted us to wait", 3),
    ("401", "the model's server refused the key or the quota", 1),
    ("500", "the model's server failed", 1),
]


@pytest.mark.parametrize(("mode", "why", "asked"), ENDS, ids=[mode for mode, _, _ in ENDS])
def test_each_way_to_go_wrong_ends_as_a_reminder_that_says_why(world: Make, mode: Mode, why: str, asked: int) -> None:
    made = world(mode)
    said = reminder(made.live())
    assert said.startswith("I could not plan this safely (")
    assert why in said
    assert len(made.scripted.requests) == asked
    assert audit.verify(made.log.entries) == []


def test_a_bad_plan_is_repaired_with_what_is_wrong_and_another_seed(world: Make) -> None:
    made = world("repaired")
    state = made.live()
    assert state.plan is not None
    assert state.plan.planner == "model:scripted@2"
    first, second = made.scripted.requests
    assert (first["temperature"], second["temperature"]) == (0.0, 0.3)
    assert first["seed"] != second["seed"]
    assert second["messages"][-2]["role"] == "assistant"
    assert "/steps/2/tool: no tool 'bank.transfer_everything'" in second["messages"][-1]["content"]


def test_a_lie_about_risk_changes_neither_risk_nor_gates(world: Make, tmp_path: Path) -> None:
    honest, lying = World(tmp_path / "a", script("good", PLAN)).live(), world("lie-about-risk").live()
    assert honest.plan == lying.plan
    assert honest.digest == lying.digest


@pytest.mark.parametrize("mode", ["good", "repaired", "endless-repair", "cycle", "wrong-types", "invalid-json"])
def test_no_request_of_any_round_has_a_byte_of_outside_text(world: Make, mode: Mode) -> None:
    made = world(mode)
    made.live()
    assert made.scripted.requests
    sent = json.dumps(made.scripted.requests, ensure_ascii=False)
    assert CANARY not in sent
    assert "evil.example" not in sent


def test_a_policy_that_forbids_a_step_tells_the_model_no_value(world: Make) -> None:
    """The policy's reasons quote outside text for the person; the model gets a word of ours."""
    args: dict[str, Json] = {
        "template": "renewal.md", "name": {"tpl": "{0}.md", "parts": [{"fact": "fact.expiry.what"}]}, "field": [],
    }  # fmt: skip
    made = world(script("good", {"steps": [step("s1", "document.write", args)], "questions": []}))
    made.live()
    assert CANARY not in json.dumps(made.scripted.requests)


def test_with_the_model_off_the_reminder_is_offered_at_once(world: Make) -> None:
    made = world("good", model=None)
    assert reminder(made.live()) == "the rule names no playbook"
    assert made.types == ["proposal.drafted", "proposal.offered"]
    assert made.scripted.requests == []


def test_a_playbook_that_fits_is_offered_at_once_and_the_model_is_not_asked(world: Make) -> None:
    made = world("good", wanted=trigger(playbook="renew-document"))
    state = made.live()
    assert state.plan is not None
    assert state.plan.planner.startswith("playbook:renew-document")
    assert made.scripted.requests == []


def test_a_playbook_that_is_surely_meant_goes_before_the_reminder(world: Make) -> None:
    state = world("refusal", wanted=trigger(asks="Renew the passport in time.")).live()
    assert state.plan is not None
    assert state.plan.planner.startswith("playbook:renew-document")


def test_a_rate_limit_is_waited_for(world: Make) -> None:
    made = world(in_turn([Status(429, retry_after="30"), Text(json.dumps(PLAN))]))
    state = made.live()
    assert state.plan is not None
    assert state.plan.planner == "model:scripted@2"
    assert made.clock.now() == NOW + timedelta(seconds=30)


def test_a_rate_limit_beyond_the_patience_is_not_waited_for(world: Make) -> None:
    made = world(lambda body: Status(429, retry_after="3600"))
    assert "wanted us to wait" in reminder(made.live())
    assert made.clock.now() == NOW


def test_when_time_is_up_the_reminder_is_offered_whatever_the_model_does(world: Make) -> None:
    made = world("good")
    journal = made.log.open(OWNER)
    asyncio.run(made.say(journal, made.wanted))
    assert next_tick(journal.book) == NOW + MODEL.patience
    made.clock.advance_to(NOW + MODEL.patience)
    asyncio.run(made.say(journal, Tick()))
    assert "took too long" in reminder(made.state)


def test_a_bug_of_the_client_ends_as_a_reminder_and_not_as_the_end_of_the_service(world: Make) -> None:
    def bug(body: Body) -> Said:
        raise KeyError("a bug")

    made = world(bug)
    assert "server failed" in reminder(made.live())
    assert len(made.log.open(OWNER).book.spending.requests) == 1


# -- the person, meanwhile


def test_there_is_nothing_to_approve_while_a_plan_is_made(world: Make) -> None:
    made = world("good")
    journal = made.log.open(OWNER)
    asyncio.run(made.say(journal, made.wanted))
    drafts = asyncio.run(made.say(journal, made.command("approve")))
    assert [(draft.type, draft.body["code"]) for draft in drafts] == [("command.refused", "planning")]


def withdrawn(made: World) -> Input:
    return Retraction(
        id="r1", owner=OWNER, trigger=made.wanted.id, rule="own-rule", key=made.wanted.key, at=NOW, reason="cancelled"
    )


@pytest.mark.parametrize("late", [lambda made: withdrawn(made), lambda made: made.command("reject")])
def test_an_answer_after_the_proposal_was_closed_opens_it_no_more(world: Make, late: Callable[[World], Input]) -> None:
    made = world("good")
    journal = made.log.open(OWNER)

    def close(body: Body) -> Said:
        journal_drafts.extend(decide(journal.book, late(made), made.clock.now(), made.setup))
        return Text(json.dumps(PLAN))

    journal_drafts: list[Draft] = []
    made.scripted.script = close

    async def closed_meanwhile() -> None:
        await made.say(journal, made.wanted)
        asker = Asker(journal, journal.book, made.setup, made.scripted, made.clock)
        await asker.advance(made.proposal)
        concluding = decide(journal.book, Tick(), made.clock.now(), made.setup)
        assert [draft.type for draft in concluding] == ["proposal.offered"]
        await journal.append(journal_drafts)
        assert await journal.append(concluding) == []

    asyncio.run(closed_meanwhile())
    assert made.state.phase in ("retracted", "rejected")


def test_a_newer_trigger_begins_anew_and_old_answers_do_not_count(world: Make) -> None:
    made = world("good")
    newer = trigger(id="t2", occurrence="2", deadline_at=NOW + timedelta(days=100))
    journal = made.log.open(OWNER)

    async def overtaken() -> None:
        await made.say(journal, made.wanted)
        first = journal.book.proposals[made.proposal].planning
        await made.say(journal, newer)
        second = journal.book.proposals[made.proposal].planning
        assert first is not None
        assert second is not None
        assert first.id != second.id
        body: dict[str, Json] = {"planning": first.id, "code": "refused", "retry_at": None}
        await journal.append([Draft(made.proposal, "model.failed", NOW, "planner", first.id, body)])
        assert second.rounds == []

    asyncio.run(overtaken())
    state = made.live(first=Tick())
    assert state.plan is not None
    assert (state.plan.planner, state.trigger.id) == ("model:scripted@2", "t2")


QUESTION: Json = {"slot": "office", "type": "Email", "text": "Which office is it?"}


def test_a_question_is_put_to_the_person_and_the_answer_goes_into_the_plan(world: Make) -> None:
    args: dict[str, Json] = {"to": {"fact": "office"}, "subject": "Renewal", "body": "Hello", "in_reply_to": None}
    drafting: Json = {"steps": [step("s1", "mail.draft", args)], "questions": []}
    made = world(in_turn([Text(json.dumps({"steps": [], "questions": [QUESTION]})), Text(json.dumps(drafting))]))
    asked = made.live()
    assert asked.phase == "needs_input"
    assert [(q.slot, q.type, q.text) for q in asked.questions] == [("office", "Email", "Which office is it?")]
    state = made.live(first=made.command("answer", slots={"office": "office@gov.example"}))
    assert state.plan is not None
    assert (state.phase, state.plan.step("s1").gate) == ("offered", "plan")
    assert '- office: Email = \\"office@gov.example\\"' in json.dumps(made.scripted.requests[1])


# -- budgets


def test_a_budget_that_is_spent_forbids_the_request(world: Make) -> None:
    made = world("good", model=replace(MODEL, tokens_per_day=1000))
    assert "the model's budget is spent" in reminder(made.live())
    assert made.scripted.requests == []
    assert "model.asked" not in made.types


def test_a_plans_own_budget_bounds_its_repairs(world: Make) -> None:
    made = world("endless-repair", model=replace(MODEL, tokens_per_plan=12_000))
    assert "the model's budget is spent" in reminder(made.live())
    assert 1 <= len(made.scripted.requests) < 3


def test_a_day_has_a_cost_and_the_next_day_has_its_own(world: Make) -> None:
    priced = replace(MODEL, price_in=Decimal(1000), price_out=Decimal(1000), cost_per_day=Decimal(12))
    made = world("good", model=priced)
    made.live()
    assert len(made.scripted.requests) == 1
    spent = made.log.open(OWNER).book.spending.requests
    assert sum(item.cost for item in spent.values()) > 3
    second = replace_trigger(made)
    assert "budget" in reminder(made.live(first=second))
    made.clock.advance_to(NOW + timedelta(days=1))
    third = replace_trigger(made)
    assert made.live(first=third).plan is not None
    assert len(made.scripted.requests) == 2


def replace_trigger(made: World) -> Trigger:
    number = str(len(made.log.entries))
    made.wanted = trigger(id=f"t{number}", key=f"k{number}")
    made.proposal = ids.proposal_id(OWNER, made.wanted.id)
    return made.wanted


def test_a_reservation_counts_in_full_until_it_is_settled(world: Make) -> None:
    made = world("good")
    made.live()
    asked = next(entry for entry in made.log.entries if entry.type == "model.asked")
    answered = next(entry for entry in made.log.entries if entry.type == "model.answered")
    reserved, used = asked.body, answered.body
    (settled,) = made.log.open(OWNER).book.spending.requests.values()
    assert settled.tokens == int(str(used["prompt_tokens"])) + int(str(used["completion_tokens"]))
    made.log.entries.remove(answered)
    del made.log.entries[made.log.entries.index(asked) + 1 :]
    (open_,) = made.log.open(OWNER).book.spending.requests.values()
    assert open_.tokens == int(str(reserved["prompt_tokens"])) + int(str(reserved["max_tokens"]))


# -- the egress ledger


def test_the_ledger_has_each_byte_that_left_and_what_was_withheld(world: Make) -> None:
    made = world("repaired")
    made.live()
    asked = [entry.body for entry in made.log.entries if entry.type == "model.asked"]
    assert [body["request"] for body in asked] == made.scripted.requests
    withheld: Any = asked[0]["withheld"]
    assert {"name": "party.name", "type": "Text", "why": "outside_text"}.items() <= withheld_of(withheld, "party.name")
    assert CANARY not in json.dumps([body["withheld"] for body in asked])


def withheld_of(withheld: list[dict[str, Json]], name: str) -> Any:
    return next(item for item in withheld if item["name"] == name).items()


# -- crashes


class Died(BaseException):
    pass


def deaths(made: Callable[[], World]) -> list[str]:
    """The points of a whole life."""
    seen: list[str] = []
    made().live(seen.append)
    return seen


@pytest.mark.parametrize("mode", ["good", "repaired", "endless-repair", "cut-stream"])
def test_a_death_at_any_point_loses_no_answer_and_ends_the_same(mode: Mode, tmp_path: Path) -> None:
    def fresh() -> World:
        return World(tmp_path, script(mode, PLAN))

    whole = fresh()
    wanted = whole.live().plan
    points = deaths(fresh)
    assert len(points) > 6
    for at in range(len(points)):
        made = fresh()
        left = at

        def die(point: str) -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise Died(point)

        with pytest.raises(Died):
            made.live(die)
        assert made.live().plan == wanted, points[at]
        answers = made.types.count("model.answered")
        lost = len(made.scripted.requests) - answers
        assert lost <= 1, points[at]
        assert len(made.scripted.requests) <= len(whole.scripted.requests) + 1, points[at]
        assert audit.verify(made.log.entries) == []


def test_an_answer_that_is_in_the_journal_is_not_asked_for_again(world: Make) -> None:
    made = world("good")

    def die(point: str) -> None:
        if point == "after append model.answered":
            raise Died

    with pytest.raises(Died):
        made.live(die)
    made.scripted.script = lambda body: Cut("")
    state = made.live()
    assert state.plan is not None
    assert state.plan.planner == "model:scripted@2"
    assert len(made.scripted.requests) == 1


# -- a goal of the person's own


def do(made: World, goal: Json, **args: Json) -> Command:
    id_ = ids.command_id("goal", "do", str(len(made.log.entries)))
    made.proposal = ids.proposal_id(OWNER, id_)
    return Command(
        id=id_, owner=OWNER, who=OWNER, channel="cli", verb="do", proposal="goal", args={"goal": goal, **args}, at=NOW
    )


def test_a_goal_that_a_playbook_is_for_becomes_its_plan_without_a_model(world: Make) -> None:
    made = world("good", model=None)
    state = made.live(first=do(made, "renew my passport", by="2025-12-20"))
    assert state.plan is not None
    assert state.plan.planner.startswith("playbook:renew-document")
    assert state.plan.step("s3").tool == "wait.until"
    assert state.trigger.deadline_at is not None


def test_a_goal_that_lacks_a_fact_asks_for_it(world: Make) -> None:
    made = world("good", model=None)
    state = made.live(first=do(made, "pay the plumber's bill"))
    assert state.phase == "needs_input"
    assert [question.text for question in state.questions] == ["Who is to be paid?"]


def test_a_goal_that_no_playbook_is_for_is_a_reminder_without_a_model(world: Make) -> None:
    made = world("good", model=None)
    assert reminder(made.live(first=do(made, "water the plants"))) == "no playbook is about this"


def test_a_goal_that_no_playbook_is_for_is_planned_by_the_model_in_the_persons_words(world: Make) -> None:
    plan: Json = {"steps": [step("s1", "notify", {"text": "Water the plants"})], "questions": []}
    made = world(script("good", plan))
    state = made.live(first=do(made, "Water the plants"))
    assert state.plan is not None
    assert state.plan.planner == "model:scripted@2"
    assert "Goal: Water the plants" in made.scripted.requests[0]["messages"][1]["content"]


@pytest.mark.parametrize(
    "args",
    [{"goal": ""}, {"goal": 7}, {"goal": "x" * 301}, {"goal": "x", "by": "soon"}, {"goal": "x", "by": "1999-01-01"}],
)
def test_a_goal_that_is_none_is_refused(world: Make, args: dict[str, Json]) -> None:
    made = world("good")
    command = do(made, **args)  # type: ignore[arg-type]  # what a client may send
    journal = made.log.open(OWNER)
    assert [draft.type for draft in asyncio.run(made.say(journal, command))] == ["command.refused"]


def test_a_command_that_comes_twice_makes_one_proposal(world: Make) -> None:
    made = world("good", model=None)
    command = do(made, "water the plants")
    made.live(first=command)
    entries = len(made.log.entries)
    made.live(first=command)
    assert len(made.log.entries) == entries
