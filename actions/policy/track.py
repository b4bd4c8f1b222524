"""The record by which autonomy is earned, per pattern of action: a rule, and exactly the tools that its plan uses.

ask -> hold -> auto, upwards only by an approval of the person's, downwards at once by one bad outcome. A rule on trial
(shadow) proposes nothing and so earns nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

from actions.tools.tool import SELF_EFFECTS, UNGRANTED
from schemas.journal import JournalEntry

if TYPE_CHECKING:
    from actions.proposal.state import ProposalState

RULE = "earned-autonomy"
"""Under this name promotions are proposed; no plan of it earns anything."""
BY = "autonomy"
"""Who began a run that nobody approved by itself."""
Level = Literal["ask", "hold", "auto"]
"""ask: the person approves each plan; hold: it begins by itself after ``HOLD`` in which it can be rejected; auto: at
once."""
HOLD = timedelta(hours=1)
NEEDED: dict[Level, tuple[int, timedelta]] = {"ask": (5, timedelta(days=14)), "hold": (10, timedelta(days=30))}
"""To rise from a level: runs in a row that ended well, and the time from the first of them on."""
NEXT: dict[Level, Level] = {"ask": "hold", "hold": "auto"}


@dataclass(slots=True)
class Track:
    """``row``: runs in a row at this level that ended well, since ``first``; ``offered``: a promotion was proposed."""

    level: Level = "ask"
    row: int = 0
    first: datetime | None = None
    last: datetime | None = None
    offered: bool = False
    why: str = ""
    """Why it fell, the last time."""

    def good(self, at: datetime) -> None:
        self.row, self.first, self.last = self.row + 1, self.first or at, at

    def bad(self, why: str) -> None:
        self.level, self.row, self.first, self.last, self.offered, self.why = "ask", 0, None, None, False, why

    def rise(self, level: Level) -> None:
        self.level, self.row, self.first, self.last, self.offered = level, 0, None, None, False

    def earned_at(self) -> datetime | None:
        """From when on the next level is earned; None: not by what has happened so far."""
        runs, span = NEEDED.get(self.level, (0, timedelta()))
        if not runs or self.row < runs or self.first is None or self.last is None or self.offered:
            return None
        return max(self.last, self.first + span)


_TELLING = frozenset({
    "run.done", "proposal.rejected", "proposal.edited", "run.stopping", "run.undoing", "step.wrong", "run.failed",
})  # fmt: skip


def pattern(state: ProposalState) -> str:
    """Empty for what can never begin by itself: a plan that reaches others, asks twice, or was made by a model."""
    plan = state.plan
    if plan is None or state.trigger.rule == RULE or plan.risk not in ("none", "low") or plan.trifecta:
        return ""
    if any(step.effect not in SELF_EFFECTS or step.gate == "second" for step in plan.steps):
        return ""
    tools = [step.tool for step in plan.steps if step.effect not in UNGRANTED]
    return f"{state.trigger.rule}: {' + '.join(tools)}" if tools else ""


def take(tracks: dict[str, Track], entry: JournalEntry, state: ProposalState) -> None:
    """What an entry tells about the pattern of its proposal."""
    name = pattern(state) if entry.type in _TELLING else ""
    if not name:
        return
    track = tracks.setdefault(name, Track())
    if entry.type == "run.done" and state.answered is not None:
        _done(track, entry, state)
    elif why := _bad(entry, state):
        track.bad(why)


def _done(track: Track, entry: JournalEntry, state: ProposalState) -> None:
    """A run counts at the level at which it was begun, and only as the playbook made it."""
    assert state.plan is not None
    began_by_itself = state.answered is not None and state.answered.who == BY
    if state.plan.planner.startswith("playbook:") and not state.unseen and began_by_itself == (track.level != "ask"):
        track.good(entry.at)


def _bad(entry: JournalEntry, state: ProposalState) -> str:
    by_person = entry.actor.startswith("person:")
    match entry.type:
        case "proposal.rejected":
            return "you did not want it"
        case "proposal.edited":
            return "you changed it"
        case "run.stopping" if by_person:
            return "you stopped it"
        case "run.undoing":
            return "it was undone"
        case "step.wrong":
            return "you said that it was wrong"
        case "run.failed":
            return "it failed"
    return "its effect was not to be seen" if entry.type == "run.done" and state.unseen else ""
