"""Memory: a state's entries by their families, read once per state and kept beside it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

from rules.baseline import Baselines
from rules.case import Cases
from rules.matter import Change, Matters
from rules.recent import Recents
from rules.seen import Seen
from rules.slots import Slots
from rules.state import RuleState


class Fits:
    """Those of a step's events that fit a chain, oldest first, among the first ``upto`` that ``arrived``."""

    __slots__ = ("arrived", "events", "upto")

    def __init__(self, arrived: Sequence[Any]) -> None:
        self.arrived = arrived
        self.events: list[Any] = []
        self.upto = 0


class Memory:
    def __init__(self, state: RuleState) -> None:
        self.state = state
        self.cases = Cases(state)
        self.seen = Seen(state)
        self.recents = Recents(state)
        self.slots = Slots(state)
        self.matters = Matters(state)
        self.baselines = Baselines(state)
        self.readings: dict[tuple[str, int, str], tuple[str, dict[str, Any]]] = {}
        """What sequences read of kept events, by revision, step and event; can be dropped at any time."""
        self.fits: dict[tuple[str, ...], Fits] = {}
        """Which events fit the chains of sequences, by revision, step and the chain's events; can be dropped, too."""

    @classmethod
    def of(cls, state: RuleState) -> Memory:
        """The state's memory; built anew after a load."""
        if not isinstance(state.index, Memory):
            state.index = cls(state)
        return state.index

    def clean(self, now: datetime, today: date) -> Change:
        """Once a local day: drop what can no longer matter. Gives what that does to the matters."""
        self.slots.remove_ended(now - timedelta(days=1))
        self.recents.remove_old(now)
        if today.day == 1:
            self.baselines.forget_unused(today)
        return self.matters.forget_old(today)
