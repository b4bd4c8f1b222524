"""What a run can do next, as values: the deciding is pure, the executor only performs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from actions.journal import EXECUTOR, Draft
from actions.proposal.state import ProposalState
from actions.run.replan import Wanted
from actions.tools.tool import Outcome
from schemas.journal import EntryType
from schemas.model import Json
from schemas.plan import Step
from schemas.value import Value


@dataclass(frozen=True, slots=True)
class Record:
    """Write these, then look again."""

    drafts: tuple[Draft, ...]


@dataclass(frozen=True, slots=True)
class Send:
    """Journal an intent, then call the tool. ``grant`` is empty for steps that change nothing."""

    step: Step
    args: dict[str, Value]
    binding: str
    grant: str
    attempt: int


@dataclass(frozen=True, slots=True)
class LookUp:
    step: Step


@dataclass(frozen=True, slots=True)
class Verify:
    step: Step


@dataclass(frozen=True, slots=True)
class Await:
    """Begin to wait for an event, from where the owner's events end now."""

    step: Step
    draft: Draft


@dataclass(frozen=True, slots=True)
class Replan:
    """Ask for another way on."""

    wanted: Wanted


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing to do before ``until``; None: not before somebody answers or something happens."""

    until: datetime | None = None


Move = Record | Send | LookUp | Verify | Await | Replan | Rest


def record(state: ProposalState, type_: EntryType, now: datetime, body: dict[str, Json]) -> Record:
    return Record((Draft(state.id, type_, now, EXECUTOR, "", body),))


def result(
    state: ProposalState,
    step: Step,
    now: datetime,
    outcome: Outcome,
    *,
    code: str = "",
    message: str = "",
    via: str = "call",
    out: dict[str, Json] | None = None,
    verify: bool = False,
    retry_at: datetime | None = None,
) -> Draft:
    """The entry that closes an attempt. ``via``: call, look_up, policy, or the engine's own word."""
    body: dict[str, Json] = {
        "step": step.uid,
        "attempt": state.steps[step.uid].attempts,
        "outcome": outcome,
        "code": code,
        "message": message,
        "via": via,
        "out": out or {},
        "verify": verify,
        "retry_at": retry_at.isoformat() if retry_at else None,
    }
    return Draft(state.id, "step.result", now, EXECUTOR, "", body)


def dumped(values: dict[str, Value]) -> dict[str, Json]:
    """Labelled values as a journal body holds them."""
    return {name: value.model_dump(mode="json") for name, value in values.items()}
