"""A goal that the person gives in their own words: it becomes a trigger like a rule's, and takes the same path."""

from __future__ import annotations

from datetime import date, datetime, time

from actions.journal import Draft
from actions.plain import clean
from actions.planning import matching
from actions.planning.steps import PERSONAL
from actions.proposal import offer
from actions.proposal.book import Book
from actions.proposal.state import OPEN, ProposalState
from actions.setup import Setup
from schemas import clock
from schemas.command import Command
from schemas.errors import Refused
from schemas.model import Json
from schemas.trigger import ConditionValue, Explanation, Trigger
from schemas.value import Integrity, Value

MAX_GOAL = 300
_DAY_ENDS = time(18, 0)
"""Wall time at which something to be done by a day is late."""


def on_goal(book: Book, command: Command, now: datetime, setup: Setup) -> list[Draft]:
    """The same words make no second proposal while the first one is open, unless the person says ``another``."""
    wanted = trigger(command, now, setup)
    if command.args.get("another") is not True:
        _must_be_new(book, wanted.title, now)
    return offer.on_trigger(book, wanted, now, setup)


def trigger(command: Command, now: datetime, setup: Setup) -> Trigger:
    """Its id is the command's, so a command that comes twice is found to have led to something."""
    goal = _goal(command)
    by = _day(command.args.get("by"), now, setup)
    playbook = matching.meant(goal, setup.playbooks.values())
    values = {"title": _mine(goal, "Text", command), "goal": _mine(goal, "Text", command)}
    if by is not None:
        values["fact.due"] = _mine(by.isoformat(), "Date", command)
    return Trigger(
        id=command.id,
        owner=command.owner,
        rule=PERSONAL,
        revision="1",
        key=command.id,
        occurrence="1",
        fired_at=now,
        title=goal,
        goal=goal,
        asks=goal,
        urgency="normal",
        playbook=playbook.id if playbook else None,
        deadline_at=clock.at_local(by, _DAY_ENDS, setup.settings.zone) if by else None,
        values=values,
        explanation=_explained(command, goal, now),
    )


def _must_be_new(book: Book, goal: str, now: datetime) -> None:
    for state in (*book.open(), *book.active()):
        is_same = state.trigger.rule == PERSONAL and state.title.casefold() == goal.casefold()
        if is_same and (does := _does(state, now)):
            name = state.id[:8]
            remedy = f"see 'forewatch proposals show {name}'; if you want a second one, say it with --another"
            raise Refused(f"proposal {name} is for that already: {does}", code="exists", remedy=remedy)


def _does(state: ProposalState, now: datetime) -> str:
    """What a proposal is doing; empty for one that is over, or about to be."""
    if state.phase in OPEN and state.expires_at and now >= state.expires_at:
        return ""
    match state.phase:
        case "drafted":
            return "a plan is being made"
        case "needs_input":
            return "it needs an answer of yours"
        case "offered" | "snoozed":
            return f"it is {state.phase}"
        case "running":
            steps = len(state.plan.steps) if state.plan else 0
            return f"it is {'paused' if state.paused_at else 'running'}, {state.ended} of {steps} steps have ended"
    return ""


def _goal(command: Command) -> str:
    said = command.args.get("goal")
    goal = clean(said, 2 * MAX_GOAL) if isinstance(said, str) else ""
    if not goal or len(goal) > MAX_GOAL:
        raise Refused(
            f"a goal has 1 to {MAX_GOAL} characters", code="bad_argument", remedy='say it as in do "renew my passport"'
        )
    return goal


def _day(given: Json, now: datetime, setup: Setup) -> date | None:
    if given in (None, ""):
        return None
    try:
        day = date.fromisoformat(str(given))
    except ValueError as error:
        remedy = "give a day such as 2025-03-31"
        raise Refused(f"{given!r} is no day", code="bad_argument", remedy=remedy) from error
    if day < clock.local_day(now, setup.settings.zone) or not clock.is_plausible(day):
        raise Refused(f"{day} is over, or too far away", code="bad_argument", remedy="give a day to come")
    return day


def _mine(v: str, type_: str, command: Command) -> Value:
    return Value(v=v, type=type_, sources=(command.id,), integrity=Integrity.USER, how="user")


def _explained(command: Command, goal: str, now: datetime) -> Explanation:
    said = ConditionValue(condition=f"you said so by {command.channel}", value=goal, holds=True)
    of = {"rule": PERSONAL, "revision": "1", "key": command.id, "outcome": "fired", "reason": "told"}
    return Explanation.model_validate({**of, "values": (said,), "at": now})
