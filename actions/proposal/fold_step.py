"""How journal entries change one step of a run: gates, intents, results, look-ups, waits and questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from actions.proposal.state import IN_DOUBT, Awaits, GateState, LookState, ProposalState, StepPhase, StepState, Trait
from schemas.journal import EntryType, JournalEntry
from schemas.value import Value

_INSTANT: TypeAdapter[datetime] = TypeAdapter(datetime)
Body = Mapping[str, Any]


def instant(value: object) -> datetime | None:
    """An instant of a journal body, if there is one."""
    return None if value is None else _INSTANT.validate_python(value)


def values(body: Body) -> dict[str, Value]:
    """Labelled values of a journal body."""
    return {name: Value.model_validate(value) for name, value in body.items()}


def _gated(step: StepState, entry: JournalEntry) -> None:
    body: Body = entry.body
    step.phase = "gated"
    step.gate = GateState(
        digest=body["digest"],
        args=values(body["args"]),
        reasons=tuple(body["reasons"]),
        diff=body["diff"],
        at=entry.at,
        expired_at=instant(body.get("expired_at")),
    )


def _confirmed(step: StepState, entry: JournalEntry) -> None:
    step.phase, step.gate = "pending", None


def _endorsed(step: StepState, entry: JournalEntry) -> None:
    body: Body = entry.body
    step.phase, step.gate, step.kept = "pending", None, tuple(str(one) for one in body["kept"])


def _held(step: StepState, entry: JournalEntry) -> None:
    step.phase, step.wake = "held", instant(entry.body["until"])


def _intended(step: StepState, entry: JournalEntry) -> None:
    body: Body = entry.body
    step.doubt = step.phase in IN_DOUBT
    step.deaths += step.phase == "sent"
    step.phase, step.attempts, step.key = "sent", body["attempt"], body["key"]
    step.args, step.binding, step.grant = values(body["args"]), body["binding"], body["grant"]
    step.last_sent = instant(body["sent_at"])
    step.first_sent = step.first_sent or step.last_sent
    step.cursor = body.get("cursor") if step.cursor is None else step.cursor
    step.retry_at, step.look, step.gate, step.wake, step.deferred = None, None, None, None, None


def _resulted(step: StepState, entry: JournalEntry) -> None:
    body: Body = entry.body
    step.via, step.wake, step.awaits = body.get("via", ""), None, None
    step.deaths += step.phase == "sent" and step.via == "look_up"
    step.phase = _after(step, body)
    if body.get("again"):
        step.phase, step.rounds, step.attempts = "waiting", step.rounds + 1, 0
        step.deaths = 0
    if step.phase != "unknown":
        step.doubt = False
    if step.phase == "pending":
        step.first_sent = step.cursor = None  # known to have done nothing: the age of the key counts from the next send
    step.out = values(body.get("out") or {})
    step.retry_at = instant(body.get("retry_at"))
    step.code, step.message = body.get("code", ""), body.get("message", "")


def _after(step: StepState, body: Body) -> StepPhase:
    match body["outcome"]:
        case "ok":
            return "returned" if body["verify"] else "ok"
        case "failed":
            return "failed"
        case "not_sent" if step.via == "look_up" or not step.doubt:
            return "pending"
    return "unknown"  # this attempt did nothing, but nobody knows of the one before


def _looked(step: StepState, entry: JournalEntry) -> None:
    body: Body = entry.body
    failures = (step.look.failures if step.look else 0) + 1 if body.get("error") else 0
    step.look = LookState(
        attempt=step.attempts,
        at=_INSTANT.validate_python(body["looked_at"]),
        found=body["found"],
        out=body.get("out") or {},
        error=body.get("error", ""),
        failures=failures,
        retry_at=instant(body.get("retry_at")),
    )


def _verified(step: StepState, entry: JournalEntry) -> None:
    body: Body = entry.body
    step.retry_at = instant(body.get("retry_at"))
    if body["seen"]:
        step.phase, step.receipt = "ok", body["receipt"]
    else:
        step.checks += 1
        step.message = body.get("reason", "")
        step.phase = "unverified" if body["final"] else "returned"


def _deferred(step: StepState, entry: JournalEntry) -> None:
    step.deferred, step.place = instant(entry.body["until"]), str(entry.body["place"])


def _skipped(step: StepState, entry: JournalEntry) -> None:
    step.phase, step.code, step.message = "skipped", str(entry.body["reason"]), str(entry.body["says"])


def _asked(step: StepState, entry: JournalEntry) -> None:
    body: Body = entry.body
    step.phase, step.question, step.asked = "asked", body["digest"], body["question"]


def _answered(step: StepState, entry: JournalEntry) -> None:
    body: Body = entry.body
    step.question, step.asked = "", ""
    if body["happened"]:
        step.phase, step.via, step.out = "ok", "person", values(body.get("out") or {})
        step.receipt = {"what": "confirmed by the person", "where": entry.actor}
    else:
        step.phase, step.first_sent, step.doubt = "pending", None, False


def _waiting(step: StepState, entry: JournalEntry) -> None:
    body: Body = entry.body
    step.phase, step.wake = "waiting", instant(body["wake"])
    if "kind" in body:
        tests = tuple(Trait(*test) for test in body["match"])
        step.awaits = Awaits(body["kind"], tests, body["cursor"], body["on_timeout"])


def _fired(step: StepState, entry: JournalEntry) -> None:
    """Of an event and a deadline that come together, the first in the journal counts."""
    if step.phase != "waiting":
        return
    body: Body = entry.body
    step.phase, step.wake, step.awaits = "ok", None, None
    step.out = values(body.get("out") or {})


def _end(step: StepState, entry: JournalEntry) -> None:
    if step.phase == "ok" and step.done_at is None:
        step.done_at = entry.at


def _on_step(change: Callable[[StepState, JournalEntry], None]) -> Callable[[ProposalState, JournalEntry], None]:
    def apply(state: ProposalState, entry: JournalEntry) -> None:
        step = state.steps[str(entry.body["step"])]
        change(step, entry)
        _end(step, entry)

    return apply


def _intent(state: ProposalState, entry: JournalEntry) -> None:
    """The intent spends its grant; a later attempt of the same call finds it spent by its own step."""
    grant = state.grants.get(str(entry.body["grant"]))
    if grant and not grant.used_by:
        grant.used_by = entry.id
    live = state.steps[str(entry.body["step"])]
    state.retries += bool(live.tries) and live.phase not in IN_DOUBT  # to clear up a doubt is no new try
    _intended(live, entry)


def _result(state: ProposalState, entry: JournalEntry) -> None:
    """What went well gives back one of the run's tries: a question that is asked for months may fail now and then."""
    _on_step(_resulted)(state, entry)
    state.retries -= bool(state.retries and entry.body["outcome"] == "ok")


HANDLERS: dict[EntryType, Callable[[ProposalState, JournalEntry], None]] = {
    "step.gated": _on_step(_gated),
    "step.confirmed": _on_step(_confirmed),
    "step.released": _on_step(_confirmed),
    "value.endorsed": _on_step(_endorsed),
    "step.held": _on_step(_held),
    "step.intent": _intent,
    "step.result": _result,
    "step.lookup": _on_step(_looked),
    "step.verified": _on_step(_verified),
    "step.skipped": _on_step(_skipped),
    "step.deferred": _on_step(_deferred),
    "human.asked": _on_step(_asked),
    "human.answered": _on_step(_answered),
    "wait.started": _on_step(_waiting),
    "wait.fired": _on_step(_fired),
}
