"""Priority: what a proposal is worth interrupting for, as urgency x value x certainty, each part named (pure)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from schemas.model import Json
from schemas.money import Money
from schemas.trigger import Trigger, Urgency

_URGENCY: dict[Urgency, float] = {"low": 0.2, "normal": 0.5, "high": 0.8, "critical": 1.0}
_NEARNESS = ((timedelta(days=1), 1.0), (timedelta(days=3), 0.9), (timedelta(days=7), 0.8))
_FAR = 0.7
"""Of a deadline that is further away, and of a matter without one."""
_PLAIN_VALUE = 0.6
"""Of a matter in which no money is named: what is at stake is not known, so it is neither small nor great."""
_LEAST_VALUE = 0.3
_GREAT = 10_000
"""From this amount on nothing is worth more. Currencies are taken as they are: an order of size is all that counts."""
_PRIOR = 4
"""Answers that the first real ones are weighed against: one rejection does not silence a rule."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a person has answered one rule so far: ``useful`` (approved, edited) and ``useless`` (rejected, never)."""

    useful: int = 0
    useless: int = 0

    @property
    def certainty(self) -> float:
        """1 while nobody has complained; a share of ``useless`` answers takes its part away."""
        return (_PRIOR + self.useful) / (_PRIOR + self.useful + self.useless)


@dataclass(frozen=True, slots=True)
class Priority:
    """Three numbers between 0 and 1. ``score`` is their product."""

    urgency: float
    value: float
    certainty: float

    @property
    def score(self) -> float:
        return round(self.urgency * self.value * self.certainty, 4)

    def body(self) -> dict[str, Json]:
        return {**asdict(self), "score": self.score}


def priority(trigger: Trigger, standing: Standing, now: datetime) -> Priority:
    return Priority(
        urgency=round(_URGENCY[trigger.urgency] * _nearness(trigger.deadline_at, now), 4),
        value=_value(trigger),
        certainty=round(trigger.certainty * standing.certainty, 4),
    )


def _nearness(deadline: datetime | None, now: datetime) -> float:
    if deadline is None:
        return _FAR
    return next((near for within, near in _NEARNESS if deadline - now <= within), _FAR)


def _value(trigger: Trigger) -> float:
    """By the largest amount that the trigger names, on a scale of orders of size."""
    amounts = [abs(Money.model_validate(value.v).amount) for value in trigger.values.values() if value.type == "Money"]
    if not amounts:
        return _PLAIN_VALUE
    return round(max(_LEAST_VALUE, min(1.0, math.log10(1 + float(max(amounts))) / math.log10(1 + _GREAT))), 4)
