"""Done is not reached: what must be seen for a goal, in a model's plan and at the end of every run that names one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from actions.planning import goals
from actions.planning.playbook_loader import load_all
from actions.proposal.state import ProposalState
from actions.testing.canary import CANARY, NOW, step, trigger
from actions.testing.desk import Desk
from actions.testing.household import plain_executor
from actions.testing.modelscript import Body, Said, Text, in_turn
from forewatch.cards import card
from schemas.clock import ManualClock
from schemas.event import Event, Party
from schemas.goal import GoalName
from schemas.model import Json
from schemas.money import Money
from schemas.payloads import BankPayload, MailPayload
from schemas.value import Integrity, Value
from tests.unit.actions.test_planning import World

SAID: dict[str, Json] = {"steps": [step("s1", "notify", {"text": "Pay it"})], "questions": []}


def awaited(kind: str, tell: str = "title") -> dict[str, Json]:
    match: Json = [{"name": "party", "value": {"fact": "party.name"}}]
    wait: dict[str, Json] = {"kind": kind, "until": None, "days": 14, "on_timeout": None, "match": match}
    told: Json = {"tpl": "It came: {0}", "parts": [{"from": "s1", "field": tell}]}
    return {"steps": [step("s1", "wait.event", wait), step("s2", "notify", {"text": told}, "s1")], "questions": []}


def world(folder: Path, reaches: GoalName | None, *answers: Json) -> World:
    import json

    says: list[Said] = [Text(json.dumps(answer)) for answer in answers]
    return World(folder, in_turn(says), wanted=trigger(reaches=reaches))


def event(kind: str, title: str, **changes: object) -> Event:
    at = NOW + timedelta(days=1)
    name = str(trigger().values["party.name"].v)
    base: dict[str, object] = {
        "id": "e1", "owner": "ann", "account": "a", "source": "x", "kind": kind, "subject": "s", "version": "1",
        "occurred_at": at, "observed_at": at, "title": title, "parties": (Party(role="from", name=name),),
    }  # fmt: skip
    return Event.model_validate(base | changes)


def debit() -> Event:
    money = Money(amount=Decimal("-66.60"), currency="EUR")
    return event("bank.posted", "Debit", amount=money, payload=BankPayload(), trust="service")


def mail(title: str) -> Event:
    return event("mail.received", title, payload=MailPayload())


def ran(made: World, events: Iterable[Event] = ()) -> ProposalState:
    """Planned by the model, approved, and run to its end; everything that is asked is confirmed."""
    made.live()
    asyncio.run(_ran(made, events))
    return made.state


async def _ran(made: World, events: Iterable[Event]) -> None:
    journal = made.log.open("ann")
    await made.say(journal, made.command("approve", journal.book.proposals[made.proposal].digest))
    executor = plain_executor(journal, made.setup, made.clock)
    coming = list(events)
    for _ in range(60):
        state = journal.book.proposals[made.proposal]
        if state.phase in ("done", "failed", "stopped"):
            return
        gates = [(uid, live.gate.digest) for uid, live in state.steps.items() if live.gate]
        for uid, digest in gates:
            await made.say(journal, made.command("confirm", digest, step=uid))
        when = await executor.advance(made.proposal)
        if coming and any(live.phase == "waiting" for live in journal.book.proposals[made.proposal].steps.values()):
            made.log.events.append(coming.pop(0))
            await journal.feed(made.clock)
        else:
            made.clock.advance_to(when or made.clock.now())
    raise AssertionError(f"the run does not end: {journal.book.proposals[made.proposal]}")


def test_a_models_plan_that_could_not_show_its_goal_is_repaired(tmp_path: Path) -> None:
    made = world(tmp_path, "bill-paid", SAID, awaited("bank.posted"))
    state = made.live()
    assert state.plan is not None
    assert state.plan.goal == goals.GOALS["bill-paid"]
    first, second = (str(body["messages"]) for body in made.scripted.requests)
    assert "Reached only when the bill is paid: its debit seen, or the payment file confirmed by you." in first
    assert "nothing in the plan would show that the bill is paid" in second
    assert "wait.event with kind 'bank.posted'" in second
    assert CANARY not in first + second


def test_one_that_never_shows_it_is_not_offered(tmp_path: Path) -> None:
    made = world(tmp_path, "bill-paid", SAID)
    state = made.live()
    assert state.plan is not None
    assert (state.plan.planner, state.plan.goal) == ("reminder", None)
    assert "nothing in the plan would show that the bill is paid" in state.plan.reasons[-1]
    assert len(made.scripted.requests) == 3


def test_the_same_plan_is_offered_where_no_goal_is_named(tmp_path: Path) -> None:
    state = world(tmp_path, None, SAID).live()
    assert state.plan is not None
    assert state.plan.planner.startswith("model:")


def test_the_tools_that_can_show_a_goal_are_always_among_those_that_a_model_is_told(tmp_path: Path) -> None:
    made = world(tmp_path, "bill-paid", awaited("bank.posted"))
    made.live()
    told: Body = made.scripted.requests[0]
    assert "- wait.event(" in str(told["messages"])


@pytest.mark.parametrize(
    ("reaches", "kind", "events", "is_shown"),
    [
        ("bill-paid", "bank.posted", [debit()], True),
        ("bill-paid", "bank.posted", [], False),
        ("document-renewed", "mail.received", [mail("Your licence: application approved")], True),
        ("document-renewed", "mail.received", [mail("Ihr Antrag wurde genehmigt")], True),
        ("document-renewed", "mail.received", [mail("Your application was not approved")], False),
        ("document-renewed", "mail.received", [mail("We have received your application")], False),
        ("document-renewed", "mail.received", [], False),
        ("contract-ended", "mail.received", [mail("We confirm: your contract ends in May")], True),
        ("refund-received", "bank.posted", [debit()], True),
        ("reply-sent", "mail.sent", [event("mail.sent", "Re: hello", payload=MailPayload())], True),
        ("reply-sent", "mail.sent", [], False),
    ],
)
def test_a_run_that_is_over_says_whether_its_goal_was_seen(
    tmp_path: Path, reaches: GoalName, kind: str, events: list[Event], is_shown: bool
) -> None:
    made = world(tmp_path, reaches, awaited(kind))
    state = ran(made, events)
    assert state.phase == "done"
    assert state.reason == ("done" if is_shown else "unproven")
    goal = goals.GOALS[reaches]
    assert state.says == ("" if is_shown else f"done, goal not proven: nothing shows that {goal.says} ({goal.by})")
    lines = " ".join(card(state, made.setup, made.setup.settings.zone)["lines"])
    assert ("goal not proven" in lines) is not is_shown


def test_a_payment_file_proves_it_only_under_its_own_confirmation(tmp_path: Path) -> None:
    iban = Value(v="DE89370400440532013000", type="Iban", sources=("ev-1",))
    name = Value(v="Acme", type="Text", sources=("ev-1",), integrity=Integrity.KNOWN)
    amount = trigger().values["amount"].model_copy(update={"integrity": Integrity.KNOWN})
    values = {**trigger().values, "fact.invoice.iban": iban, "fact.payee": name, "fact.sum": amount}
    args: dict[str, Json] = {
        "payee": {"fact": "fact.payee"}, "iban": {"fact": "fact.invoice.iban"}, "amount": {"fact": "fact.sum"},
    }  # fmt: skip
    made = world(tmp_path, "bill-paid")
    manifest = made.setup.tools.manifest("payment.file")
    assert manifest is not None
    fixed: dict[str, Json] = {
        name: args.get(name, "pay.xml" if arg.type == "FileName" else None) for name, arg in manifest.args.items()
    }
    plan: Json = {"steps": [step("s1", "payment.file", fixed)], "questions": []}
    made = world(tmp_path, "bill-paid", plan)
    made.wanted = trigger(reaches="bill-paid", asks="Pay the transfer", values=values)
    state = ran(made)
    assert (state.phase, state.reason) == ("done", "done"), state.says
    assert [grant.grant.level for grant in state.grants.values() if grant.used_by] == ["second"]


def test_playbooks_say_what_must_be_seen_and_their_runs_are_held_to_it(tmp_path: Path) -> None:
    tools = Desk(tmp_path, ManualClock(NOW)).registry()
    named = {name: playbook.reaches for name, playbook in load_all(tools).items() if playbook.reaches}
    assert named["pay-invoice"] == "bill-paid"
    assert named["apply-for-renewal"] == "document-renewed"
    assert named["answer-mail"] == "reply-sent"
    state = ran(World(tmp_path, lambda body: Text("{}"), wanted=trigger(playbook="answer-mail")))
    assert state.plan is not None
    assert state.plan.planner.startswith("playbook:answer-mail")
    assert (state.phase, state.reason) == ("done", "unproven")
    assert state.says.startswith("done, goal not proven: nothing shows that the reply is sent")


def test_a_rules_own_word_goes_before_its_playbooks(tmp_path: Path) -> None:
    books = load_all(Desk(tmp_path, ManualClock(NOW)).registry())
    found = goals.of(trigger(playbook="answer-mail", reaches="bill-paid"), books)
    assert found is not None
    assert found.name == "bill-paid"
    assert goals.of(trigger(), books) is None
