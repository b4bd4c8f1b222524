"""Reasons: one matter, one proposal. Triggers of several rules join it, leave it, and the most urgent one leads (pure).

The proposal shows every reason with its evidence; its plan is the leader's. What changes the plan voids its grants.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from actions.journal import Draft
from actions.planning import planner
from actions.planning.steps import Occasion
from actions.proposal.book import Book
from actions.proposal.budget import Surface, Why, again, beside, surface
from actions.proposal.compare import changes
from actions.proposal.content import content
from actions.proposal.state import OPEN, ProposalState, Reason
from actions.setup import Setup
from schemas import ids
from schemas.model import Json
from schemas.trigger import Merge, Retraction, Trigger, Urgency

_URGENCY: dict[Urgency, int] = {"low": 0, "normal": 1, "high": 2, "critical": 3}


def host_of(book: Book, trigger: Trigger) -> ProposalState | None:
    """The open proposal about the trigger's matter that another rule made.

    What the same rule says of another key is another thing to do (two deadlines in one letter), so it has its own.
    """
    matter = about(trigger)
    hosts = (state for state in book.about(matter) if _has_room(state, trigger)) if matter else ()
    return next(iter(hosts), None)


def about(trigger: Trigger) -> str | None:
    """The matter by which what is shown together is found."""
    return trigger.wide or trigger.matter


def _has_room(state: ProposalState, *triggers: Trigger) -> bool:
    rules = {reason.trigger.rule for reason in state.standing()}
    return state.phase in OPEN and not any(trigger.rule in rules for trigger in triggers)


def join(book: Book, state: ProposalState, trigger: Trigger, now: datetime, setup: Setup) -> Draft:
    """A trigger becomes one more reason (or a newer version of one that is not the leader)."""
    actor = f"rule:{trigger.rule}"
    expires_at = planner.expiry(trigger, now)
    if _URGENCY[trigger.urgency] > _URGENCY[state.trigger.urgency]:
        body = led(book, state, trigger, now, setup) | {"trigger": trigger.model_dump(mode="json")}
    else:
        body = {"joins": trigger.model_dump(mode="json"), "expires_at": expires_at.isoformat()}
    return Draft(state.id, "proposal.joined", now, actor, trigger.id, body)


def led(
    book: Book, state: ProposalState, leader: Trigger, now: datetime, setup: Setup, quiet: Why | None = None
) -> dict[str, Json]:
    """The next version of the plan, as another trigger wants it. ``quiet``: why it does not interrupt."""
    planned = planner.make(Occasion(leader, state.id, state.version + 1, now, book.memory), {}, setup)
    shown = beside(book, leader, now, quiet) if quiet else again(book, state, leader, now, setup.settings)
    _, body = content(planned, shown, planner.expiry(leader, now))
    return body | {"diff": changes(state.plan, planned.plan)}


def reduce(
    book: Book,
    state: ProposalState,
    leaving: Trigger,
    now: datetime,
    setup: Setup,
    *,
    actor: str,
    cause: str,
    reason: str,
    says: str,
    retraction: Retraction | None = None,
) -> Draft:
    """One reason goes, others stay; if it led, the most urgent of them takes over. That interrupts nobody."""
    body: dict[str, Json] = {"withdrawn": {"trigger": leaving.id, "reason": reason, "says": says}}
    if retraction is not None:
        body["retraction"] = retraction.model_dump(mode="json")
    if leaving.id == state.trigger.id:
        leader = _leader(other for other in state.standing() if other.trigger.id != leaving.id)
        body |= led(book, state, leader, now, setup, "reduced") | {"trigger": leader.model_dump(mode="json")}
    return Draft(state.id, "proposal.reduced", now, actor, cause, body)


def _leader(reasons: Iterable[Reason]) -> Trigger:
    return max(reasons, key=lambda reason: _URGENCY[reason.trigger.urgency]).trigger  # of equal ones the first


def overdue(book: Book, state: ProposalState, now: datetime, setup: Setup) -> Draft | None:
    """The leader's time is over, another reason's is not: the proposal goes on for that one (None: there is none)."""
    live = [reason for reason in state.standing() if reason.expires_at is None or now < reason.expires_at]
    if not live or state.trigger.id in {reason.trigger.id for reason in live}:
        return None
    says = "Its time is over; nothing was done about it."
    return reduce(book, state, state.trigger, now, setup, actor="clock", cause="", reason="expired", says=says)


# --- matters that meet, or part ------------------------------------------------------------------------------------


def on_merge(book: Book, merge: Merge, now: datetime, setup: Setup) -> list[Draft]:
    """Proposals of matters that became one become one; of one that was parted, each side goes on with its own."""
    if merge.undone:
        return [draft for state in book.about(merge.matter) for draft in _parted(book, state, merge, now, setup)]
    drafts: list[Draft] = []
    staying = next(iter(book.about(merge.matter)), None)
    for going in book.about(merge.other):
        if staying is not None and _has_room(staying, *(reason.trigger for reason in going.standing())):
            host, absorbed = _by_urgency(staying, going)
            drafts += _absorbed(host, absorbed, merge, now)
            if host.matter != merge.matter:
                drafts.append(_renamed(host, merge.matter, merge, now))
            staying = None  # what it holds now is not in the book yet; a third one stays by itself
        else:
            drafts.append(_renamed(going, merge.matter, merge, now))
    return drafts


def _by_urgency(staying: ProposalState, going: ProposalState) -> tuple[ProposalState, ProposalState]:
    """The plan of the more urgent one stays as it is."""
    more = _URGENCY[going.trigger.urgency] > _URGENCY[staying.trigger.urgency]
    return (going, staying) if more else (staying, going)


def _absorbed(host: ProposalState, absorbed: ProposalState, merge: Merge, now: datetime) -> list[Draft]:
    drafts: list[Draft] = []
    for reason in absorbed.standing():
        ends = reason.expires_at.isoformat() if reason.expires_at else None
        body: dict[str, Json] = {"joins": reason.trigger.model_dump(mode="json"), "expires_at": ends}
        drafts.append(Draft(host.id, "proposal.joined", now, f"rule:{reason.trigger.rule}", merge.id, body))
    says = f"It is one matter with: {host.title}"[:300]
    closed: dict[str, Json] = {"reason": "joined", "says": says, "into": host.id}
    return [*drafts, Draft(absorbed.id, "proposal.retracted", now, "matter", merge.id, closed)]


def _renamed(state: ProposalState, matter: str, merge: Merge, now: datetime) -> Draft:
    return Draft(state.id, "proposal.rematched", now, "matter", merge.id, {"matter": matter})


def _parted(book: Book, state: ProposalState, merge: Merge, now: datetime, setup: Setup) -> list[Draft]:
    """The leader's side stays; the reasons of the other side get a proposal of their own."""
    sides = {reason.trigger.id: reason.trigger.matter in merge.members for reason in state.standing()}
    leads_there = sides[state.trigger.id]
    leaving = [reason for reason in state.standing() if sides[reason.trigger.id] is not leads_there]
    drafts: list[Draft] = []
    for reason in leaving:
        drafts.append(
            reduce(
                book, state, reason.trigger, now, setup,
                actor="matter", cause=merge.id, reason="parted", says="It is another matter.",
            )
        )  # fmt: skip
        drafts += own(book, reason.trigger, merge.matter if leads_there else merge.other, merge.id, now, setup)
    return [*drafts, _renamed(state, merge.other, merge, now)] if leads_there else drafts


def own(book: Book, trigger: Trigger, matter: str | None, cause: str, now: datetime, setup: Setup) -> list[Draft]:
    """A proposal for this trigger alone: a new one, or the one that it had before it joined another."""
    proposal, actor = ids.proposal_id(trigger.owner, trigger.id), f"rule:{trigger.rule}"
    known = book.proposals.get(proposal)
    occasion = Occasion(trigger, proposal, known.version + 1 if known else 1, now, book.memory)
    planned, shown = planner.make(occasion, {}, setup), surface(book, trigger, now, setup.settings)
    type_, body = content(planned, shown, planner.expiry(trigger, now))
    dumped = trigger.model_copy(update={"wide": matter}).model_dump(mode="json") if matter else None
    told: dict[str, Json] = {"trigger": dumped or trigger.model_dump(mode="json")}
    if known is not None:
        return [Draft(proposal, "proposal.refreshed", now, actor, cause, {**body, **told, "diff": []})]
    drafted = Draft(proposal, "proposal.drafted", now, actor, cause, told)
    return [drafted, Draft(proposal, type_, now, actor, cause, body), *_demoted(book, trigger, shown, proposal, now)]


def _demoted(book: Book, trigger: Trigger, shown: Surface, proposal: str, now: datetime) -> list[Draft]:
    """That such ones wait in the digest from now on is told once."""
    ignored = book.memory.ignored(trigger) if shown.reason == "ignored" else None
    if ignored is None or ignored.told:
        return []
    says = (
        f"You left the last {ignored.support} of these unanswered, so they wait in the digest from now on. "
        f"Answer one, or say 'forewatch memory forget {ignored.id[:8]}', and they interrupt again."
    )
    body: dict[str, Json] = {"code": "demoted", "memory": ignored.id, "says": says, "rule": trigger.rule}
    return [Draft(proposal, "note", now, f"rule:{trigger.rule}", "", body)]
