"""How the entries of planning with a model change a proposal: pure and total."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from actions.planning.ask import Failure
from actions.planning.rounds import Planning, Round
from actions.proposal.fold_step import instant, values
from actions.proposal.state import ProposalState
from schemas.journal import EntryType, JournalEntry

Body = Mapping[str, Any]
SAYS = "A plan is being made for this; there is nothing to answer yet."


def change(state: ProposalState, entry: JournalEntry) -> None:
    """Any entry that begins a planning does so by its body; the others are about the one that was begun."""
    _HANDLERS.get(entry.type, _begun)(state, entry)


def _begun(state: ProposalState, entry: JournalEntry) -> None:
    """Of any entry whose body has ``planning``: the proposal waits for a plan, not yet for the person."""
    body: Body = entry.body
    until = instant(body["planning"]["until"])
    assert until is not None, "a planning has an end"
    state.phase, state.plan, state.questions, state.approval = "drafted", None, [], ""
    state.steps, state.snoozed_until, state.acknowledged = {}, None, ""
    state.planning = Planning(entry.id, entry.at, until, str(body["planning"]["why"]))
    state.expires_at = instant(body.get("expires_at"))
    state.slots.update(values(body.get("slots") or {}))
    state.answered, state.reason, state.says = None, "", SAYS
    for grant in state.grants.values():
        grant.revoked = grant.revoked or "plan_changed"


def _asked(state: ProposalState, entry: JournalEntry) -> None:
    if state.planning and entry.body["planning"] == state.planning.id:
        state.planning.asked.add(entry.id)


def _answered(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    if state.planning and body["asked"] in state.planning.asked and body["answer"] is not None:
        state.planning.rounds.append(Round(dict(body["answer"])))


def _failed(state: ProposalState, entry: JournalEntry) -> None:
    body: Body = entry.body
    if state.planning and body["planning"] == state.planning.id:
        failure = Failure(body["code"], instant(body.get("retry_at")), body.get("status"))
        state.planning.rounds.append(Round(None, failure))


_HANDLERS: Mapping[EntryType, Callable[[ProposalState, JournalEntry], None]] = {
    "model.asked": _asked,
    "model.answered": _answered,
    "model.failed": _failed,
}
