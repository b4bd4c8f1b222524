"""Experience: what the person's own acts have established, folded from the owner's journal and never from outside text.

Whom they have paid and written to, the acts of late, the permissions that stand, the record by which autonomy is
earned, and whether everything is stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from actions.journal import STANDING
from actions.policy import track
from actions.policy.acts import Act, Acts
from actions.policy.destination import amount_of, canonical, is_destination
from actions.policy.permission import Permission, Standing
from actions.policy.track import Track
from actions.run import breaker
from actions.run.breaker import Breaker
from actions.tools.tool import SELF_EFFECTS, UNGRANTED
from schemas.clock import to_the_minute
from schemas.journal import JournalEntry
from schemas.model import Json
from schemas.plan import Step
from schemas.value import Value

if TYPE_CHECKING:
    from actions.proposal.state import ProposalState, StepState

STREAM = STANDING
_NAMES = frozenset({"name", "payee", "creditor", "beneficiary", "recipient"})


@dataclass(frozen=True, slots=True)
class Known:
    """A destination that an act which the person had approved has reached. ``times`` counts those acts."""

    type: str
    v: str
    last: datetime
    times: int = 1


@dataclass(frozen=True, slots=True)
class Stop:
    """Who stopped everything, and when."""

    by: str
    at: datetime

    def says(self, zone: ZoneInfo) -> str:
        return f"{self.by} at {to_the_minute(self.at, zone)}"


@dataclass(slots=True)
class Experience:
    stopped: Stop | None = None
    """Of everything; None while acting goes on."""
    known: dict[tuple[str, str], Known] = field(default_factory=dict)
    """By nominal type and canonical destination."""
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    """(type, a payee's name in lower case) -> the destination that this name was last paid or written to at."""
    rows: dict[tuple[str, str, str], int] = field(default_factory=dict)
    """(tool, type, canonical destination) -> how many acts in a row the person approved, and they went well."""
    acts: Acts = field(default_factory=Acts)
    permissions: dict[str, Standing] = field(default_factory=dict)
    breakers: dict[str, Breaker] = field(default_factory=dict)
    """By destination: whether calls get through to it."""
    tracks: dict[str, Track] = field(default_factory=dict)
    """By pattern of action."""

    def apply(self, entry: JournalEntry, state: ProposalState | None) -> None:
        """After the proposal's own state has taken the entry."""
        if entry.stream == STREAM:
            self._stands(entry)
        if state is not None:
            self._told(entry, state)

    def _told(self, entry: JournalEntry, state: ProposalState) -> None:
        track.take(self.tracks, entry, state)
        if entry.type == "proposal.drafted" and state.trigger.rule == track.RULE:
            offered = self.tracks.get(str(state.trigger.values["pattern"].v))
            if offered is not None:
                offered.offered = True
        if (step := _step(state, entry)) is not None:
            self._acted(entry, state, step)
        elif entry.type == "run.stopping" and entry.actor.startswith("person:"):
            self._lost_by_run(state, entry, "you stopped what it had begun")
        elif entry.type == "run.undoing":
            self._lost_by_run(state, entry, "it was undone")

    def known_as(self, type_: str, name: str) -> str | None:
        """Where a payee of this name was reached before."""
        return self.names.get((type_, name.casefold().strip()))

    def _stands(self, entry: JournalEntry) -> None:
        body = entry.body
        match entry.type:
            case "acting.stopped":
                self.stopped = Stop(entry.actor.removeprefix("person:"), entry.at)
            case "breaker.opened":
                known = self.breakers.setdefault(str(body["place"]), Breaker())
                known.pause(datetime.fromisoformat(str(body["until"])))
            case "breaker.closed":
                self.breakers.pop(str(body["place"]), None)
            case "acting.resumed":
                self.stopped = None
            case "permission.allowed":
                made = Permission.model_validate(body["permission"])
                self.permissions[made.id] = Standing(made)
            case "permission.revoked":
                self._lose(str(body["id"]), entry.at, str(body["reason"]))
                if str(body["id"]) in self.tracks:
                    self.tracks[str(body["id"])].bad(str(body["reason"]))
            case "autonomy.granted":
                self.tracks.setdefault(str(body["pattern"]), Track()).rise(
                    "auto" if body["level"] == "auto" else "hold"
                )

    def _acted(self, entry: JournalEntry, state: ProposalState, step: Step) -> None:
        live = state.steps[step.uid]
        self._called(entry, step, live)
        if entry.type == "step.intent" and step.effect not in SELF_EFFECTS and step.uid not in self.acts:
            self.acts.add(_act(entry, state, step, live))
        if entry.type == "step.result" and live.phase == "failed":
            self.acts.drop(step.uid)
        if live.phase == "ok" and step.effect not in UNGRANTED and entry.type in _ENDS:
            self._learn(entry, state, step, live)
        if reason := _bad(entry, live):
            self._lose(_permission(state, live), entry.at, reason)
            self._end_row(step.tool, live.args)

    def _called(self, entry: JournalEntry, step: Step, live: StepState) -> None:
        """Does its destination answer?"""
        if entry.type == "step.intent":
            known = self.breakers.get(breaker.place(step.tool, live.args))
            if known is not None and known.until is not None:
                known.probes(step, entry.at)
        elif entry.type == "step.result" and entry.body.get("via", "call") == "call":
            reached = breaker.is_reached(str(entry.body["outcome"]), str(entry.body.get("code", "")))
            if reached is not None:
                self.breakers.setdefault(breaker.place(step.tool, live.args), Breaker()).heard(reached, entry.at)

    def _learn(self, entry: JournalEntry, state: ProposalState, step: Step, live: StepState) -> None:
        held = state.grants.get(live.grant)
        if held is None or held.grant.level not in ("plan", "second"):
            return
        names = [str(v.v) for name, v in live.args.items() if name in _NAMES] + [state.about]
        for value in live.args.values():
            if is_destination(value):
                at = value.type, canonical(value)
                before = self.known.get(at)
                self.known[at] = Known(value.type, str(value.v), entry.at, before.times + 1 if before else 1)
                self.rows[step.tool, *at] = self.rows.get((step.tool, *at), 0) + 1
                self.names |= {(value.type, name.casefold().strip()): str(value.v) for name in names if name}

    def _lost_by_run(self, state: ProposalState, entry: JournalEntry, reason: str) -> None:
        for held in state.grants.values():
            self._lose(held.grant.permission, entry.at, reason)
            if (step := state.planned(held.grant.step)) is not None:
                self._end_row(step.tool, held.grant.args)

    def _end_row(self, tool: str, args: Mapping[str, Value]) -> None:
        for value in args.values():
            if is_destination(value):
                self.rows.pop((tool, value.type, canonical(value)), None)

    def _lose(self, permission: str, at: datetime, reason: str) -> None:
        if permission in self.permissions:
            self.permissions[permission].lose(at, reason)


def _step(state: ProposalState, entry: JournalEntry) -> Step | None:
    """The step that an entry is about; None for one that a later plan has left out."""
    steps = state.plan.steps if state.plan else ()
    return next((step for step in steps if step.uid == entry.body.get("step") and step.uid in state.steps), None)


_ENDS = frozenset({"step.verified", "step.result", "human.answered"})


def _act(entry: JournalEntry, state: ProposalState, step: Step, live: StepState) -> Act:
    to = tuple(sorted(canonical(value) for value in live.args.values() if is_destination(value)))
    return Act(entry.at, step.uid, step.tool, step.effect, to, amount_of(live.args), _permission(state, live))


def _permission(state: ProposalState, live: StepState) -> str:
    held = state.grants.get(live.grant)
    return held.grant.permission if held else ""


def _bad(entry: JournalEntry, live: StepState) -> str:
    """Why this entry is a bad outcome of its step; empty for any other."""
    body: dict[str, Json] = entry.body
    if entry.type == "step.verified" and live.phase == "unverified":
        return "its effect was not to be seen"
    if entry.type == "step.result" and live.phase == "failed":
        return f"it failed: {body.get('message') or body.get('code')}"
    return "you said that it was wrong" if entry.type == "step.wrong" else ""
