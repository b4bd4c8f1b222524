"""Acts: the effects beyond the owner that were begun, by day, so that who asks about lately looks at no older ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime

from schemas.money import Money
from schemas.plan import Effect


@dataclass(frozen=True, slots=True)
class Act:
    """An effect beyond the owner that was begun."""

    at: datetime
    step: str
    tool: str
    effect: Effect
    destinations: tuple[str, ...]
    amount: Money | None
    permission: str = ""


class Acts:
    """At most one for each step. They need not come in the order of their times: clocks are set back now and then."""

    def __init__(self) -> None:
        self._days: dict[date, dict[str, Act]] = {}
        self._day_of: dict[str, date] = {}

    def __contains__(self, step: str) -> bool:
        return step in self._day_of

    def add(self, act: Act) -> None:
        self.drop(act.step)
        day = self._day_of[act.step] = act.at.astimezone(UTC).date()
        self._days.setdefault(day, {})[act.step] = act

    def drop(self, step: str) -> None:
        """What was not begun after all."""
        if (day := self._day_of.pop(step, None)) is not None:
            del self._days[day][step]

    def since(self, at: datetime) -> Iterator[Act]:
        """Those that were begun at this instant or later."""
        first = at.astimezone(UTC).date()
        for day, acts in self._days.items():
            if day > first:
                yield from acts.values()
            elif day == first:
                yield from (act for act in acts.values() if act.at >= at)
