"""Anomaly: a value far from what is usual for its key, by the median and the MAD of logarithms of earlier values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from math import exp, log
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from rules.baseline import Baselines
from rules.case import Case
from rules.language import ConditionError
from rules.match import fire_for
from rules.moment import Moment
from rules.occasion import Occasion
from rules.quantity import Quantity
from rules.template import DAYS, MONTHS, parse_key
from rules.timers import Timer
from rules.values import derived
from schemas import clock
from schemas.rule import Anomaly
from schemas.trigger import ConditionValue, Reason
from schemas.value import Integrity

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

VALUES = ("anomaly.times", "anomaly.median", "anomaly.count", "anomaly.score")
_MAD_TO_SIGMA = 1.4826
_LEAST_SIGMA = 0.1
"""A tenth: values that never vary must not make the smallest change an anomaly."""
_PRIOR_SIGMA, _PRIOR_COUNT = 0.3, 6
"""What is taken for usual before anything is known, and the values that it counts as: the spread of few is a guess."""


class Score(NamedTuple):
    """``z`` deviations from the median of ``number`` earlier values; ``times`` the median."""

    z: float
    times: float
    median: float
    number: int


def score(value: float, earlier: Iterable[float]) -> Score:
    """``earlier`` are logarithms, at least one. docs/decisions/0017 has the reasons and the measurements."""
    known = sorted(earlier)
    count, middle = len(known), _middle(known)
    spread = _MAD_TO_SIGMA * _middle(sorted([abs(x - middle) for x in known]))
    sigma = (spread * count + _PRIOR_SIGMA * _PRIOR_COUNT) / (count + _PRIOR_COUNT)
    usual = exp(middle)
    return Score((log(value) - middle) / max(sigma, _LEAST_SIGMA), value / usual, usual, count)


def _middle(ascending: Sequence[float]) -> float:
    """Their median; statistics.median sorts again and is four times as slow."""
    half, odd = divmod(len(ascending), 2)
    return ascending[half] if odd else (ascending[half - 1] + ascending[half]) / 2


class AnomalyDetector:
    def __init__(self, model: Anomaly, rule: PreparedRule) -> None:
        self._model = model
        try:
            self._by = parse_key(model.by, rule.canonical)
        except ConditionError as error:
            raise error.under("anomaly", "by") from error
        self._value = Quantity(model.value, rule, "anomaly")

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        rule, event = occasion.rule, occasion.event
        found = self._value.of(event)
        if found is None or found[0] <= 0:  # only positive values have a logarithm
            moment.note(rule, occasion.key, "skipped", "no_value", occasion=occasion)
            return
        value, unit = float(found[0]), found[1]
        key = f"{self._by.of(occasion.read, event.subject, moment.zone)}|{unit}"
        earlier, season = self._learn(moment, rule, key, event, log(value))
        result = score(value, earlier) if earlier else None
        reason, condition = self._judge(value, result, season)
        if reason != "anomalous" or result is None:
            self._unremarkable(moment, occasion, reason, condition)
            return
        origin = occasion.values.get("amount")
        integrity = origin.integrity if origin is not None else Integrity.UNTRUSTED
        usual: Any = round(result.median, 2)
        values = {
            "anomaly.times": derived(round(result.times, 1), "Number", (event.id,), integrity),
            "anomaly.median": derived({"amount": f"{usual:.2f}", "currency": unit}, "Money", (event.id,), integrity)
            if unit
            else derived(usual, "Number", (event.id,), integrity),
            "anomaly.count": derived(result.number, "Number", (event.id,), integrity),
            "anomaly.score": derived(round(result.z, 1), "Number", (event.id,), integrity),
        }
        fire_for(moment, occasion, "anomalous", values=values, conditions=(condition,))

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        raise AssertionError("an anomaly sets no timers")

    def _judge(self, value: float, result: Score | None, season: str) -> tuple[Reason, ConditionValue]:
        model = self._model
        count = result.number if result else 0
        if result is None or count < model.min_history:
            return "no_history", _condition(f"{count} earlier values", count, f">= {model.min_history}", False)
        says = f"{result.times:.1f} times the median of {count} earlier values{season}"
        up = model.direction != "down" and result.z >= model.threshold and result.times >= model.times
        down = model.direction != "up" and -result.z >= model.threshold and result.times * model.times <= 1
        wanted = f"score >= {model.threshold:g}, {model.times:g} times, at least {model.floor:g}"
        if value < model.floor:
            return "below_floor", _condition(says, value, wanted, False)
        return ("anomalous" if up or down else "usual"), _condition(says, round(result.z, 1), wanted, up or down)

    def _unremarkable(self, moment: Moment, occasion: Occasion, reason: Reason, condition: ConditionValue) -> None:
        """Nothing to say; if an earlier version of the same thing was remarkable, that is withdrawn."""
        rule = occasion.rule
        case = moment.memory.cases.get(rule.id, occasion.key)
        if case is not None and case.status == "open" and case.subject == occasion.event.subject:
            moment.retract(rule, case, "resolved", says="The source corrected it.")
            case.status = "withdrawn"
            moment.save(case)
        moment.note(rule, occasion.key, "skipped", reason, occasion=occasion, conditions=(condition,))

    def _learn(
        self, moment: Moment, rule: PreparedRule, key: str, event: Any, value: float
    ) -> tuple[Sequence[float], str]:
        """The earlier values that it is compared with, and which of all they are, in words."""
        baselines: Baselines = moment.memory.baselines
        day = clock.local_day(event.occurred_at, moment.zone)
        earlier = baselines.learn(rule.id, key, day, value)
        if self._model.season:
            part, words = _season(self._model.season, day)
            seasonal = baselines.learn(rule.id, f"{key}|{part}", day, value)
            if len(seasonal) >= self._model.min_history:
                return seasonal, words
        return earlier, ""


def _season(season: Literal["month", "weekday"], day: date) -> tuple[str, str]:
    """The part of the year or week that the day belongs to: its name in the state, and in words."""
    if season == "month":
        return f"month {day.month}", f" in {MONTHS[day.month - 1]}"
    return f"weekday {day.isoweekday()}", f" on {DAYS[day.weekday()]}s"


def _condition(condition: str, value: float, wanted: str, holds: bool) -> ConditionValue:
    return ConditionValue(condition=condition, value=value, wanted=wanted, holds=holds)
