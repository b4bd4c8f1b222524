"""How a rule's proposals fared."""

from __future__ import annotations

from datetime import timedelta

from actions.proposal.figures import RuleFigures, figures
from actions.proposal.propose import Tick
from actions.setup import Setup
from actions.testing.bank import BankTool, Ledger, manifest
from actions.testing.household import OWNER, START, playbook, trigger
from actions.testing.talk import Talk
from actions.tools.tool import Registry
from schemas.clock import ManualClock
from schemas.trigger import Explanation, Retraction, Suppression


def talk() -> Talk:
    clock = ManualClock(START)
    tool = BankTool(manifest("bank.pay", "keyed", effect="write_self"), Ledger(clock))
    return Talk(Setup({"pay": playbook("small")}, Registry([tool])), clock)


def lived() -> Talk:
    """Seven proposals, each with an end of its own, and one of another rule."""
    world = talk()
    for number in range(7):
        world.say(trigger(number, key=str(number)))
    states = [world.book.proposals[name] for name in world.book.proposals]
    world.tell(states[0], "approve")
    world.tell(states[1], "reject")
    world.tell(states[2], "never")
    world.tell(states[3], "snooze", until=(START + timedelta(days=1)).isoformat())
    world.tell(states[3], "approve")
    world.say(withdrawal(4))
    world.tell(states[5], "snooze", until="clears")
    world.say(trigger(9, key="9", rule="another"))
    return world


def withdrawal(number: int) -> Retraction:
    fired = trigger(number)
    return Retraction(
        id=f"r{number}", owner=OWNER, trigger=fired.id, rule=fired.rule, key=str(number), at=START, reason="unless"
    )


def test_each_proposal_counts_by_how_it_ended() -> None:
    why = Explanation(rule="invoice-unpaid", revision="1", outcome="suppressed", reason="cooldown", at=START)
    silence = Suppression(id="s", owner=OWNER, rule="invoice-unpaid", key="k", at=START, explanation=why)
    signals = [*(trigger(number, key=str(number)) for number in range(7)), withdrawal(4), silence]
    (another, unpaid) = figures(signals, lived().entries)
    assert another == RuleFigures(rule="another", proposals=1, open=1)
    assert unpaid == RuleFigures(
        rule="invoice-unpaid", fired=7, withdrawn=1, suppressed={"cooldown": 1}, proposals=7,
        interrupted=unpaid.interrupted, approved=2, rejected=2, never=1, snoozed=2, open=2,
    )  # fmt: skip
    assert unpaid.interrupted > 0
    assert unpaid.false_alarm_rate == 0.5


def test_a_rule_that_nobody_has_answered_has_no_rate() -> None:
    world = talk()
    world.say(trigger())
    assert figures([trigger()], world.entries)[0].false_alarm_rate is None


def test_what_expires_is_no_false_alarm_and_may_still_be_approved() -> None:
    world = talk()
    world.say(trigger())
    (state,) = world.book.proposals.values()
    assert state.expires_at is not None
    world.clock.advance_to(state.expires_at)
    world.say(Tick())
    (row,) = figures([], world.entries)
    assert (row.expired, row.false_alarm_rate) == (1, None)
    world.tell(state, "approve")  # too late: it is offered once more
    world.tell(state, "approve")
    (row,) = figures([], world.entries)
    assert (row.expired, row.approved, row.open) == (0, 1, 0)


def test_only_what_began_since_then_counts() -> None:
    world = talk()
    world.say(trigger(1, key="1"))
    world.clock.advance_to(START + timedelta(days=3))
    world.say(trigger(2, key="2"))
    signals = [trigger(1, key="1"), trigger(2, key="2", fired_at=START + timedelta(days=3))]
    (row,) = figures(signals, world.entries, since=START + timedelta(days=1))
    assert (row.fired, row.proposals) == (1, 1)
