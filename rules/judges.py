"""Judges: what a rule looks for in a window: a count, total or mean inside bounds, or many times those before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from operator import ge, gt, le, lt
from statistics import median
from typing import Any, Protocol

from rules.language import ConditionError
from rules.ledger import MOST, Item
from schemas.model import Json
from schemas.rule import Count, Mean, Rate, Spike, Sum
from schemas.trigger import ConditionValue, Reason
from schemas.window import Over


@dataclass(frozen=True, slots=True)
class Window:
    """``start`` and ``end`` name it; a sliding one is named by the first and last event at which the rule holds.

    ``begins``: the earliest instant that it counts from.
    """

    start: datetime
    end: datetime
    begins: datetime
    count: int
    total: Decimal
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """``values``: what it adds to the trigger: name and JSON number; ``median`` is in the unit of the total."""

    holds: bool
    reason: Reason
    condition: ConditionValue
    nearest: str = ""
    times: float | None = None
    median: Decimal | None = None
    history: int | None = None


Found = tuple[Window, Finding]


class Judge(Protocol):
    """``at_close``: it can only tell when a window is over. ``learns``: it compares with earlier windows."""

    at_close: bool
    learns: bool

    def holds(self, count: int, total: Decimal, earlier: Sequence[Window]) -> bool: ...

    def find(self, window: Window, earlier: Sequence[Window]) -> Finding:
        """The same with its reasons, which cost more."""
        ...


class Bounded:
    """The count, total or mean of a window lies inside the bounds of the rule; ``factor``: for bounds per some time."""

    learns = False

    def __init__(self, model: Count | Sum | Mean | Rate, factor: Decimal = Decimal(1)) -> None:
        self._model = model
        self._sums = isinstance(model, Sum)
        self._least = model.min_count if isinstance(model, Mean) else None
        self._factor = factor
        self._bounds = {name: Decimal(str(bound)) for name in BOUNDS if (bound := getattr(model, name)) is not None}
        needs_end = isinstance(model, Mean) or "below" in self._bounds or "at_most" in self._bounds
        self.at_close = needs_end and model.over.shape != "sliding"

    def holds(self, count: int, total: Decimal, earlier: Sequence[Window]) -> bool:
        if self._least is not None and count < self._least:
            return False
        value = self._of(count, total)
        return all(_IS_INSIDE[name](value, bound) for name, bound in self._bounds.items())

    def find(self, window: Window, earlier: Sequence[Window]) -> Finding:
        value = self._of(window.count, window.total)
        lacking = [
            f"{abs(bound - value):f} {'more' if name in ('at_least', 'above') else 'fewer'}"
            for name, bound in self._bounds.items()
            if not _IS_INSIDE[name](value, bound)
        ]
        if self._least is not None and window.count < self._least:
            lacking.append(f"{self._least - window.count} more of them")
        condition = ConditionValue(
            condition=f"{type(self._model).__name__.lower()} over {self._model.over}",
            value=_number(value),
            wanted=", ".join(f"{name} {bound:f}" for name, bound in self._bounds.items()),
            holds=not lacking,
        )
        return Finding(not lacking, "not_reached" if lacking else "reached", condition, "; ".join(lacking))

    def _of(self, count: int, total: Decimal) -> Decimal:
        if self._least is not None:
            return mean(count, total)
        value = total if self._sums else Decimal(count)
        return value if self._factor == 1 else value / self._factor


def mean(count: int, total: Decimal) -> Decimal:
    """Of a window; 0 of an empty one."""
    return round(total / count, _PLACES) if count else Decimal(0)


class Compared:
    """The count or total of a window is many times the median of the windows before it, or a small part of it."""

    learns = True

    def __init__(self, model: Spike, *, drops: bool) -> None:
        self._model = model
        self._drops = drops
        self.at_close = drops
        self._times, self._floor = Decimal(str(model.times)), Decimal(str(model.floor))

    def holds(self, count: int, total: Decimal, earlier: Sequence[Window]) -> bool:
        value, middle = total if self._model.value else Decimal(count), self._median(earlier)
        return middle is not None and middle > 0 and self._stands_out(value, middle) and self._is_much(value, middle)

    def find(self, window: Window, earlier: Sequence[Window]) -> Finding:
        value, middle, count = self._of(window), self._median(earlier), len(earlier)
        if middle is None:
            says = self._says(f"{count} earlier windows", count, False)
            return Finding(False, "no_history", says, f"{self._model.min_history - count} more windows", history=count)
        if middle <= 0:
            says = self._says(f"the median of {count} {_plural(self._model.over)} is {middle:f}", _number(value), False)
            return Finding(False, "irregular", says, median=middle, history=count)
        times = round(float(value / middle), 1)
        stands_out, is_much = self._stands_out(value, middle), self._is_much(value, middle)
        fired: Reason = "dropped" if self._drops else "spiked"
        reason: Reason = "below_floor" if not is_much else fired if stands_out else "usual"
        text = f"{times:.1f} times the median of {count} {_plural(self._model.over)}"
        says = self._says(text, _number(value), stands_out and is_much)
        return Finding(stands_out and is_much, reason, says, times=times, median=middle, history=count)

    def _median(self, earlier: Sequence[Window]) -> Decimal | None:
        """None while there are too few."""
        return median(map(self._of, earlier)) if len(earlier) >= self._model.min_history else None

    def _stands_out(self, value: Decimal, middle: Decimal) -> bool:
        return value * self._times <= middle if self._drops else value >= self._times * middle

    def _is_much(self, value: Decimal, middle: Decimal) -> bool:
        return (middle if self._drops else value) >= self._floor

    def _of(self, window: Window) -> Decimal:
        return window.total if self._model.value else Decimal(window.count)

    def _says(self, condition: str, value: Json, holds: bool) -> ConditionValue:
        model = self._model
        wanted = f"the median {model.times:g} times as much, " if self._drops else f"{model.times:g} times the median, "
        return ConditionValue(
            condition=condition,
            value=value,
            wanted=f"{wanted}at least {model.floor:g}, after {model.min_history} windows",
            holds=holds,
        )


BOUNDS = ("at_least", "above", "below", "at_most")
_PLACES = 6
_IS_INSIDE: dict[str, Callable[[Any, Any], bool]] = {"at_least": ge, "above": gt, "below": lt, "at_most": le}


def _plural(over: Over) -> str:
    return "windows" if over.shape == "every" else f"{over.shape}s"


def _number(value: Decimal) -> Json:
    return int(value) if value == int(value) else float(value)


def make_judge(name: str, model: Count | Sum | Mean | Rate | Spike) -> Judge:
    """ConditionError for what cannot be counted so."""
    if isinstance(model, Spike):
        if not model.over.is_aligned:
            remedy = "use day, week, month or such as 'every 3d'"
            raise ConditionError(
                f"a {name} compares windows of the calendar, not {str(model.over)!r}", (name, "over"), remedy=remedy
            )
        return Compared(model, drops=name == "drop")
    bounds = {bound: value for bound in BOUNDS if (value := getattr(model, bound)) is not None}
    if not bounds:
        raise ConditionError(f"a {name} needs a bound", (name,), remedy=f"add one of {', '.join(BOUNDS)}")
    if not isinstance(model, Mean) and model.over.shape == "sliding" and bounds.keys() & {"below", "at_most"}:
        remedy = "use day, week, month, 'every ...' or 'session ...'"
        raise ConditionError(
            "a sliding window has no end at which too little could be told", (name, "over"), remedy=remedy
        )
    factor = _factor(model) if isinstance(model, Rate) else Decimal(1)
    least = max(Decimal(str(bounds.get("at_least", 0))), Decimal(str(bounds.get("above", -1))) + 1) * factor
    if not isinstance(model, (Sum, Mean)) and not model.over.is_aligned and least > MOST:
        remedy = "use day, week, month or such as 'every 1h'"
        raise ConditionError(f"a {model.over.shape} window counts to {MOST} at most", (name,), remedy=remedy)
    if isinstance(model, Count) and model.distinct and max(bounds.values()) > MOST:
        raise ConditionError(f"different values are counted to {MOST} at most", (name,), remedy="use a smaller bound")
    return Bounded(model, factor)


def _factor(model: Rate) -> Decimal:
    """How many times ``per`` is in the window."""
    over, per = model.over.length.timedelta(), model.per.timedelta()
    if model.over.shape not in ("sliding", "every") or not per or per > over:
        remedy = "write such as {over: 6h, per: 1h, above: 5}"
        raise ConditionError(
            "a rate needs a window of a fixed length, no shorter than 'per'", ("rate", "over"), remedy=remedy
        )
    return Decimal(int(over.total_seconds())) / Decimal(int(per.total_seconds()))
