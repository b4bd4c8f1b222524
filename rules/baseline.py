"""Baselines: what was learned of each key, in one compact entry per key: the newest values, as logarithms, or JSON."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from hashlib import blake2b

from rules.case import digest
from rules.columns import KEPT
from rules.state import ROWS, RuleState
from schemas.model import Json

__all__ = ["KEPT", "MOST_KEYS", "PREFIX", "Baselines"]

PREFIX = ROWS
_FORGET_DAYS = 800
MOST_KEYS = 20_000
"""Entries of one rule; what is more goes with the month, that first which was not used for longest."""


class Baselines:
    """An entry is a text of values, or a list: the day and after it any JSON."""

    def __init__(self, state: RuleState) -> None:
        self._state = state

    def learn(self, rule: str, key: str, day: date, value: float) -> array[float]:
        """Adds the value, and gives those that were known before it, oldest first."""
        return self._state.learn(rule, blake2b(key.encode(), digest_size=16).digest(), day.toordinal(), value)

    def recall(self, rule: str, key: str) -> Sequence[Json]:
        """What ``keep`` wrote; empty if nothing."""
        entry = self._state.get(_name(rule, key))
        return entry[1:] if isinstance(entry, list) else ()

    def keep(self, rule: str, key: str, day: date, values: Sequence[Json]) -> None:
        """Replace what is known of the key; ``day`` (or a later one, kept earlier) is when it was last of use."""
        name = _name(rule, key)
        before = self._state.get(name)
        newest = max(day.toordinal(), int(str(before[0]))) if isinstance(before, list) else day.toordinal()
        entry: list[Json] = [newest, *values]
        if entry != before:
            self._state.put(name, entry)

    def forget_unused(self, today: date) -> None:
        """Keys that had no value for two years, and of each rule those beyond ``MOST_KEYS`` that were not used for
        longest; called once a month, since it looks at all of them."""
        by_rule: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for name, entry in list(self._state.items(PREFIX)):
            last = _last_day(entry)
            if last is None:
                continue
            if today.toordinal() - last > _FORGET_DAYS:
                self._state.delete(name)
            else:
                by_rule[name.rpartition("/")[0]].append((last, name))
        for kept in by_rule.values():
            for _, name in sorted(kept)[: max(len(kept) - MOST_KEYS, 0)]:
                self._state.delete(name)


def _last_day(entry: Json) -> int | None:
    """When an entry was last of use, as an ordinal; None for what is no entry of ours."""
    if isinstance(entry, str):
        return int(entry.partition(" ")[0])
    return int(str(entry[0])) if isinstance(entry, list) else None


def _name(rule: str, key: str) -> str:
    return f"{PREFIX}{rule}/{digest(key)}"
