"""Planning with a model, as a fold and a pure decision: what was asked and answered is journalled, the rest follows.

Model, then validator, then at most two repairs, then a playbook, then a reminder that says why. After a restart the
same answers lead to the same next move, so nothing that was answered is asked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from actions.planning.ask import Failure, FailureCode, Form, Limits, Message
from actions.planning.rounds import Planning, Round
from actions.planning.validate import Fault
from schemas.model import Json

if TYPE_CHECKING:
    from actions.planning.brief import Brief
    from actions.planning.modelplan import Sound
    from actions.planning.planner import Planned
    from actions.planning.steps import Occasion
    from actions.setup import Setup
    from schemas.value import Value

ROUNDS = 3
"""One plan and two repairs."""
LIMITED = 3
"""Times that a server may ask to come back later."""
_AGAIN: frozenset[FailureCode] = frozenset({"invalid", "truncated", "cut"})
"""Failures that count as a bad answer: another seed may do better."""
_SAYS: Mapping[str, str] = {
    "invalid": "the model's answer was no JSON", "truncated": "the model's answer was too long",
    "refused": "the model refused", "rate_limited": "the model's server wanted us to wait",
    "denied": "the model's server refused the key or the quota", "rejected": "the model's server refused the request",
    "broken": "the model's server failed", "unreachable": "the model's server could not be reached",
    "timed_out": "the model took too long", "cut": "the model's answer was cut off",
    "endless": "the model's answer did not end", "over_budget": "the model's budget is spent",
    "late": "the model took too long", "unsound": "the model's plan was not sound",
    "stopped": "everything was stopped", "off": "the model was switched off",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asking:
    """``round`` counts from 1; ``brief`` is what the messages were made of."""

    round: int
    brief: Brief
    messages: tuple[Message, ...]
    form: Form
    limits: Limits


@dataclass(frozen=True, slots=True)
class Later:
    until: datetime


@dataclass(frozen=True, slots=True)
class Over:
    """``planned`` is offered: the model's plan, its questions, or what there is without it."""

    planned: Planned


def next_move(
    planning: Planning, occasion: Occasion, given: Mapping[str, Value], now: datetime, setup: Setup
) -> Asking | Later | Over:
    """``occasion.now`` must be ``planning.since``, so that the brief is the one that the answers were given to."""
    from actions.planning import brief, planner

    if setup.model is None:
        return _given_up(occasion, given, setup, "off")
    made = brief.brief(occasion, given, planner.built_in(occasion, setup), setup)
    answer: dict[str, Json] | None = None
    faults: list[Fault] = []
    rounds = limited = 0
    for past in planning.rounds:
        if past.failure is not None and past.failure.code == "rate_limited":
            limited += 1
            continue
        rounds += 1
        found = _read(past, made, setup)
        if isinstance(found, Failure):
            return _given_up(occasion, given, setup, found.code)
        if not isinstance(found, list):
            return Over(planner.Planned(found.plan, found.questions))
        answer, faults = past.answer, found
    if rounds >= ROUNDS:
        return _given_up(occasion, given, setup, "unsound", faults)
    return _again(planning, made, answer, faults, rounds, limited, now, setup) or _given_up(
        occasion, given, setup, "late" if now >= planning.until else "rate_limited"
    )


def _read(past: Round, made: Brief, setup: Setup) -> Sound | list[Fault] | Failure:
    from actions.planning import modelplan

    assert setup.model is not None
    if past.answer is not None:
        return modelplan.read(past.answer, made, setup, author(setup))
    assert past.failure is not None
    if past.failure.code in _AGAIN:
        hint = "use fewer steps and shorter texts" if past.failure.code == "truncated" else "reply with JSON only"
        return [Fault("", past.failure.code, "the reply was no whole JSON object", hint)]
    return past.failure


def _again(
    planning: Planning,
    made: Brief,
    answer: dict[str, Json] | None,
    faults: list[Fault],
    rounds: int,
    limited: int,
    now: datetime,
    setup: Setup,
) -> Asking | Later | None:
    """The next question, or when; None if there is no time for it."""
    from actions.planning import planschema, prompts

    assert setup.model is not None
    last = planning.rounds[-1].failure if planning.rounds else None
    wait = (last.retry_at or planning.until) if last and last.code == "rate_limited" else now
    if now >= planning.until or wait >= planning.until or limited >= LIMITED:
        return None
    if wait > now:
        return Later(wait)
    told = prompts.repair(made, answer, faults) if faults else prompts.messages(made)
    # greedy first; the same words at temperature 0 give the same error again (measured, acting.md 1.5)
    limits = Limits(setup.model.max_tokens, setup.model.timeout_s, 0.3 if rounds else 0.0, rounds)
    return Asking(len(planning.rounds) + 1, made, told, planschema.form(made), limits)


def author(setup: Setup) -> str:
    """A plan's ``planner``: the model's name and the revision of the words that it was asked with."""
    from actions.planning import prompts

    assert setup.model is not None
    return f"model:{setup.model.name}@{prompts.REVISION}"


def _given_up(
    occasion: Occasion, given: Mapping[str, Value], setup: Setup, code: str, faults: list[Fault] | None = None
) -> Over:
    from actions.planning import planner

    why = _SAYS[code] + (f": {faults[0].message}" if faults else "")
    return Over(planner.make(occasion, given, replace(setup, model=None), gave_up=why))
