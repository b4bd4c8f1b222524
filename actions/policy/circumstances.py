"""Circumstances: what the policy is told of a step besides its arguments, all of it from the person's own journal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from actions.policy.destination import amount_of, canonical
from actions.policy.experience import Experience, Known
from actions.policy.identifiers import Identifier
from actions.policy.permission import Permission, Wanted, covering
from actions.proposal.state import ProposalState
from actions.tools.tool import Manifest
from schemas import clock
from schemas.plan import Step
from schemas.value import Value


@dataclass(frozen=True, slots=True)
class Today:
    """Effects beyond the owner that were begun on their local day, this step left out. ``paid``: by currency."""

    sent: int = 0
    paid: Mapping[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The default is what a plan alone tells: nobody known, nothing allowed ahead, nothing done today."""

    known: Mapping[tuple[str, str], Known] | None = None
    """None: nobody asked the journal, so nothing is said about who is known."""
    usual: Mapping[str, str] = field(default_factory=dict)
    """Nominal type -> where this payee was reached before."""
    about: str = ""
    """Whose name ``usual`` goes by."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Source of a value (event id, step uid) -> the family of connectors or tools that minted its ids."""
    trifecta: bool = False
    today: Today = Today()
    permission: Permission | None = None
    removed: tuple[tuple[str, Identifier], ...] = ()
    """(argument, identifier) that was taken out of what leaves."""
    kept: tuple[str, ...] = ()
    """Identifiers from outside that the person chose to leave in."""


def family(tool: str) -> str:
    """Tools of one connector share the first part of their name; so do the kinds of its events."""
    return tool.rpartition(".")[0] or tool


def of(
    state: ProposalState,
    step: Step,
    args: Mapping[str, Value],
    manifest: Manifest,
    removed: tuple[tuple[str, Identifier], ...],
    now: datetime,
    zone: ZoneInfo,
) -> Circumstances:
    """What the journal tells of a step that is about to be sent."""
    experience = state.experience
    trifecta = state.plan is not None and state.plan.trifecta
    standing = experience.permissions.values()
    return Circumstances(
        known=experience.known,
        usual=_usual(experience, args, state.about),
        about=state.about,
        origins=_origins(state),
        trifecta=trifecta,
        today=_today(experience, step, now, zone),
        permission=None if trifecta else covering(standing, experience.acts, _wanted(step, args, manifest), now),
        removed=removed,
        kept=state.steps[step.uid].kept,
    )


def _wanted(step: Step, args: Mapping[str, Value], manifest: Manifest) -> Wanted:
    """Every argument that decides where it goes counts as a destination, whatever its type."""
    to = {
        (value.type, canonical(value))
        for name, value in args.items()
        if manifest.role(name, value) in ("destination", "url", "target", "identity") and value.v is not None
    }
    return Wanted(step.uid, step.tool, frozenset(to), amount_of(args))


def _usual(experience: Experience, args: Mapping[str, Value], about: str) -> dict[str, str]:
    found = {value.type: experience.known_as(value.type, about) for value in args.values()}
    return {type_: v for type_, v in found.items() if v is not None}


def _origins(state: ProposalState) -> dict[str, str]:
    events = {item.event: item.kind.partition(".")[0] for item in state.trigger.evidence}
    steps = {step.uid: family(step.tool) for step in state.plan.steps} if state.plan else {}
    return events | steps


def _today(experience: Experience, step: Step, now: datetime, zone: ZoneInfo) -> Today:
    begins = clock.start_of_day(clock.local_day(now, zone), zone)
    acts = [act for act in experience.acts.since(begins) if act.step != step.uid]
    paid: dict[str, Decimal] = {}
    for act in acts:
        if act.effect == "payment" and act.amount:
            paid[act.amount.currency] = paid.get(act.amount.currency, Decimal()) + act.amount.amount
    return Today(sum(act.effect in ("outbound", "share") for act in acts), paid)
