"""Events that may settle a case which is not open yet: a payment seen before its invoice."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec import structs
from pydantic import BaseModel

from rules.state import RuleState
from schemas.event import Event
from schemas.model import Json

PREFIX = "recent/"
CAP = 300
"""Events kept for one guard; the oldest go first."""
LATENESS = timedelta(days=7)
"""How much later than an event its invoice, question, ... may be seen."""


class Recents:
    """For each guard the events that satisfied its part on the event, without their text, until they are too old."""

    def __init__(self, state: RuleState) -> None:
        self._state = state
        self._kept: dict[str, dict[str, tuple[datetime, Any]]] = {}
        self._of_subject: dict[str, dict[tuple[str, str], None]] = {}
        self._ordered: dict[str, list[Any]] = {}
        self._arrived: dict[str, list[Any]] = {}
        self.cut: dict[str, tuple[datetime, Any]] = {}
        """By guard the newest event that went because there were more than ``CAP``, and until when it would have been
        kept. Of this process: who asks for it replays."""
        for name, entry in state.items(PREFIX):
            assert isinstance(entry, dict)
            guard, _, event = name.removeprefix(PREFIX).rpartition("/")
            until = datetime.fromisoformat(str(entry["until"]))
            self._keep(guard, event, until, Event.model_validate(entry["event"]))

    def of(self, guard: str) -> list[Any]:
        """Oldest first."""
        found = self._ordered.get(guard)
        if found is None:
            events = (event for _, event in self._kept.get(guard, {}).values())
            found = self._ordered[guard] = sorted(events, key=lambda event: (event.occurred_at, event.id))
        return found

    def has(self, guard: str, event: str) -> bool:
        return event in self._kept.get(guard, ())

    def arrived(self, guard: str) -> Sequence[Any]:
        """As they came, those that are gone since among them; the list only grows, until another takes its place."""
        return self._arrived.setdefault(guard, [])

    def add(self, guard: str, event: Any, *, before: timedelta, now: datetime) -> None:
        """Kept for ``before`` and the lateness of what it may settle; an event of long ago is not kept."""
        until = event.occurred_at + before + LATENESS
        if until < now:
            return
        slim = _without_text(event)
        kept = self._keep(guard, event.id, until, slim)
        self._state.put(f"{PREFIX}{guard}/{event.id}", {"until": until.isoformat(), "event": _json(slim)})
        if len(kept) > CAP:
            for old in self.of(guard)[: CAP // 4]:
                self.cut[guard] = kept[old.id]
                self.remove(guard, old.id)

    def remove(self, guard: str, event: str) -> None:
        found = self._kept.get(guard, {}).pop(event, None)
        if found is not None:
            self._state.delete(f"{PREFIX}{guard}/{event}")
            self._ordered.pop(guard, None)
            places = self._of_subject[found[1].subject]
            del places[guard, event]
            if not places:
                del self._of_subject[found[1].subject]

    def forget_subject(self, subject: str) -> None:
        """The source withdrew this thing, so that it settles nothing any more."""
        for guard, event in list(self._of_subject.get(subject, ())):
            self.remove(guard, event)

    def supersede(self, event: Any, guards: Container[str]) -> None:
        """A newer version of a thing takes the place of the earlier ones of its kind, for these guards."""
        for guard, earlier in list(self._of_subject.get(event.subject, ())):
            if guard in guards and self._kept[guard][earlier][1].kind == event.kind:
                self.remove(guard, earlier)

    def remove_old(self, now: datetime) -> None:
        self._remove_where(lambda until, event: until < now)

    def _keep(self, guard: str, name: str, until: datetime, event: Any) -> dict[str, tuple[datetime, Any]]:
        kept = self._kept.setdefault(guard, {})
        kept[name] = (until, event)
        self._ordered.pop(guard, None)
        arrived = self._arrived.setdefault(guard, [])
        if len(arrived) > 2 * CAP:
            self._arrived[guard] = [event for _, event in kept.values()]
        else:
            arrived.append(event)
        self._of_subject.setdefault(event.subject, {})[guard, name] = None
        return kept

    def _remove_where(self, leaves: Callable[[datetime, Any], bool]) -> None:
        leaving = [
            (g, event.id) for g, kept in self._kept.items() for until, event in kept.values() if leaves(until, event)
        ]
        for guard, event_id in leaving:
            self.remove(guard, event_id)


def _without_text(event: Any) -> Any:
    return event.model_copy(update={"text": ""}) if isinstance(event, BaseModel) else structs.replace(event, text="")


def _json(event: Any) -> Json:
    """Tags of payload and facts included: without them it could not be read again."""
    plain: Json = event.model_dump(mode="json") if isinstance(event, BaseModel) else msgspec.to_builtins(event)
    return plain
