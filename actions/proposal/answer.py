"""What a person's command does: every channel's answers end here, and exactly one of two answers wins (law L3)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter, ValidationError

from actions.journal import UNADDRESSED, Draft
from actions.memory import answer as memory_answer
from actions.memory.remembering import STREAM, entity_of
from actions.planning import goal, planner
from actions.planning.steps import Occasion
from actions.policy import autonomy, experience, standing
from actions.proposal import answer_run, approve, edit, edit_rest, reapprove, steer
from actions.proposal.book import Book
from actions.proposal.budget import beside
from actions.proposal.content import content
from actions.proposal.state import OPEN, Answered, ProposalState
from actions.proposal.withdraw import stopping
from actions.setup import Setup
from schemas.clock import to_the_minute
from schemas.command import Command
from schemas.errors import Refused
from schemas.model import Json

_INSTANT: TypeAdapter[datetime] = TypeAdapter(datetime)


def on_command(book: Book, command: Command, now: datetime, setup: Setup) -> list[Draft]:
    state = book.proposals.get(command.proposal)
    try:
        if command.proposal == STREAM:
            return [memory_answer.obey(book, command, now)]
        if command.proposal == experience.STREAM:
            return [standing.obey(book, command, now, setup)]
        if command.verb == "do":
            return goal.on_goal(book, command, now, setup)
        if state is None:
            message = f"there is no proposal {command.proposal}"
            raise Refused(message, code="unknown_proposal", remedy="list the proposals")
        return _obey(book, state, command, now, setup)
    except Refused as refusal:
        stream = state.id if state else UNADDRESSED
        drafts = [_refused(stream, command, now, refusal)]
        return drafts + (_again(book, state, command, now, setup) if state and refusal.code == "expired" else [])


def _obey(book: Book, state: ProposalState, command: Command, now: datetime, setup: Setup) -> list[Draft]:
    match command.verb:
        case "confirm":
            return answer_run.confirm(state, command, now, setup)
        case "endorse":
            return [answer_run.endorse(state, command, now)]
        case "wrong":
            return [answer_run.wrong(state, command, now)]
        case "stop":
            return _stop(state, command, now)
        case "pause":
            return steer.pause(state, command, now)
        case "resume":
            return steer.resume(state, command, now)
        case "abort":
            return steer.abort(state, command, now, setup)
        case "retry":
            return steer.retry(state, command, now, setup)
        case "answer" if "slots" not in command.args:
            return answer_run.happened(state, command, now, setup)
        case "approve" if state.revision:
            return reapprove.accept(state, command, now, setup)
        case "reject" if state.revision:
            return stopping(
                state, now, actor(command), command.id, "revision_rejected", "You did not want the new plan."
            )
        case "edit" if state.phase == "running":
            return edit_rest.edit(state, command, now, setup)
        case "reject" | "never" if state.phase in OPEN or state.phase == "expired":
            return [_reject(state, command, now)]
    _must_be_open(state, now, setup.settings.zone)
    match command.verb:
        case "approve":
            return [*approve.approve(state, command, now, setup), *autonomy.accepted(state, command, now)]
        case "edit":
            return [edit.edit(state, command, now, setup)]
        case "snooze":
            return [_snooze(state, command, now, setup.settings.zone)]
    return [_fill(book, state, command, now, setup)]


def _must_be_open(state: ProposalState, now: datetime, zone: ZoneInfo) -> None:
    answered = state.answered
    if state.phase == "expired" or (state.phase in OPEN and state.expires_at and now >= state.expires_at):
        message = "this answer came after the proposal had expired; nothing was done"
        raise Refused(message, code="expired", remedy="it is offered again: look at it and answer once more")
    if state.phase == "retracted":
        raise Refused(f"withdrawn: {state.says}", code="retracted", remedy="nothing is left to do")
    if state.phase not in OPEN:
        raise Refused(
            f"already answered{_by(answered, zone)}; it is {state.phase}",
            code="already_answered",
            remedy="use stop to halt a run",
        )


def _by(answered: Answered | None, zone: ZoneInfo) -> str:
    if answered is None:
        return ""
    return f" ({answered.verb} by {answered.who} via {answered.channel} at {to_the_minute(answered.at, zone)})"


def _snooze(state: ProposalState, command: Command, now: datetime, zone: ZoneInfo) -> Draft:
    """Until an instant; until the situation ``clears`` (it is withdrawn or over); until its facts ``change``."""
    if command.args.get("until") in ("clears", "changes"):
        known: dict[str, Json] = {"acknowledged": command.args["until"], "channel": command.channel}
        return Draft(state.id, "proposal.snoozed", now, actor(command), command.id, known)
    return _asleep(state, command, now, zone)


def _asleep(state: ProposalState, command: Command, now: datetime, zone: ZoneInfo) -> Draft:
    try:
        until = _INSTANT.validate_python(command.args.get("until"))
    except ValidationError as error:
        raise Refused(
            "snooze until when?", code="bad_argument", remedy="give until as an ISO instant, 'clears' or 'changes'"
        ) from error
    if until.tzinfo is None or until <= now:
        raise Refused("that time is over", code="bad_argument", remedy="give an instant in the future, with its offset")
    if state.expires_at and until >= state.expires_at:
        latest = f"choose a time before {to_the_minute(state.expires_at, zone)}, or reject it"
        raise Refused("the proposal ends before that", code="too_late", remedy=latest)
    body: dict[str, Json] = {"until": until.isoformat(), "channel": command.channel}
    return Draft(state.id, "proposal.snoozed", now, actor(command), command.id, body)


def _reject(state: ProposalState, command: Command, now: datetime) -> Draft:
    """``never`` also mutes the rule: for this key, for this other side, or altogether; until that is forgotten."""
    never = command.verb == "never"
    scope = command.args.get("scope", "key")
    if scope not in ("key", "entity", "rule") or (scope == "entity" and not entity_of(state.trigger)[0]):
        raise Refused(f"never again for {scope!r}?", code="bad_argument", remedy="give the scope key, entity or rule")
    says = "Never again for this." if never else "Not this time."
    body: dict[str, Json] = {
        "verb": command.verb,
        "reason": command.args.get("reason", ""),
        "says": says,
        "channel": command.channel,
    }
    if never:
        body["scope"] = scope
    return Draft(state.id, "proposal.rejected", now, actor(command), command.id, body)


def _stop(state: ProposalState, command: Command, now: datetime) -> list[Draft]:
    if state.phase not in ("running", "undoing"):
        remedy = "reject it instead" if state.phase in OPEN else ""
        raise Refused(f"nothing is running; it is {state.phase}", code="not_running", remedy=remedy)
    says = str(command.args.get("reason", "")) or "Stopped by you."
    return stopping(state, now, actor(command), command.id, "person", says, command.channel)


def _fill(book: Book, state: ProposalState, command: Command, now: datetime, setup: Setup) -> Draft:
    """The person's own values for the playbook's slots; then it is planned again."""
    given = {**state.slots, **edit.slot_values(state, command)}
    planned = planner.make(_anew(book, state, now), given, setup)
    shown = beside(book, state.trigger, now, "low_urgency")
    expires_at = planner.expiry(state.trigger, now)
    slots: dict[str, Json] = {name: value.model_dump(mode="json") for name, value in given.items()}
    type_, body = content(planned, shown, expires_at)
    return Draft(state.id, type_, now, actor(command), command.id, body | {"slots": slots})


def _anew(book: Book, state: ProposalState, now: datetime) -> Occasion:
    return Occasion(state.trigger, state.id, state.version + 1, now, book.memory)


def _again(book: Book, state: ProposalState, command: Command, now: datetime, setup: Setup) -> list[Draft]:
    """A late answer is no consent to what was asked then; but somebody is there, so ask once more."""
    planned = planner.make(_anew(book, state, now), state.slots, setup)
    ends = now + setup.settings.reoffer_for
    shown = beside(book, state.trigger, now, "low_urgency")
    if planned.plan is not None:
        planned = replace(planned, plan=planned.plan.model_copy(update={"expires_at": ends}))
    type_, body = content(planned, shown, ends)
    return [Draft(state.id, type_, now, "clock", command.id, body)]


def _refused(stream: str, command: Command, now: datetime, refusal: Refused) -> Draft:
    body: dict[str, Json] = {
        "verb": command.verb,
        "code": refusal.code,
        "message": refusal.message,
        "remedy": refusal.remedy,
        "channel": command.channel,
        "digest": command.digest,
    }
    return Draft(stream, "command.refused", now, actor(command), command.id, body)


def actor(command: Command) -> str:
    return f"person:{command.who}"
