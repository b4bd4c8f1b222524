"""The body of an entry that puts a plan, or the questions before it, before the person."""

from __future__ import annotations

from datetime import datetime

from actions.planning.planner import Asking, Planned
from actions.proposal.budget import Surface
from actions.proposal.state import Question
from schemas.journal import EntryType
from schemas.model import Json


def content(planned: Planned, shown: Surface, expires_at: datetime) -> tuple[EntryType, dict[str, Json]]:
    if planned.plan:
        return "proposal.offered", offered(planned.plan.model_dump(mode="json"), shown, expires_at) | rests_on(planned)
    if planned.asking:
        return "proposal.planning", planning(planned.asking, expires_at)
    return "proposal.needs_input", asked(planned.questions, shown, expires_at) | rests_on(planned)


def rests_on(planned: Planned) -> dict[str, Json]:
    """The memories behind it, by which an erasure finds it."""
    return {"memories": list(planned.memories)} if planned.memories else {}


def planning(asking: Asking, expires_at: datetime) -> dict[str, Json]:
    """Whether it interrupts is decided when there is something to show."""
    about: dict[str, Json] = {"why": asking.why, "until": asking.until.isoformat()}
    return {"planning": about, "expires_at": expires_at.isoformat()}


def offered(plan: dict[str, Json], shown: Surface, expires_at: datetime) -> dict[str, Json]:
    return {"plan": plan, "expires_at": expires_at.isoformat(), **shown.body()}


def asked(questions: tuple[Question, ...], shown: Surface, expires_at: datetime) -> dict[str, Json]:
    return {"questions": [_question(q) for q in questions], "expires_at": expires_at.isoformat(), **shown.body()}


def _question(question: Question) -> Json:
    found = question.found.model_dump(mode="json") if question.found else None
    return {"slot": question.slot, "type": question.type, "text": question.text, "found": found}
