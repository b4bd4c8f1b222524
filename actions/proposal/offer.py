"""What a trigger becomes: a proposal, a reason of one, a refreshed one, or a note that says why not (law L5)."""

from __future__ import annotations

from datetime import datetime

from actions.journal import UNADDRESSED, Draft
from actions.planning import planner, slots
from actions.planning.steps import Occasion
from actions.proposal import reasons
from actions.proposal.book import Book
from actions.proposal.budget import again, surface
from actions.proposal.compare import changes
from actions.proposal.content import content
from actions.proposal.state import OPEN, ProposalState
from actions.proposal.withdraw import stopping
from actions.setup import Setup
from schemas.model import Json
from schemas.trigger import Trigger


def on_trigger(book: Book, trigger: Trigger, now: datetime, setup: Setup) -> list[Draft]:
    if trigger.shadow:
        return [_note(UNADDRESSED, trigger, now, "shadow")]
    never = book.memory.never(trigger)
    if never:
        return [_note(never.basis[-1].stream, trigger, now, "muted", never.id)]
    before = book.newest(trigger)
    if before is None:
        return _told(book, trigger, now, setup)
    if before.phase in OPEN and before.key != (trigger.rule, trigger.key):
        return [reasons.join(book, before, trigger, now, setup)]
    if before.phase in OPEN:
        return [_refresh(book, before, trigger, now, setup)]
    if before.acknowledged == "clears" and before.phase == "expired" and trigger.follows:
        return [_note(before.id, trigger, now, "acknowledged")]
    if not _says_the_same(before, trigger, setup):
        return [*_halted(before, trigger, now), *_told(book, trigger, now, setup)]
    match before.phase:
        case "running" | "stopping":
            return [_note(before.id, trigger, now, "already_running")]
        case "done":
            return [_note(before.id, trigger, now, "already_done")]
        case "rejected":
            return [_note(before.id, trigger, now, "already_rejected")]
    return _told(book, trigger, now, setup)


def _told(book: Book, trigger: Trigger, now: datetime, setup: Setup) -> list[Draft]:
    """One matter, one proposal: it joins an open one of another rule, or begins its own."""
    host = reasons.host_of(book, trigger)
    if host is not None:
        return [reasons.join(book, host, trigger, now, setup)]
    return reasons.own(book, trigger, None, trigger.id, now, setup)


def _refresh(book: Book, state: ProposalState, trigger: Trigger, now: datetime, setup: Setup) -> Draft:
    """In place: same proposal, next version of the plan, so that an answer to the old one is refused."""
    planned = planner.make(Occasion(trigger, state.id, state.version + 1, now, book.memory), state.slots, setup)
    wakes = state.acknowledged == "changes" and not _says_the_same(state, trigger, setup)
    shown = surface(book, trigger, now, setup.settings) if wakes else again(book, state, trigger, now, setup.settings)
    _, body = content(planned, shown, planner.expiry(trigger, now))
    body |= {"trigger": trigger.model_dump(mode="json"), "diff": changes(state.plan, planned.plan)}
    if wakes:
        body["wakes"] = True
    return Draft(state.id, "proposal.refreshed", now, f"rule:{trigger.rule}", trigger.id, body)


def _says_the_same(before: ProposalState, trigger: Trigger, setup: Setup) -> bool:
    playbook = setup.playbooks.get(trigger.playbook or "")
    return slots.same_facts(playbook, before.told(trigger), trigger, setup.settings.zone)


def _halted(before: ProposalState, trigger: Trigger, now: datetime) -> list[Draft]:
    """A run whose facts have changed stops before its next effect; the new facts make a proposal of their own."""
    if before.phase != "running":
        return []
    says = f"The facts have changed: {trigger.title}"
    return stopping(before, now, f"rule:{trigger.rule}", trigger.id, "facts_changed", says)


def _note(proposal: str, trigger: Trigger, now: datetime, code: str, memory: str = "") -> Draft:
    body: dict[str, Json] = {"code": code, "title": trigger.title, "rule": trigger.rule, "key": trigger.key}
    if memory:
        body["memory"] = memory
    return Draft(proposal, "note", now, f"rule:{trigger.rule}", trigger.id, body)
