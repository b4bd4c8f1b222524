"""The interruption budget: does a proposal interrupt the person now, or wait for the digest, and why (law L11)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from actions.proposal.book import Book
from actions.proposal.priority import Priority, priority
from actions.proposal.state import ProposalState
from actions.settings import ActSettings
from schemas import clock
from schemas.model import Json
from schemas.trigger import Trigger, Urgency

Why = Literal[
    "within_budget", "critical", "budget_spent", "outranked", "low_urgency", "snoozed", "acknowledged", "reduced",
    "ignored",
]  # fmt: skip
"""``outranked``: what is left of the day's budget is kept for something that matters more; ``reduced``: one
of its reasons is gone; ``ignored``: the last ones of this rule about this other side interrupted and got no answer."""

_HIGHEST_BAR = 0.4
"""Near what the last interruption of a day asks for: a bill due tomorrow passes, a remark about a charge does not."""


@dataclass(frozen=True, slots=True)
class Surface:
    where: Literal["now", "digest"]
    reason: Why
    priority: Priority

    def body(self) -> dict[str, Json]:
        return {"surface": self.where, "surface_reason": self.reason, "priority": self.priority.body()}


def surface(
    book: Book,
    trigger: Trigger,
    now: datetime,
    settings: ActSettings,
    *,
    already: int = 0,
) -> Surface:
    """Counts by the owner's local day; what is unused does not add up. ``critical`` is the safety class and passes.

    Proposals compete as they come: the more of the budget is spent, the more priority the next one must have, so that
    a day's first trifles leave room for what matters. ``already``: interruptions decided in this same step, which the
    book does not know yet.
    """
    rank = priority(trigger, book.standing(trigger.rule), now)
    where, reason = _judged(book, trigger.urgency, rank, now, settings, already)
    if reason == "within_budget" and book.memory.ignored(trigger):
        where, reason = "digest", "ignored"
    return Surface(where, reason, rank)


def beside(book: Book, trigger: Trigger, now: datetime, reason: Why) -> Surface:
    """In the digest, whatever its priority: the person has it before them already, or has put it away."""
    return Surface("digest", reason, priority(trigger, book.standing(trigger.rule), now))


def again(book: Book, state: ProposalState, trigger: Trigger, now: datetime, settings: ActSettings) -> Surface:
    """Of a proposal that is renewed: what the person has put away stays away, unless it is critical and only asleep."""
    if state.acknowledged:
        return beside(book, trigger, now, "acknowledged")
    if state.phase == "snoozed" and trigger.urgency != "critical":
        return beside(book, trigger, now, "snoozed")
    return surface(book, trigger, now, settings)


def bar(spent: int, budget: int) -> float:
    """The least priority for one more interruption on a day; it rises from 0 by equal steps."""
    return _HIGHEST_BAR * spent / budget


def _judged(
    book: Book, urgency: Urgency, rank: Priority, now: datetime, settings: ActSettings, already: int
) -> tuple[Literal["now", "digest"], Why]:
    if urgency == "critical":
        return "now", "critical"
    if urgency == "low":
        return "digest", "low_urgency"
    today = clock.local_day(now, settings.zone)
    spent = sum(clock.local_day(at, settings.zone) == today for at in book.pushed) + already
    if spent >= settings.daily_budget:
        return "digest", "budget_spent"
    if rank.score < bar(spent, settings.daily_budget):
        return "digest", "outranked"
    return "now", "within_budget"
