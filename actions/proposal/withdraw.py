"""What closes or stops a proposal without an answer: the source takes its word back (law L7), or time runs out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from actions.journal import Draft
from actions.planning.planner import expiry
from actions.proposal import reasons
from actions.proposal.book import Book
from actions.proposal.budget import surface
from actions.proposal.content import content
from actions.proposal.state import OPEN, ProposalState
from actions.setup import Setup
from schemas.model import Json
from schemas.trigger import Retraction


def on_retraction(book: Book, retraction: Retraction, now: datetime, setup: Setup) -> list[Draft]:
    """The last trigger that a proposal stands for closes it; others take their reason with them.

    One that was superseded leaves a note. A run is stopped by the trigger that its plan was made for.
    """
    state = book.by_trigger(retraction.trigger)
    if state is None:
        return []
    actor, says = f"rule:{retraction.rule}", retraction.says or f"The source says: {retraction.reason}."
    body: dict[str, Json] = {
        "reason": retraction.reason,
        "says": says,
        "retraction": retraction.model_dump(mode="json"),
    }
    leaving = next((r.trigger for r in state.standing() if r.trigger.id == retraction.trigger), None)
    if leaving is not None and state.phase in OPEN and len(state.standing()) > 1:
        return [
            reasons.reduce(
                book, state, leaving, now, setup,
                actor=actor, cause=retraction.id, reason=retraction.reason, says=says, retraction=retraction,
            )
        ]  # fmt: skip
    if state.trigger.id != retraction.trigger:
        return [Draft(state.id, "note", now, actor, retraction.id, {"code": "superseded_retracted", **body})]
    if state.phase in OPEN:
        return [Draft(state.id, "proposal.retracted", now, actor, retraction.id, body)]
    if state.phase == "running":
        return stopping(state, now, actor, retraction.id, "retracted", says)
    return [Draft(state.id, "note", now, actor, retraction.id, {"code": "retracted_later", **body})]


def on_tick(book: Book, now: datetime, setup: Setup) -> list[Draft]:
    drafts: list[Draft] = []
    for state in book.open():
        woken = sum(draft.body.get("surface") == "now" for draft in drafts)
        drafts += concluded(book, state, now, setup) if state.planning and not _is_over(state, now) else []
        reduced = reasons.overdue(book, state, now, setup) if _is_over(state, now) else None
        drafts += [reduced] if reduced else _expired(state, now) or _woken(book, state, now, setup, woken)
    return drafts


def due_times(book: Book) -> Iterator[datetime]:
    for state in book.open():
        until = state.planning.until if state.planning else None
        yield from (at for at in (state.expires_at, state.snoozed_until, until) if at)


def concluded(book: Book, state: ProposalState, now: datetime, setup: Setup) -> list[Draft]:
    """What a model's answers come to, once they come to something: a plan, questions, or what there is without it."""
    from actions.planning import process as planning  # with the model off none of it is ever needed
    from actions.planning.asker import occasion

    assert state.planning is not None
    move = planning.next_move(state.planning, occasion(state, book), state.slots, now, setup)
    if not isinstance(move, planning.Over):
        return []
    trigger = state.trigger
    type_, body = content(move.planned, surface(book, trigger, now, setup.settings), expiry(trigger, now))
    body["planning_over"] = state.planning.id
    return [Draft(state.id, type_, now, "planner", state.planning.id, body)]


def stopping(
    state: ProposalState, now: datetime, actor: str, cause: str, reason: str, says: str, channel: str = ""
) -> list[Draft]:
    """No effect begins after this; what is in flight is looked up or asked about, then the run is stopped."""
    unspent: list[Json] = [g.grant.id for g in state.grants.values() if not g.revoked]
    body: dict[str, Json] = {"reason": reason, "says": says, "channel": channel}
    drafts = [Draft(state.id, "run.stopping", now, actor, cause, body)]
    if unspent:
        revoked: dict[str, Json] = {"grants": unspent, "reason": reason}
        drafts.append(Draft(state.id, "grant.revoked", now, actor, cause, revoked))
    return drafts


def _expired(state: ProposalState, now: datetime) -> list[Draft]:
    """Silence is neither consent nor rejection: the question just closes."""
    if not _is_over(state, now):
        return []
    says = "Nobody answered before the deadline; nothing was done."
    if state.acknowledged:
        says = "You knew of it, and its time is over; nothing was done."
    body: dict[str, Json] = {"reason": "expired", "says": says}
    return [Draft(state.id, "proposal.expired", now, "clock", "", body)]


def _is_over(state: ProposalState, now: datetime) -> bool:
    return state.phase in OPEN and state.expires_at is not None and now >= state.expires_at


def _woken(book: Book, state: ProposalState, now: datetime, setup: Setup, woken: int) -> list[Draft]:
    if state.phase != "snoozed" or state.snoozed_until is None or now < state.snoozed_until:
        return []
    shown = surface(book, state.trigger, now, setup.settings, already=woken)
    return [Draft(state.id, "proposal.woken", now, "clock", "", shown.body())]
