"""Earned autonomy: what may begin without an approval of its own, and the proposals that ask for it (pure).

The consent is the person's approval of the promotion, bound to one pattern; a run that begins under it is journalled
like any other, with grants for its exact arguments that hold only as long as the pattern keeps its level.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from actions.journal import Draft
from actions.policy.experience import STREAM
from actions.policy.track import BY, HOLD, NEXT, RULE, Level, Track, pattern
from actions.proposal import approve, reasons
from actions.proposal.book import Book
from actions.proposal.state import ProposalState
from actions.setup import Setup
from schemas import ids
from schemas.command import Command
from schemas.model import Json
from schemas.trigger import ConditionValue, Explanation, Trigger
from schemas.value import Integrity, Value

_SAYS: dict[Level, str] = {
    "hold": "Do it without asking, an hour after telling you",
    "auto": "Do it without asking, at once",
}


def on_tick(book: Book, now: datetime, setup: Setup) -> list[Draft]:
    """Promotions that are earned by now, and plans that begin by themselves."""
    drafts = [draft for state in _beginning(book, now) for draft in _begun(state, now, setup)]
    for name, track in book.experience.tracks.items():
        at = track.earned_at()
        if at is not None and at <= now:
            drafts += _promotion(book, name, track, now, setup)
    return drafts


def due_times(book: Book) -> Iterator[datetime]:
    """When ``on_tick`` will have something to do; each of them is over when it has done it."""
    experience = book.experience
    yield from (at for track in experience.tracks.values() if (at := track.earned_at()) is not None)
    if not experience.stopped and any(track.level != "ask" for track in experience.tracks.values()):
        yield from (at for state in book.open() if (at := _begins_at(state)) is not None)


def accepted(state: ProposalState, command: Command, now: datetime) -> list[Draft]:
    """The approval of a promotion gives the pattern its level."""
    if state.trigger.rule != RULE:
        return []
    body: dict[str, Json] = {name: state.trigger.values[name].v for name in ("pattern", "level")}
    return [Draft(STREAM, "autonomy.granted", now, f"person:{command.who}", command.id, body)]


def _beginning(book: Book, now: datetime) -> Iterator[ProposalState]:
    if not book.experience.stopped:
        yield from (state for state in book.open() if (at := _begins_at(state)) is not None and at <= now)


def _begins_at(state: ProposalState) -> datetime | None:
    """None for what waits for the person."""
    track = state.experience.tracks.get(pattern(state))
    if track is None or track.level == "ask" or state.phase != "offered" or state.offered_at is None:
        return None
    if state.plan is None or not state.plan.planner.startswith("playbook:"):
        return None
    at = state.offered_at + (HOLD if track.level == "hold" else HOLD * 0)
    return None if state.expires_at is not None and at >= state.expires_at else at


def _begun(state: ProposalState, now: datetime, setup: Setup) -> list[Draft]:
    """As by an approval of the very plan that is offered."""
    command = Command(
        id=ids.command_id(state.id, "approve", f"{BY}/{state.digest}"), owner=state.owner, who=BY, channel=BY,
        verb="approve", proposal=state.id, digest=state.digest, at=now,
    )  # fmt: skip
    return approve.approve(state, command, now, setup, actor=BY)


def _promotion(book: Book, name: str, track: Track, now: datetime, setup: Setup) -> list[Draft]:
    level = NEXT[track.level]
    since = f"{track.first:%Y-%m-%d}" if track.first else ""
    trigger_id = ids.trigger_id(RULE, "1", f"{name} {level}", since)
    done = ConditionValue(condition="runs in a row that ended well", value=track.row, holds=True)
    told = {"pattern": name, "level": level}
    trigger = Trigger(
        id=trigger_id, owner=book.owner, rule=RULE, revision="1", key=f"{name} {level}", occurrence=since, fired_at=now,
        title=f"{_SAYS[level]}: {name} (went well {track.row} times since {since})"[:300], urgency="low", playbook=RULE,
        values={key: Value(v=v, integrity=Integrity.SYSTEM, how="rule") for key, v in told.items()},
        explanation=Explanation(
            rule=RULE, revision="1", key=name, outcome="fired", reason="reached", values=(done,), at=now
        ),
    )  # fmt: skip
    return [] if book.has_seen(trigger_id) else reasons.own(book, trigger, None, trigger_id, now, setup)
