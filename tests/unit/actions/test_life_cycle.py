"""A proposal from its trigger to its end, by rules, people and time."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from actions.policy.policy import Policy
from actions.proposal.propose import Tick, next_tick
from actions.proposal.state import ProposalState
from actions.settings import ActSettings
from actions.setup import Setup
from actions.testing.bank import BankTool, Ledger, manifest
from actions.testing.household import START, playbook, trigger
from actions.testing.talk import Talk
from actions.tools.tool import Registry
from actions.tools.wait import WaitUntil
from schemas.clock import ManualClock
from schemas.journal import JournalEntry
from schemas.trigger import Retraction, Trigger
from schemas.value import Integrity, Value


def talk(budget: int = 3, **changes: object) -> Talk:
    """A world whose payment tool writes to the owner only, so that approving is all it takes."""
    clock = ManualClock(START)
    ledger = Ledger(clock)
    tools = [BankTool(manifest("bank.pay", "keyed", effect="write_self"), ledger), WaitUntil()]
    return Talk(Setup({"pay": playbook("small")}, Registry(tools), settings=ActSettings(daily_budget=budget)), clock)


def offered(world: Talk, fired: Trigger | None = None) -> ProposalState:
    fired = fired or trigger()
    world.say(fired)
    state = world.book.by_trigger(fired.id)
    assert state is not None
    return state


def types(entries: list[JournalEntry]) -> list[str]:
    return [entry.type for entry in entries]


def code(entries: list[JournalEntry]) -> str:
    assert types(entries)[0] in ("command.refused", "note")
    return str(entries[0].body["code"])


def retraction(of: Trigger, reason: str = "unless") -> Retraction:
    return Retraction(
        id=f"r-{of.id}", owner=of.owner, trigger=of.id, rule=of.rule, key=of.key, at=START, reason=reason, says="Paid."
    )


class TestTriggers:
    def test_a_trigger_becomes_one_offered_proposal_with_a_plan(self) -> None:
        world = talk()
        state = offered(world)
        assert (state.phase, state.surface, state.surface_reason) == ("offered", "now", "within_budget")
        assert state.plan is not None
        assert state.plan.planner == f"playbook:pay/1@{'0' * 12}"

    def test_the_same_trigger_again_changes_nothing(self) -> None:
        world = talk()
        offered(world)
        assert world.say(trigger()) == []

    def test_a_newer_trigger_of_the_same_key_refreshes_in_place_under_a_new_digest(self) -> None:
        world = talk()
        state = offered(world)
        before = state.digest
        dearer = Value(v={"amount": "90.00", "currency": "EUR"}, type="Money", integrity=Integrity.KNOWN)
        entries = world.say(trigger(2, values=trigger().values | {"fact.invoice.amount": dearer}))
        assert types(entries) == ["proposal.refreshed"]
        assert entries[0].body["diff"] == [
            {"step": "s1", "what": "amount", "before": "82.50 EUR", "after": "90.00 EUR"}
        ]
        assert len(world.book.proposals) == 1
        assert (state.digest != before, state.trigger.id) == (True, trigger(2).id)
        assert code(world.tell(state, "approve", digest=before)) == "stale"

    def test_a_rule_without_a_playbook_gives_a_reminder(self) -> None:
        world = talk()
        state = offered(world, trigger(playbook=None))
        assert state.phase == "offered"
        assert state.plan is not None
        assert state.plan.planner == "reminder"
        assert "the rule names no playbook" in state.plan.reasons[-1]

    def test_a_missing_required_fact_is_asked_for_and_the_answer_makes_the_plan(self) -> None:
        world = talk()
        values = {name: value for name, value in trigger().values.items() if name != "party.name"}
        state = offered(world, trigger(values=values))
        assert (state.phase, [q.slot for q in state.questions]) == ("needs_input", ["payee"])
        assert code(world.tell(state, "approve", digest="")) == "needs_input"
        assert code(world.tell(state, "answer", slots={"payee": 7})) == "bad_value"
        world.tell(state, "answer", slots={"payee": "Acme GmbH"})
        assert state.phase == "offered"
        assert state.plan is not None
        payee = state.plan.steps[0].args["payee"]
        assert payee.kind == "fixed"
        assert (payee.value.v, payee.value.integrity) == ("Acme GmbH", Integrity.USER)

    def test_a_later_lead_of_a_rejected_or_running_matter_only_leaves_a_note(self) -> None:
        world = talk()
        state = offered(world)
        world.tell(state, "reject", reason="not useful")
        assert code(world.say(trigger(2))) == "already_rejected"
        other = offered(world, trigger(3, key="other"))
        world.tell(other, "approve")
        assert code(world.say(trigger(4, key="other"))) == "already_running"

    def test_another_deadline_after_a_rejection_is_a_new_question(self) -> None:
        world = talk()
        state = offered(world)
        world.tell(state, "reject")
        entries = world.say(trigger(2, deadline_at=START + timedelta(days=50)))
        assert types(entries) == ["proposal.drafted", "proposal.offered"]
        assert len(world.book.proposals) == 2

    def test_changed_facts_stop_a_run_and_are_offered_anew(self) -> None:
        world = talk()
        state = offered(world)
        world.tell(state, "approve")
        dearer = Value(v={"amount": "90.00", "currency": "EUR"}, type="Money", integrity=Integrity.KNOWN)
        entries = world.say(trigger(2, values=trigger().values | {"fact.invoice.amount": dearer}))
        assert types(entries) == ["run.stopping", "grant.revoked", "proposal.drafted", "proposal.offered"]
        assert (state.phase, state.stop_reason) == ("stopping", "facts_changed")


class TestAnswers:
    def test_approval_grants_the_exact_steps_and_starts_a_run(self) -> None:
        world = talk()
        state = offered(world)
        assert types(world.tell(state, "approve")) == ["grant.issued", "run.started"]
        (held,) = state.grants.values()
        assert held.grant.args == trigger_args()
        assert (held.grant.by, held.grant.level) == ("ann", "plan")
        assert held.grant.expires_at == START + timedelta(hours=24)

    def test_a_second_answer_is_refused_with_who_was_first(self) -> None:
        world = talk()
        state = offered(world)
        world.tell(state, "approve", channel="web")
        entries = world.tell(state, "reject", channel="mail")
        assert code(entries) == "already_answered"
        assert "approve by person:ann via web" in str(entries[0].body["message"])
        assert state.phase == "running"

    def test_of_two_channels_at_once_exactly_one_wins(self) -> None:
        world = talk()
        state = offered(world)
        commands = [world.command(state, "approve", channel=channel) for channel in ("web", "mail")]
        outcomes = [types(world.say(command)) for command in commands]
        assert outcomes == [["grant.issued", "run.started"], ["command.refused"]]
        assert len(state.grants) == 1

    def test_the_same_command_delivered_twice_is_obeyed_once(self) -> None:
        world = talk()
        state = offered(world)
        command = world.command(state, "approve")
        assert world.say(command) != []
        assert world.say(command) == []

    def test_an_answer_to_another_plan_is_refused(self) -> None:
        world = talk()
        state = offered(world)
        assert code(world.tell(state, "approve", digest="f" * 64)) == "stale"
        assert (state.phase, state.grants) == ("offered", {})

    def test_a_command_for_an_unknown_proposal_is_refused_in_a_stream_of_its_own(self) -> None:
        world = talk()
        state = offered(world)
        command = world.command(state, "approve").model_copy(update={"proposal": "nonesuch"})
        (entry,) = world.say(command)
        assert (entry.stream, entry.type, entry.body["code"]) == ("unaddressed", "command.refused", "unknown_proposal")

    def test_an_edit_is_typed_revalidated_and_voids_what_was_approved_before(self) -> None:
        world = talk()
        state = offered(world)
        before = state.digest
        assert code(world.tell(state, "edit", step="s1", args={"amount": "a lot"})) == "bad_value"
        assert code(world.tell(state, "edit", step="s9", args={"amount": 1})) == "unknown_step"
        assert code(world.tell(state, "edit", step="s1", args={"tip": "5"})) == "unknown_argument"
        entries = world.tell(state, "edit", step="s1", args={"amount": {"amount": "80.00", "currency": "EUR"}})
        assert types(entries) == ["proposal.edited"]
        assert entries[0].body["diff"] == [
            {"step": "s1", "what": "amount", "before": "82.50 EUR", "after": "80.00 EUR"}
        ]
        assert state.plan is not None
        assert (state.plan.version, state.plan.planner, state.digest == before) == (2, "person", False)
        assert code(world.tell(state, "approve", digest=before)) == "stale"
        world.tell(state, "approve")
        (held,) = state.grants.values()
        assert held.grant.args["amount"].integrity == Integrity.USER

    def test_a_snoozed_proposal_wakes_at_its_time_and_can_be_answered_before(self) -> None:
        world = talk()
        state = offered(world)
        until = START + timedelta(days=2)
        assert code(world.tell(state, "snooze", until="soon")) == "bad_argument"
        assert code(world.tell(state, "snooze", until=START.isoformat())) == "bad_argument"
        assert code(world.tell(state, "snooze", until=(START + timedelta(days=40)).isoformat())) == "too_late"
        world.tell(state, "snooze", until=until.isoformat())
        assert (state.phase, next_tick(world.book)) == ("snoozed", until)
        assert world.say(Tick()) == []
        world.clock.advance_to(until)
        assert types(world.say(Tick())) == ["proposal.woken"]
        assert state.phase == "offered"

    def test_what_is_known_until_it_clears_stays_quiet_whatever_comes_and_ends_with_the_situation(self) -> None:
        world = talk()
        state = offered(world)
        world.tell(state, "snooze", until="clears")
        assert (state.phase, state.acknowledged, next_tick(world.book)) == ("snoozed", "clears", state.expires_at)
        dearer = Value(v={"amount": "90.00", "currency": "EUR"}, type="Money", integrity=Integrity.KNOWN)
        world.say(trigger(2, urgency="critical", values=trigger().values | {"fact.invoice.amount": dearer}))
        assert (state.phase, state.surface, state.surface_reason) == ("snoozed", "digest", "acknowledged")
        world.say(retraction(trigger(2)))
        assert state.phase == "retracted"
        assert offered(world, trigger(3)).surface == "now"

    def test_what_is_known_until_it_clears_says_nothing_of_later_leads_after_its_deadline(self) -> None:
        world = talk()
        state = offered(world)
        world.tell(state, "snooze", until="clears")
        assert state.expires_at is not None
        world.clock.advance_to(state.expires_at)
        world.say(Tick())
        assert (state.phase, state.says) == ("expired", "You knew of it, and its time is over; nothing was done.")
        assert code(world.say(trigger(2, follows=trigger().id))) == "acknowledged"
        assert types(world.say(trigger(3))) == ["proposal.drafted", "proposal.offered"]  # the first was withdrawn

    def test_what_is_known_until_it_changes_comes_back_with_other_facts_only(self) -> None:
        world = talk()
        state = offered(world)
        world.tell(state, "snooze", until="changes")
        world.say(trigger(2))
        assert (state.phase, state.surface_reason) == ("snoozed", "acknowledged")
        dearer = Value(v={"amount": "90.00", "currency": "EUR"}, type="Money", integrity=Integrity.KNOWN)
        world.say(trigger(3, values=trigger().values | {"fact.invoice.amount": dearer}))
        assert (state.phase, state.acknowledged, state.surface_reason) == ("offered", "", "within_budget")

    def test_never_mutes_the_rule_for_this_key_only(self) -> None:
        world = talk()
        state = offered(world)
        world.tell(state, "never")
        assert state.phase == "rejected"
        assert code(world.say(trigger(2, deadline_at=START + timedelta(days=60)))) == "muted"
        assert types(world.say(trigger(3, key="other"))) == ["proposal.drafted", "proposal.offered"]

    def test_stop_needs_something_that_runs(self) -> None:
        world = talk()
        state = offered(world)
        assert code(world.tell(state, "stop")) == "not_running"
        world.tell(state, "approve")
        assert types(world.tell(state, "stop")) == ["run.stopping", "grant.revoked"]
        assert all(held.revoked == "person" for held in state.grants.values())
        assert code(world.tell(state, "stop")) == "not_running"

    def test_confirm_and_answer_need_a_question(self) -> None:
        world = talk()
        state = offered(world)
        world.tell(state, "approve")
        assert code(world.tell(state, "confirm", step="s1")) == "not_gated"
        assert code(world.tell(state, "answer", step="s1", happened=True)) == "not_asked"

    def test_commands_without_what_they_need_say_what_it_is(self) -> None:
        world = talk()
        state = offered(world)
        assert code(world.tell(state, "edit", step="s1")) == "bad_argument"
        assert code(world.tell(state, "answer", slots={"payee": "x"})) == "bad_argument"
        assert code(world.tell(state, "answer", slots={})) == "bad_argument"
        world.tell(state, "approve")
        assert code(world.tell(state, "confirm", step="s9")) == "unknown_step"
        assert code(world.tell(state, "snooze", until="changes")) == "already_answered"

    def test_an_edit_that_makes_the_plan_unsound_is_refused(self) -> None:
        """The tool was switched off between the offer and the edit."""
        world = talk()
        state = offered(world)
        world.setup = replace(world.setup, tools=Registry([WaitUntil()]))
        entries = world.tell(state, "edit", step="s1", args={"payee": "Acme"})
        assert (code(entries), entries[0].body["message"]) == ("unknown_argument", "bank.pay has no argument 'payee'")


class TestTime:
    def test_a_late_answer_to_a_question_asks_it_again(self) -> None:
        world = talk()
        values = {name: value for name, value in trigger().values.items() if name != "party.name"}
        state = offered(world, trigger(values=values))
        world.clock.advance_to(START + timedelta(days=18))
        world.say(Tick())
        entries = world.tell(state, "answer", slots={"payee": "Acme"})
        assert types(entries) == ["command.refused", "proposal.needs_input"]
        assert types(world.tell(state, "answer", slots={"payee": "Acme"})) == ["proposal.offered"]

    def test_silence_is_neither_consent_nor_rejection(self) -> None:
        world = talk()
        state = offered(world)
        deadline = START + timedelta(days=17)
        assert next_tick(world.book) == deadline
        world.clock.advance_to(deadline)
        assert types(world.say(Tick())) == ["proposal.expired"]
        assert (state.phase, state.grants, state.answered) == ("expired", {}, None)
        assert types(world.say(trigger(2))) == ["proposal.drafted", "proposal.offered"]

    @pytest.mark.parametrize("ticked", [True, False])
    def test_a_late_answer_does_nothing_but_ask_again(self, ticked: bool) -> None:
        world = talk()
        state = offered(world)
        before = state.digest
        world.clock.advance_to(START + timedelta(days=18))
        if ticked:
            world.say(Tick())
        entries = world.tell(state, "approve", digest=before)
        assert (types(entries), code(entries)) == (["command.refused", "proposal.offered"], "expired")
        assert (state.phase, state.grants, state.digest == before) == ("offered", {}, False)
        assert types(world.tell(state, "approve")) == ["grant.issued", "run.started"]

    @pytest.mark.parametrize("ticked", [True, False])
    def test_rejecting_an_expired_proposal_is_still_heard(self, ticked: bool) -> None:
        world = talk()
        state = offered(world)
        world.clock.advance_to(START + timedelta(days=18))
        if ticked:
            world.say(Tick())
        world.tell(state, "never")
        assert state.phase == "rejected"
        assert world.book.memory.never(trigger())


class TestRetractions:
    def test_what_the_source_withdraws_is_withdrawn_with_the_reason(self) -> None:
        world = talk()
        state = offered(world)
        assert types(world.say(retraction(trigger()))) == ["proposal.retracted"]
        assert (state.phase, state.reason, state.says) == ("retracted", "unless", "Paid.")
        assert code(world.tell(state, "approve")) == "retracted"

    def test_a_snoozed_proposal_is_withdrawn_too(self) -> None:
        world = talk()
        state = offered(world)
        world.tell(state, "snooze", until=(START + timedelta(days=1)).isoformat())
        world.say(retraction(trigger()))
        assert (state.phase, next_tick(world.book)) == ("retracted", None)

    def test_a_running_graph_is_stopped_and_its_grants_are_revoked(self) -> None:
        world = talk()
        state = offered(world)
        world.tell(state, "approve")
        assert types(world.say(retraction(trigger()))) == ["run.stopping", "grant.revoked"]
        assert (state.phase, state.stop_reason) == ("stopping", "retracted")

    def test_the_retraction_of_a_superseded_trigger_closes_nothing(self) -> None:
        world = talk()
        state = offered(world)
        world.say(trigger(2))
        assert code(world.say(retraction(trigger(), "moved"))) == "superseded_retracted"
        assert state.phase == "offered"

    def test_a_retraction_comes_twice_or_for_nothing_we_know(self) -> None:
        world = talk()
        offered(world)
        assert world.say(retraction(trigger())) != []
        assert world.say(retraction(trigger())) == []
        assert world.say(retraction(trigger(9))) == []

    def test_a_rule_on_trial_leaves_a_note_and_proposes_nothing(self) -> None:
        world = talk()
        assert code(world.say(trigger(shadow=True))) == "shadow"
        assert world.say(trigger(shadow=True)) == []
        assert world.book.shadows == {"invoice-unpaid": ("acme-17", START)}
        assert world.say(retraction(trigger())) == []
        assert world.book.proposals == {}


class TestInterruptions:
    def test_what_exceeds_the_budget_of_the_local_day_waits_for_the_digest(self) -> None:
        world = talk(budget=2)
        states = [offered(world, trigger(n, key=str(n), urgency="high")) for n in range(4)]
        assert [state.surface for state in states] == ["now", "now", "digest", "digest"]
        assert states[2].surface_reason == "budget_spent"
        world.clock.advance_to(START + timedelta(days=1))
        assert offered(world, trigger(9, key="9")).surface == "now"

    def test_with_a_budget_of_nothing_only_the_safety_class_passes(self) -> None:
        world = talk(budget=0)
        assert offered(world).surface_reason == "budget_spent"
        critical = offered(world, trigger(2, key="2", urgency="critical"))
        assert (critical.surface, critical.surface_reason) == ("now", "critical")

    def test_low_urgency_never_interrupts(self) -> None:
        world = talk()
        assert offered(world, trigger(urgency="low")).surface_reason == "low_urgency"

    def test_proposals_that_wake_together_share_the_budget(self) -> None:
        world = talk(budget=4)
        soon = START + timedelta(days=1)
        states = [offered(world, trigger(n, key=str(n), urgency="high", deadline_at=soon)) for n in range(3)]
        until = START + timedelta(hours=2)
        for state in states:
            world.tell(state, "snooze", until=until.isoformat())
        world.clock.advance_to(until)
        world.say(Tick())
        assert [state.surface for state in states] == ["now", "digest", "digest"]

    def test_trifles_leave_the_last_interruption_of_a_day_to_what_matters_more(self) -> None:
        world = talk(budget=3)
        small = {"fact.invoice.amount": Value(v={"amount": "4.00", "currency": "EUR"}, type="Money")}
        trifles = [offered(world, trigger(n, key=str(n), values=trigger().values | small)) for n in range(3)]
        assert [state.surface_reason for state in trifles] == ["within_budget", "outranked", "outranked"]
        large = {"fact.invoice.amount": Value(v={"amount": "1900.00", "currency": "EUR"}, type="Money")}
        soon = START + timedelta(hours=20)
        urgent = trigger(9, key="9", urgency="high", deadline_at=soon, values=trigger().values | large)
        assert offered(world, urgent).surface_reason == "within_budget"
        assert offered(world, urgent.model_copy(update={"id": "t10", "key": "10"})).surface_reason == "within_budget"
        assert offered(world, urgent.model_copy(update={"id": "t11", "key": "11"})).surface_reason == "budget_spent"

    def test_the_journal_says_why_something_ranked_where_it_did(self) -> None:
        world = talk()
        entries = world.say(trigger(certainty=0.8))
        body = entries[1].body
        assert body["priority"] == {"urgency": 0.35, "value": 0.4804, "certainty": 0.8, "score": 0.1345}
        assert world.book.by_trigger(trigger().id).priority == body["priority"]  # type: ignore[union-attr]

    def test_a_rule_whose_proposals_are_rejected_loses_certainty_and_gains_it_by_approvals(self) -> None:
        world = talk(budget=9)
        for number in range(4):
            world.tell(offered(world, trigger(number, key=str(number))), "reject")
        assert world.book.standing("invoice-unpaid").certainty == 0.5
        world.tell(offered(world, trigger(7, key="7")), "approve")
        assert world.book.standing("invoice-unpaid").certainty == 5 / 9
        assert world.book.standing("another").certainty == 1


def test_a_stricter_policy_asks_for_its_own_version() -> None:
    assert Policy().version != Policy(large_amount=Decimal(5)).version


def trigger_args() -> dict[str, Value]:
    values = trigger().values
    return {"payee": values["party.name"], "amount": values["fact.invoice.amount"]}
