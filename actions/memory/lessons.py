"""What each entry of the journal teaches the memory (law L4).

Only acts of the person count: an answer, an edit, a note, or leaving an interruption unanswered. Nothing that a mail, a
page or a tool says becomes a memory; the name of the other side is kept to find one again, with its label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from actions.memory.remembering import KEPT, STREAM, Memories, basis, entity_of, events, memory_id
from actions.plain import clean
from actions.proposal.fold_step import values
from actions.proposal.state import ProposalState
from schemas.journal import EntryType, JournalEntry
from schemas.memory import Memory, Scope
from schemas.plan import Fixed, Plan
from schemas.value import Integrity, Value, least

TOOL = "memory.remember"
"""The tool by which a plan remembers something."""


def learn(memories: Memories, entry: JournalEntry, state: ProposalState | None) -> None:
    """Once an entry, in the journal's order; ``state`` is the proposal's after the entry."""
    if entry.stream == STREAM:
        _COMMANDS.get(entry.type, _nothing)(memories, entry)
    elif state is not None:
        _ACTS.get(entry.type, _nothing_of)(memories, entry, state)


def _is_person(entry: JournalEntry) -> bool:
    return entry.actor.startswith("person:")


# --- the person's acts on a proposal ------------------------------------------------------------------------------


def _nothing_of(memories: Memories, entry: JournalEntry, state: ProposalState) -> None:
    """Most entries teach nothing."""


def _edited(memories: Memories, entry: JournalEntry, state: ProposalState) -> None:
    """The arguments that this very command gave; what came from elsewhere is nobody's preference."""
    if not _is_person(entry):
        return  # a replan is no act of the person
    memories.end_row("ignored", state)
    memories.end_row("unchanged", state)
    for step in Plan.model_validate(entry.body["plan"]).steps:
        for name, arg in step.args.items():
            if isinstance(arg, Fixed) and arg.value.how == "user" and entry.cause in arg.value.sources:
                memories.give(step.tool, name, arg.value, entry, state)


def _answered(memories: Memories, entry: JournalEntry, state: ProposalState) -> None:
    body: Mapping[str, Any] = entry.body
    if not _is_person(entry) or not body.get("slots"):
        return
    memories.end_row("ignored", state)
    for slot, value in values(body["slots"]).items():
        if value.how == "user" and entry.cause in value.sources:
            memories.give("", slot, value, entry, state)


def _approved(memories: Memories, entry: JournalEntry, state: ProposalState) -> None:
    if not _is_person(entry) or state.plan is None:
        return
    memories.end_row("ignored", state)
    entity, _ = entity_of(state.trigger)
    scope = Scope(rule=state.trigger.rule, entity=entity)
    memories.count("approved", scope, entry, state)
    if state.plan.planner == "person":
        memories.end_row("unchanged", state)
        return
    tools = ", ".join(sorted({step.tool for step in state.plan.steps}))
    memories.count("unchanged", scope, entry, state, Value(v=tools, integrity=Integrity.SYSTEM, how="rule"))


def _rejected(memories: Memories, entry: JournalEntry, state: ProposalState) -> None:
    if not _is_person(entry):
        return
    memories.end_row("ignored", state)
    memories.end_row("unchanged", state)
    entity, _ = entity_of(state.trigger)
    if entry.body.get("verb") == "never":
        for scope in _silenced(state, entity, str(entry.body.get("scope", "key"))):
            memories.count("never", scope, entry, state)
        return
    reason = clean(str(entry.body.get("reason") or ""))
    value = Value(v=reason, sources=(entry.cause,), integrity=Integrity.USER, how="user") if reason else None
    memories.count("rejected", Scope(rule=state.trigger.rule, entity=entity), entry, state, value)


def _silenced(state: ProposalState, entity: str, scope: str) -> Iterator[Scope]:
    """``scope``: key (this matter alone, for each rule that spoke of it), entity (this other side), or rule."""
    if scope == "key":
        yield from (Scope(rule=r.trigger.rule, key=r.trigger.key, entity="") for r in state.standing())
    else:
        yield Scope(rule=state.trigger.rule, entity=entity if scope == "entity" else "")


def _snoozed(memories: Memories, entry: JournalEntry, state: ProposalState) -> None:
    if not _is_person(entry):
        return
    memories.end_row("ignored", state)
    entity, _ = entity_of(state.trigger)
    until = state.snoozed_until
    days = round((until - entry.at).total_seconds() / 86_400, 1) if until else None
    value = Value(v=days, type="Days", integrity=Integrity.USER, how="user") if days is not None else None
    memories.count("snoozed", Scope(rule=state.trigger.rule, entity=entity), entry, state, value)


def _expired(memories: Memories, entry: JournalEntry, state: ProposalState) -> None:
    """Ignored was what interrupted and got no answer at all; what waited in the digest asked for none."""
    if state.surface == "now" and not state.acknowledged:
        entity, _ = entity_of(state.trigger)
        memories.count("ignored", Scope(rule=state.trigger.rule, entity=entity), entry, state)


def _went_wrong(memories: Memories, entry: JournalEntry, state: ProposalState) -> None:
    """After a bad end, a Stop, an undo or a "that was wrong", a row of approvals counts for nothing."""
    if entry.type != "run.done" or entry.body.get("unseen"):
        memories.end_row("unchanged", state)


def _told(memories: Memories, entry: JournalEntry, state: ProposalState) -> None:
    known = memories.get(str(entry.body.get("memory", ""))) if entry.body.get("code") == "demoted" else None
    if known:
        memories.keep(known.model_copy(update={"told": True}))


def _remembered(memories: Memories, entry: JournalEntry, state: ProposalState) -> None:
    """A plan's step that remembers something, once it was seen done; with the labels that its words had.

    The policy has refused words from outside; here they are once more no memory. What a service said (a bank's memo,
    say) is kept for the person to see and never shown to a model.
    """
    step = state.steps.get(str(entry.body.get("step")))
    planned = state.planned(step.uid) if step else None
    if step is None or planned is None or planned.tool != TOOL or not entry.body.get("seen"):
        return
    integrity = least(*(value.integrity for value in step.args.values()))
    if integrity == Integrity.UNTRUSTED:
        return
    memory = Memory(
        id=memory_id(memories.owner, "note", Scope(), step.key),
        kind="note",
        code="note",
        text=note_text(str(step.args["text"].v)),
        first=entry.at,
        last=entry.at,
        basis=(basis(entry),),
        events=events(state.trigger),
        by="forewatch",
        integrity=integrity,
        standing="confirmed",
    )
    memories.keep(memory)


def note_text(text: str) -> str:
    return clean(text, 500)


_ACTS: dict[EntryType, Callable[[Memories, JournalEntry, ProposalState], None]] = {
    "proposal.edited": _edited,
    "plan.revised": _edited,
    "proposal.offered": _answered,
    "proposal.needs_input": _answered,
    "proposal.rejected": _rejected,
    "proposal.snoozed": _snoozed,
    "proposal.expired": _expired,
    "run.started": _approved,
    "run.done": _went_wrong,
    "run.failed": _went_wrong,
    "run.stopping": _went_wrong,
    "run.undoing": _went_wrong,
    "step.wrong": _went_wrong,
    "step.verified": _remembered,
    "note": _told,
}


# --- what the person tells the memory itself ----------------------------------------------------------------------


def _nothing(memories: Memories, entry: JournalEntry) -> None:
    """Refusals, and what was erased."""


def _noted(memories: Memories, entry: JournalEntry) -> None:
    body: Mapping[str, Any] = entry.body
    scope = Scope.model_validate(body.get("scope") or {})
    memory = Memory(
        id=str(body["memory"]),
        kind="note",
        code="note",
        scope=scope,
        text=str(body["text"]),
        first=entry.at,
        last=entry.at,
        basis=(basis(entry),),
        events=tuple(body.get("events") or ()),
        entity_integrity=Integrity.USER,
        standing="confirmed",
    )
    memories.keep(memory)


def _kept(memories: Memories, entry: JournalEntry) -> None:
    _change(memories, entry, {"standing": "confirmed"})


def _corrected(memories: Memories, entry: JournalEntry) -> None:
    body: Mapping[str, Any] = entry.body
    if "value" in body:
        _change(memories, entry, {"value": Value.model_validate(body["value"]), "standing": "confirmed", "support": 1})
    else:
        _change(memories, entry, {"text": str(body["text"]), "by": "person", "integrity": Integrity.USER})


def _change(memories: Memories, entry: JournalEntry, update: dict[str, Any]) -> None:
    known = memories.get(str(entry.body["memory"]))
    if known:
        rests_on = (*known.basis, basis(entry))[-KEPT:]
        memories.keep(known.model_copy(update={"last": entry.at, "basis": rests_on, **update}))


def _forgotten(memories: Memories, entry: JournalEntry) -> None:
    memories.drop(str(entry.body["memory"]))


_COMMANDS: dict[EntryType, Callable[[Memories, JournalEntry], None]] = {
    "memory.noted": _noted,
    "memory.kept": _kept,
    "memory.corrected": _corrected,
    "memory.forgotten": _forgotten,
}
