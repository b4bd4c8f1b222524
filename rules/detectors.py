"""The detectors by name: a new one is a model in schemas/rule.py, a module here, and a line in this table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, assert_never

from rules import (
    absence,
    anomaly,
    change,
    conflict,
    deadline,
    flatline,
    new_value,
    periodic,
    projected,
    threshold,
    windowed,
)
from rules.absence import AbsenceDetector
from rules.anomaly import AnomalyDetector
from rules.case import Case
from rules.change import ChangeDetector
from rules.conflict import ConflictDetector
from rules.deadline import DeadlineDetector
from rules.flatline import FlatlineDetector
from rules.language import ConditionError
from rules.match import MatchDetector
from rules.moment import Moment
from rules.new_value import NewValueDetector
from rules.occasion import Occasion
from rules.periodic import PeriodicDetector
from rules.projected import ProjectedThreshold
from rules.sequence import SequenceDetector
from rules.threshold import ThresholdDetector
from rules.timers import Timer
from rules.windowed import WindowDetector
from schemas.rule import Absence

if TYPE_CHECKING:
    from rules.prepared import PreparedRule


class Detector(Protocol):
    """What a rule does with the events that match, and with the timers it set."""

    def matched(self, moment: Moment, occasion: Occasion) -> None: ...

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        """All timers of a case that are due, earliest first."""
        ...


VALUES: dict[str, tuple[str, ...]] = {
    "match": (),
    "deadline": deadline.VALUES,
    "absence": (*absence.VALUES, *periodic.VALUES),
    "anomaly": anomaly.VALUES,
    "conflict": conflict.VALUES,
    **dict.fromkeys(("count", "sum", "rate"), windowed.VALUES),
    "mean": windowed.AVERAGED,
    **dict.fromkeys(("spike", "drop"), windowed.COMPARED),
    "sequence": (),
    "change": change.VALUES,
    "new_value": new_value.VALUES,
    "threshold": (*threshold.VALUES, *projected.VALUES),
    "flatline": flatline.VALUES,
}
"""Names that a detector adds to the values of its triggers."""


def make_detector(rule: PreparedRule) -> Detector:
    """ConditionError for settings that the events of the rule cannot fulfil."""
    model = rule.model
    match model.detector:
        case "match":
            return MatchDetector()
        case "deadline":
            assert model.deadline is not None
            return DeadlineDetector(model.deadline, rule.canonical)
        case "absence":
            assert model.absence is not None
            return _absence(model.absence)
        case "anomaly":
            assert model.anomaly is not None
            return AnomalyDetector(model.anomaly, rule)
        case "conflict":
            assert model.conflict is not None
            return ConflictDetector(model.conflict)
        case "count" | "sum" | "mean" | "rate" | "spike" | "drop" as name:
            windows = getattr(model, name)
            assert windows is not None
            return WindowDetector(name, windows, rule)
        case "sequence":
            assert model.sequence is not None
            return SequenceDetector(model.sequence, rule)
        case "change":
            assert model.change is not None
            return ChangeDetector(model.change, rule)
        case "new_value":
            assert model.new_value is not None
            return NewValueDetector(model.new_value, rule)
        case "threshold":
            assert model.threshold is not None
            if model.threshold.project is not None:
                return ProjectedThreshold(model.threshold, model.threshold.project, rule)
            return ThresholdDetector(model.threshold, rule)
        case "flatline":
            assert model.flatline is not None
            return FlatlineDetector(model.flatline, rule)
        case other:
            assert_never(other)


def _absence(model: Absence) -> Detector:
    if model.periodic is not None and not model.of and model.within is None and model.again is None:
        return PeriodicDetector(model, model.periodic)
    if model.of and model.within is not None and model.periodic is None:
        return AbsenceDetector(model, model.within)
    message = "an absence needs either 'of' and 'within', or 'periodic'"
    raise ConditionError(message, ("absence",), remedy="see docs/reference/rules.md")
