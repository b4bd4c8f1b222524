"""What a person sees: plain words, where they came from, what can be answered; nothing hidden, nothing reordered."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from actions.proposal import render
from actions.proposal.render import ProposalView
from actions.proposal.state import GateState
from actions.settings import ActSettings
from actions.setup import Setup
from actions.testing.household import OWNER, Household, plain_executor, trigger
from actions.tools.tool import Registry
from schemas.trigger import ConditionValue, Evidence, Trigger
from schemas.value import Value

BERLIN = ZoneInfo("Europe/Berlin")
HIDDEN = ("\u202e", "\u2066", "\u200b", "\x1b", "\x00", "\n", "\r")


def views(*, fired: Trigger | None = None, house: Household | None = None) -> list[ProposalView]:
    """The proposal as it looks when offered, when its payment waits for a confirmation, and at its end."""
    seen: list[ProposalView] = []

    async def story() -> None:
        world = house or Household("at_most_once", "small")
        journal = world.log.open(OWNER)
        executor = plain_executor(journal, world.setup, world.clock)
        await world.say(journal, fired or trigger())
        (state,) = journal.book.proposals.values()
        seen.append(render.proposal(state, world.setup))
        for _ in range(20):
            command = world.answer(state)
            if command:
                await world.say(journal, command)
            when = await executor.advance(state.id)
            world.clock.advance_to(when or world.clock.now())
            seen.append(render.proposal(state, world.setup))
            if state.phase in ("done", "failed"):
                return

    asyncio.run(story())
    return seen


def texts(data: Any) -> list[str]:
    match data:
        case str():
            return [data]
        case dict():
            return [text for value in data.values() for text in texts(value)]
        case list() | tuple():
            return [text for value in data for text in texts(value)]
    return []


def test_an_offered_proposal_says_what_why_and_at_which_risk() -> None:
    view = views()[0]
    assert view.title == "Pay Acme 82.50 EUR by 20 March"
    assert view.verbs == ("approve", "edit", "snooze", "reject", "never")
    assert view.effects == ("s1 pays: Pay 82.50 EUR to Acme",)
    assert (view.risk, view.reasons) == ("high", ("this is a payment and needs its own confirmation",))
    assert [(e.event, e.badge, e.quote) for e in view.evidence] == [("ev1", "outside", "82.50 EUR")]
    (step,) = view.steps
    assert [(arg.name, arg.text, arg.badge, arg.is_editable) for arg in step.args] == [
        ("payee", "Acme", "known", True),
        ("amount", "82.50 EUR", "known", True),
    ]
    assert (step.gate, step.reversible, step.phase) == ("second", "cannot be undone", "pending")
    assert len(view.code) == 4


def test_a_gate_shows_the_exact_values_and_the_digest_to_confirm() -> None:
    gated = views()[1]
    assert (gated.phase, gated.verbs, gated.answered) == (
        "running",
        ("confirm", "edit", "pause", "stop", "abort"),
        "approve by ann via cli",
    )
    (step,) = gated.steps
    assert (step.phase, len(step.digest)) == ("gated", 64)


def test_a_finished_step_shows_its_receipt() -> None:
    last = views()[-1]
    assert (last.phase, last.verbs) == ("done", ("wrong",))
    assert last.steps[0].receipt.startswith("seen in the ledger: ")


def test_an_unknown_outcome_shows_the_question_and_its_digest() -> None:
    house = Household("at_most_once", "small", {"bank.pay": ("lost",)}, settings=ActSettings(zone=BERLIN))
    asked = next(view for view in views(house=house) if view.steps[0].asks)
    assert asked.verbs == ("answer", "pause", "stop", "abort", "wrong")
    assert asked.steps[0].asks == (
        "I tried this and got no clear answer: Pay 82.50 EUR to Acme. Did it happen? It was sent at 2025-03-03 10:00."
    )


def test_why_a_step_asks_again_is_told_by_the_owners_clock_and_an_old_journal_says_it_as_it_did() -> None:
    at = datetime(2025, 3, 4, 23, 30, tzinfo=UTC)
    gate = GateState("d", {}, ("this is a payment",), [], at, at)
    assert render._asked_for(gate, BERLIN) == ("this is a payment", "your approval expired on 2025-03-05 00:30")
    old = replace(gate, expired_at=None, reasons=("your approval expired on 2025-03-04 23:30 UTC",))
    assert render._asked_for(old, BERLIN) == old.reasons


def test_no_version_of_a_plan_has_the_code_of_another() -> None:
    dearer = Value(v={"amount": "90.00", "currency": "EUR"}, type="Money")
    other = trigger(values=trigger().values | {"fact.invoice.amount": dearer})
    assert views()[0].code != views(fired=other)[0].code


def test_nothing_from_outside_can_hide_or_reorder_what_is_read() -> None:
    evil = "Acme\u202e\u2066 \x1b[2J\x00\u200b\nPS"
    values = trigger().values | {"party.name": Value(v=evil, type="Text", sources=("ev1",))}
    condition = ConditionValue(condition=f"title == {evil}", value=evil, holds=True)
    explanation = trigger().explanation.model_copy(update={"values": (condition,)})
    evidence = Evidence(
        event="ev1", kind="mail.received", title=evil, occurred_at=trigger().fired_at, quote=evil, trust="outside"
    )
    fired = trigger(title=f"Pay {evil}", values=values, evidence=(evidence,), explanation=explanation)
    for view in views(fired=fired):
        found = texts(asdict(view))
        assert not [text for text in found if any(c in text for c in HIDDEN)]
        assert view.title == "Pay Acme [2J PS"


def test_a_question_shows_what_was_found_but_not_trusted() -> None:
    values: dict[str, Value] = {k: v for k, v in trigger().values.items() if k != "party.name"}
    house = Household("keyed", "small")

    async def story() -> ProposalView:
        journal = house.log.open(OWNER)
        await house.say(journal, trigger(values=values))
        (state,) = journal.book.proposals.values()
        return render.proposal(state, house.setup)

    view = asyncio.run(story())
    assert (view.phase, view.verbs, view.steps) == ("needs_input", ("answer", "snooze", "reject", "never"), ())
    assert [(q.slot, q.text) for q in view.questions] == [("payee", "Pay: what is the payee?")]


def test_a_plan_whose_tool_is_gone_is_still_shown() -> None:
    house = Household("keyed", "small")

    async def story() -> ProposalView:
        journal = house.log.open(OWNER)
        await house.say(journal, trigger())
        (state,) = journal.book.proposals.values()
        return render.proposal(state, Setup(house.setup.playbooks, Registry(())))

    assert asyncio.run(story()).steps[0].does == "bank.pay (not installed)"
