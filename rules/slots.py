"""Slots: the timed entries that block the owner's time, as conflict rules compare them."""

from __future__ import annotations

from datetime import datetime

import msgspec

from rules.case import digest
from rules.state import RuleState
from schemas.event import Trust

PREFIX = "slot/"


class Slot(msgspec.Struct, frozen=True):
    subject: str
    uid: str
    start: datetime
    end: datetime
    title: str
    recurring: bool
    event: str
    kind: str
    occurred_at: datetime
    trust: Trust
    account: str = ""
    place: str = ""

    def overlap(self, other: Slot) -> tuple[datetime, datetime]:
        """First and last instant of both; empty if the first is not before the last."""
        return max(self.start, other.start), min(self.end, other.end)


class Slots:
    def __init__(self, state: RuleState) -> None:
        self._state = state
        self._slots: dict[str, dict[str, Slot]] = {}
        for name, entry in state.items(PREFIX):
            slot = msgspec.convert(entry, Slot)
            self._slots.setdefault(name.split("/")[1], {})[slot.subject] = slot

    def get(self, rule: str, subject: str) -> Slot | None:
        return self._slots.get(rule, {}).get(subject)

    def of(self, rule: str) -> list[Slot]:
        """By start, then subject."""
        return sorted(self._slots.get(rule, {}).values(), key=lambda slot: (slot.start, slot.subject))

    def of_uid(self, rule: str, uid: str) -> list[Slot]:
        """All versions and occurrences of one entry."""
        return [slot for slot in self._slots.get(rule, {}).values() if slot.uid == uid]

    def rules_of(self, subject: str) -> list[str]:
        """The rules that keep a slot for this subject."""
        return [rule for rule, slots in self._slots.items() if subject in slots]

    def put(self, rule: str, slot: Slot) -> None:
        self._slots.setdefault(rule, {})[slot.subject] = slot
        self._state.put(_name(rule, slot.subject), msgspec.to_builtins(slot))

    def remove(self, rule: str, subject: str) -> None:
        if self._slots.get(rule, {}).pop(subject, None) is not None:
            self._state.delete(_name(rule, subject))

    def remove_ended(self, before: datetime) -> None:
        for rule, slots in self._slots.items():
            for slot in [slot for slot in slots.values() if slot.end < before]:
                self.remove(rule, slot.subject)


def _name(rule: str, subject: str) -> str:
    return f"{PREFIX}{rule}/{digest(subject)}"
