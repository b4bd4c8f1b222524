"""One matter, one proposal: triggers of several rules join it, leave it, and the most urgent one leads."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from actions.policy import audit
from actions.proposal import render
from actions.proposal.book import Book
from actions.proposal.propose import Tick
from actions.proposal.state import ProposalState
from actions.settings import ActSettings
from actions.setup import Setup
from actions.testing.bank import BankTool, Ledger, manifest
from actions.testing.household import START, playbook, trigger
from actions.testing.talk import Talk
from actions.tools.tool import Registry, Tool
from actions.tools.wait import WaitUntil
from schemas.clock import ManualClock
from schemas.journal import JournalEntry
from schemas.trigger import Evidence, Explanation, Merge, Retraction, Trigger

MATTER = "invoice:acme.example:17"


def talk(budget: int = 9) -> Talk:
    clock = ManualClock(START)
    tools: list[Tool] = [BankTool(manifest("bank.pay", "keyed", effect="write_self"), Ledger(clock)), WaitUntil()]
    made = Setup({"pay": playbook("small")}, Registry(tools), settings=ActSettings(daily_budget=budget))
    return Talk(made, clock)


def fired(rule: str, number: int = 1, **changes: Any) -> Trigger:
    """A trigger of a rule about the matter; each rule has a key and an event of its own."""
    why = Explanation(rule=rule, revision="1", outcome="fired", reason="matched", at=START)
    seen = (Evidence(event=f"ev-{rule}", kind="mail.received", title=rule, occurred_at=START),)
    given: dict[str, Any] = {
        "id": f"{rule}-{number}", "rule": rule, "key": rule, "matter": MATTER, "explanation": why, "evidence": seen,
        "title": f"{rule} says so",
    }  # fmt: skip
    return trigger(number, **given | changes)


def taken_back(of: Trigger, says: str = "Paid: Acme.", reason: str = "paid") -> Retraction:
    return Retraction(
        id=f"r-{of.id}", owner=of.owner, trigger=of.id, rule=of.rule, key=of.key, at=START, reason=reason, says=says
    )


def merged(other: str, matter: str = MATTER, *, undone: bool = False, number: int = 1) -> Merge:
    why = Explanation(rule="matter", revision="", outcome="merged", reason="similar", at=START)
    return Merge(
        id=f"merge-{other}-{undone}-{number}", owner="ann", matter=matter, other=other, members=(other,),
        undone=undone, score=0.8, at=START, explanation=why,
    )  # fmt: skip


def types(entries: list[JournalEntry]) -> list[str]:
    return [entry.type for entry in entries]


def only(world: Talk) -> ProposalState:
    (state,) = world.book.open()
    return state


def test_a_trigger_of_another_rule_about_the_same_matter_joins_and_interrupts_nobody() -> None:
    world = talk()
    world.say(fired("unpaid"))
    before = only(world).digest
    assert types(world.say(fired("due"))) == ["proposal.joined"]
    state = only(world)
    assert (state.digest, len(world.book.pushed)) == (before, 1), "the plan that the person sees is the same"
    view = render.proposal(state, world.setup)
    assert (view.rule, [other.rule for other in view.also]) == ("unpaid", ["due"])
    assert [item.event for item in view.evidence] == ["ev-unpaid", "ev-due"]
    assert world.book.by_trigger("due-1") is state


def test_the_same_trigger_again_changes_nothing() -> None:
    world = talk()
    for _ in range(2):
        entries = [world.say(fired("unpaid")), world.say(fired("due"))]
    assert entries == [[], []]


def test_another_matter_or_none_has_a_proposal_of_its_own() -> None:
    world = talk()
    world.say(fired("unpaid"))
    world.say(fired("due", matter="thread:other"))
    world.say(fired("odd", matter=None))
    world.say(fired("even", matter=None))
    assert len(list(world.book.open())) == 4


def test_another_key_of_the_same_rule_is_another_thing_to_do() -> None:
    world = talk()
    world.say(fired("due"))
    world.say(fired("due", 2, key="another day"))
    assert len(list(world.book.open())) == 2


def test_the_more_urgent_plan_leads_and_an_answer_to_the_old_one_is_refused() -> None:
    world = talk()
    world.say(fired("unpaid", urgency="normal"))
    state = only(world)
    late = world.command(state, "approve")
    assert types(world.say(fired("overdue", urgency="high"))) == ["proposal.joined"]
    assert (state.trigger.rule, state.version, len(state.standing())) == ("overdue", 2, 2)
    assert [entry.body.get("code") for entry in world.say(late)] == ["stale"]
    assert types(world.tell(state, "approve"))[-1] == "run.started"


def test_paid_already_closes_the_one_proposal_with_its_line() -> None:
    world = talk()
    triggers = [fired("unpaid"), fired("due"), fired("calendar")]
    for one in triggers:
        world.say(one)
    assert [types(world.say(taken_back(one))) for one in triggers] == [
        ["proposal.reduced"], ["proposal.reduced"], ["proposal.retracted"],
    ]  # fmt: skip
    (state,) = world.book.proposals.values()
    assert (state.phase, state.says, len(world.book.pushed)) == ("retracted", "Paid: Acme.", 1)


def test_one_trigger_that_is_withdrawn_takes_only_its_reason_away() -> None:
    world = talk()
    world.say(fired("unpaid"))
    world.say(fired("due"))
    state = only(world)
    before = state.digest
    world.say(taken_back(fired("due"), says="Moved.", reason="moved"))
    assert (state.phase, state.digest, [r.trigger.rule for r in state.standing()]) == ("offered", before, ["unpaid"])
    (other,) = render.proposal(state, world.setup).also
    assert (other.rule, other.says) == ("due", "Moved.")
    assert [item.event for item in render.proposal(state, world.setup).evidence] == ["ev-unpaid"]


def test_when_the_leader_is_withdrawn_the_most_urgent_of_the_others_leads() -> None:
    world = talk()
    for one in (fired("unpaid", urgency="high"), fired("due", urgency="low"), fired("late", urgency="normal")):
        world.say(one)
    state = only(world)
    seen = world.command(state, "approve")
    (entry,) = world.say(taken_back(fired("unpaid")))
    assert (entry.type, entry.body["surface_reason"]) == ("proposal.reduced", "reduced")
    assert (state.trigger.rule, state.phase, state.version) == ("late", "offered", 2)
    assert [e.body.get("code") for e in world.say(seen)] == ["stale"]


def test_a_newer_trigger_of_a_joined_reason_takes_the_place_of_the_old_one() -> None:
    world = talk()
    world.say(fired("unpaid"))
    world.say(fired("due"))
    assert types(world.say(fired("due", 2, title="Tomorrow"))) == ["proposal.joined"]
    state = only(world)
    assert [reason.trigger.id for reason in state.standing()] == ["unpaid-1", "due-2"]
    assert types(world.say(taken_back(fired("due")))) == ["note"], "superseded"
    assert types(world.say(fired("unpaid", 2))) == ["proposal.refreshed"]
    assert len(state.standing()) == 2


def test_when_the_time_of_the_leader_is_over_the_others_go_on() -> None:
    world = talk()
    soon, later = START + timedelta(days=2), START + timedelta(days=9)
    world.say(fired("unpaid", deadline_at=soon, expires_at=soon))
    world.say(fired("due", deadline_at=later, expires_at=later))
    state = only(world)
    world.clock.advance_to(soon)
    assert types(world.say(Tick())) == ["proposal.reduced"]
    assert (state.phase, state.trigger.rule, state.expires_at) == ("offered", "due", later)
    world.clock.advance_to(later)
    assert types(world.say(Tick())) == ["proposal.expired"]


def test_never_again_mutes_every_rule_that_is_shown() -> None:
    world = talk()
    world.say(fired("unpaid"))
    world.say(fired("due"))
    world.tell(only(world), "never")
    assert types(world.say(fired("due", 2))) == ["note"]
    assert types(world.say(fired("unpaid", 2))) == ["note"]


def test_a_joined_reason_stays_asleep_with_its_proposal_unless_it_is_critical() -> None:
    world = talk()
    world.say(fired("unpaid"))
    state = only(world)
    world.tell(state, "snooze", until=(START + timedelta(days=2)).isoformat())
    world.say(fired("due", urgency="high"))
    assert (state.phase, state.surface_reason) == ("snoozed", "snoozed")
    world.say(fired("fraud", urgency="critical"))
    assert state.surface == "now"


def test_what_is_similar_is_shown_together_and_found_by_its_wide_matter() -> None:
    world = talk()
    world.say(fired("unpaid"))
    world.say(fired("calendar", matter="calendar:u1", wide=MATTER))
    assert len(only(world).standing()) == 2


def test_two_proposals_whose_matters_meet_become_the_more_urgent_one() -> None:
    world = talk()
    world.say(fired("unpaid"))
    world.say(fired("calendar", matter="calendar:u1", urgency="high"))
    entries = world.say(merged("calendar:u1"))
    assert types(entries) == ["proposal.joined", "proposal.retracted", "proposal.rematched"]
    state = only(world)
    assert (state.trigger.rule, state.matter, state.version) == ("calendar", MATTER, 1)
    assert world.book.by_trigger("unpaid-1") is state
    assert world.say(merged("calendar:u1")) == []
    for one in ("unpaid", "calendar"):
        world.say(taken_back(fired(one)))
    assert list(world.book.open()) == []


def test_one_proposal_whose_matter_gets_another_name_is_found_by_it() -> None:
    world = talk()
    world.say(fired("question", matter="thread:t1"))
    assert types(world.say(merged("thread:t1"))) == ["proposal.rematched"]
    world.say(fired("unpaid"))
    assert len(only(world).standing()) == 2


def test_what_the_person_parts_has_a_proposal_on_each_side_again() -> None:
    world = talk()
    world.say(fired("unpaid"))
    world.say(fired("calendar", matter="calendar:u1", wide=MATTER))
    entries = world.say(merged("calendar:u1", undone=True))
    assert types(entries) == ["proposal.reduced", "proposal.drafted", "proposal.offered"]
    mail, entry = world.book.open()
    assert (mail.trigger.rule, mail.matter) == ("unpaid", MATTER)
    assert (entry.trigger.rule, entry.matter) == ("calendar", "calendar:u1")
    assert world.book.by_trigger("calendar-1") is entry
    assert world.say(merged("calendar:u1", undone=True)) == []


def test_a_proposal_that_joined_another_comes_back_when_they_are_parted() -> None:
    world = talk()
    world.say(fired("unpaid"))
    world.say(fired("calendar", matter="calendar:u1"))
    first, second = world.book.open()
    world.say(merged("calendar:u1"))
    assert (first.phase, second.phase) == ("offered", "retracted")
    world.say(merged("calendar:u1", undone=True))
    assert (first.phase, second.phase, second.matter) == ("offered", "offered", "calendar:u1")
    assert [reason.trigger.rule for reason in first.standing()] == ["unpaid"]


# --- whatever happens ----------------------------------------------------------------------------------------------

RULES = ("unpaid", "due", "calendar", "late")
MATTERS = (MATTER, "calendar:u1", "thread:t1")
URGENCIES = ("low", "normal", "high", "critical")
steps = st.lists(
    st.one_of(
        st.builds(
            lambda rule, n, matter, urgency: fired(rule, n, matter=matter, urgency=urgency),
            st.sampled_from(RULES), st.integers(1, 3), st.sampled_from(MATTERS), st.sampled_from(URGENCIES),
        ),
        st.builds(lambda rule, n: taken_back(fired(rule, n)), st.sampled_from(RULES), st.integers(1, 3)),
        st.builds(
            lambda other, undone, n: merged(other, undone=undone, number=n),
            st.sampled_from(MATTERS[1:]), st.booleans(), st.integers(1, 3),
        ),
        st.integers(1, 72).map(lambda hours: timedelta(hours=hours)),
    ),
    max_size=14,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(steps)
def test_whatever_comes_no_reason_is_told_twice_and_the_journal_folds_again(said: list[Any]) -> None:
    world = talk()
    for step in said:
        if isinstance(step, timedelta):
            world.clock.advance_to(world.clock.now() + step)
            world.say(Tick())
        else:
            world.say(step)
            assert world.say(step) == [], "a redelivery changes nothing"
        told = [reason.trigger.id for state in world.book.open() for reason in state.standing()]
        assert len(told) == len(set(told))
        for state in world.book.open():
            assert state.trigger.id in {reason.trigger.id for reason in state.standing()}
            assert state.plan is None or all(grant.revoked for grant in state.grants.values())
            assert world.book.by_trigger(state.trigger.id) is state
    again = Book("ann")
    for entry in world.entries:
        again.apply(entry)
    assert again.proposals == world.book.proposals
    assert audit.verify(world.entries) == []
