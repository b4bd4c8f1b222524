"""Proposals, runs and journal entries as the command line prints them and ``--json`` gives them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

from actions.proposal.book import Book
from actions.proposal.render import ProposalView, ReasonView, StepView, proposal
from actions.proposal.state import ACTIVE, OPEN, ProposalState
from actions.run import breaker
from actions.setup import Setup
from schemas.account import AccountState, CursorState
from schemas.journal import JournalEntry

_MARKS = {
    "ok": "done", "unverified": "done, but not seen", "failed": "failed", "skipped": "skipped", "pending": "to do",
    "held": "held", "gated": "asks you", "asked": "asks you", "waiting": "waits", "sent": "under way",
}  # fmt: skip

_SURFACED = {
    "within_budget": "within the day's interruptions",
    "critical": "it is critical",
    "reduced": "one of its reasons is gone",
    "budget_spent": "the day's interruptions were spent",
    "outranked": "kept for something that matters more",
    "low_urgency": "it is not urgent",
    "snoozed": "you put it off",
    "acknowledged": "you know of it",
    "ignored": "you left the last ones of these unanswered",
}
"""Why a proposal interrupted, or waits in the digest."""

_LATE = timedelta(days=1)
"""How long failing polls are an ordinary outage."""


def card(
    state: ProposalState,
    setup: Setup,
    zone: ZoneInfo,
    unread: Mapping[str, datetime | None] = MappingProxyType({}),
    waits: str = "",
) -> dict[str, Any]:
    """Everything that is shown of a proposal, JSON-able; ``lines`` is the same for a person to read.

    ``unread``: the accounts that cannot be read now, and since when; what rests on them is ``stale``. ``waits``: what
    ``waiting`` says of its run.
    """
    view = proposal(state, setup)
    rests_on = {item.account for item in view.evidence} & set(unread) if state.phase in OPEN else set()
    stale = [_stale(account, unread[account], zone) for account in sorted(rests_on)]
    document: dict[str, Any] = json.loads(json.dumps(asdict(view), default=_plain))
    return document | {
        "is_open": state.phase in OPEN,
        "gates": {step.id: step.digest for step in view.steps if step.phase == "gated" or step.diff},
        "unknown": {step.id: step.digest for step in view.steps if step.phase == "asked"},
        "stale": stale,
        "waits": waits,
        "why_surface": surfaced(view.surface_reason),
        "lines": [
            *_lines(view, zone),
            *(f"  stale: {line}" for line in stale),
            *(f"  waits: {line}" for line in [waits] if line),
        ],
    }


def waiting(books: Iterable[Book], zone: ZoneInfo) -> dict[str, str]:
    """By proposal: the destination that does not answer, and that its run waits for."""
    return breaker.told((state for book in books for state in book.proposals.values() if state.phase in ACTIVE), zone)


def surfaced(reason: str) -> str:
    return _SURFACED.get(reason, reason)


def unread_accounts(
    accounts: Iterable[AccountState], place: Callable[[str], CursorState | None], now: datetime
) -> dict[str, datetime | None]:
    """Accounts from which nothing can be heard now, with the last time that they answered."""
    found = {}
    for account in accounts:
        state = place(account.id)
        answered = state.succeeded_at if state else None
        late = answered is None or now - answered > _LATE
        if account.status in ("needs_reauth", "paused") or (state and (state.silent or (state.failures and late))):
            found[account.id] = answered
    return found


def _stale(account: str, since: datetime | None, zone: ZoneInfo) -> str:
    if since is None:
        return f"{account} was never read"
    return f"{account} has not been read since {_when(since, zone)}: this may be out of date"


def _plain(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _when(instant: datetime | None, zone: ZoneInfo) -> str:
    return f"{instant.astimezone(zone):%a %d %b %Y %H:%M}" if instant else ""


def _lines(view: ProposalView, zone: ZoneInfo) -> Iterator[str]:
    yield f"{view.title}   [{view.code}]"
    yield f"  {view.phase}, {view.urgency}" + (f", by {_when(view.deadline_at, zone)}" if view.deadline_at else "")
    if view.says:
        yield f"  {view.says}"
    if view.is_paused:
        yield "  paused: nothing begins until you resume it"
    yield from (f"  asks again: {reason}" for reason in view.asks_again)
    yield from (f"  not undone: {step}: {why}" for step, why in view.left)
    yield f"  why: rule {view.rule} ({view.reason})"
    yield from (f"    {c.text} = {c.value}" for c in view.conditions)
    for other in view.also:
        yield from _also(other, zone)
    for item in view.evidence:
        yield f"  evidence [{item.badge}] {_when(item.when, zone)}  {item.kind}: {item.title}"
        if item.quote:
            yield f'    "{item.quote}"'
    for step in view.steps:
        yield from _step_lines(step, zone)
    for question in view.questions:
        yield f"  asks {question.slot}: {question.text}" + (f" (found: {question.found})" if question.found else "")
    yield from _rank(view)
    yield f"  risk: {view.risk}" + "".join(f"; {reason}" for reason in view.reasons)
    if view.verbs:
        yield f"  you can: {', '.join(view.verbs)}"
    yield f"  id {view.id}"


def _also(other: ReasonView, zone: ZoneInfo) -> Iterator[str]:
    by = f", by {_when(other.deadline_at, zone)}" if other.deadline_at else ""
    yield f"  also: rule {other.rule} ({other.reason}): {other.title}{by}"
    if other.says:
        yield f"    no longer: {other.says}"


def _rank(view: ProposalView) -> Iterator[str]:
    """Why it interrupted, or waits for the digest."""
    if view.priority:
        parts = " x ".join(f"{name} {view.priority[name]:.2f}" for name in ("urgency", "value", "certainty"))
        yield f"  priority: {view.priority['score']:.2f} = {parts}; {view.surface}: {surfaced(view.surface_reason)}"
    if view.phase == "snoozed":
        until = {"clears": "until it clears", "changes": "until it changes"}.get(view.acknowledged, "")
        yield f"  snoozed {until}".rstrip()


def _step_lines(step: StepView, zone: ZoneInfo) -> Iterator[str]:
    after = f" after {', '.join(step.after)}" if step.after else ""
    yield f"  {step.id} {step.verb}: {step.does} ({_MARKS.get(step.phase, step.phase)}{after}; {step.reversible})"
    yield from (f"    ! {reason}" for reason in step.reasons)
    if step.asks:
        yield f"    ? {step.asks}"
    if step.offer:
        yield f"    approved again and again; to allow it ahead, as far and as long as you choose: {step.offer}"
    if step.wake:
        yield f"    until {_when(step.wake, zone)}"
    if step.receipt:
        yield f"    seen: {step.receipt}"
    elif step.message:
        yield f"    {step.message}"


def run_row(state: ProposalState) -> dict[str, Any] | None:
    """One line about a run; None for a proposal that was never approved."""
    if not state.approval and state.phase not in ("running", "stopping", "undoing", "stopped", "done", "failed"):
        return None
    return {
        "id": state.id,
        "title": state.title,
        "state": "paused" if state.paused_at else state.phase,
        "steps": len(state.plan.steps) if state.plan else 0,
        "done": state.ended,
        "updated_at": state.updated_at.isoformat() if state.updated_at else None,
    }


def entry_line(entry: JournalEntry, zone: ZoneInfo) -> str:
    """What an entry of the journal says, in a few words and by the owner's clock."""
    body = entry.body
    parts = [
        str(body[name]) for name in ("outcome", "code", "message", "reason", "says", "why", "surface") if body.get(name)
    ]
    receipt = body.get("receipt")
    if isinstance(receipt, dict) and receipt.get("what"):
        parts.append(f"seen: {receipt['what']}")
    if pause := breaker.says(entry, zone):
        parts.append(pause)
    return "; ".join(dict.fromkeys(parts))
