"""A look at events of one calendar: what they change in what was told. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from extractors.calendar.agenda import Ownership, agenda
from extractors.calendar.entry import Entry
from extractors.calendar.ledger import Changes, Look, compare
from extractors.calendar.series import Window
from extractors.calendar.zones import Zones, iana_zone
from extractors.connector import Context, Rejected
from extractors.google_calendar.convert import entry_of, is_cancelled, self_addresses
from extractors.google_calendar.memory import State, uid_of
from extractors.google_calendar.source import Calendar
from schemas.errors import PoisonError

_NO_EVENTS = frozenset({"workingLocation"})
"""Types of entries that are no appointments."""


@dataclass(frozen=True, slots=True)
class Whose:
    """``addresses``: the owner's. ``limit``: occurrences of this calendar that may be watched."""

    addresses: frozenset[str]
    limit: int


@dataclass(frozen=True, slots=True)
class Seen:
    changes: Changes
    uids: Mapping[str, str]
    rejected: tuple[Rejected, ...]
    warnings: tuple[str, ...]
    missing: tuple[str, ...]
    """Of what was told, what a full list lacks; the latest first."""


def touches_series(events: Sequence[Mapping[str, Any]]) -> bool:
    """Whether they say something of a repeating event, which can be judged only with all its exceptions."""
    return any(
        event.get("recurringEventId") or (event.get("recurrence") and not is_cancelled(event)) for event in events
    )


def look(
    calendar: Calendar,
    events: Sequence[Mapping[str, Any]],
    state: State,
    window: Window,
    context: Context,
    whose: Whose,
    *,
    is_full: bool,
) -> Seen:
    """``is_full``: ``events`` are all that there are, else those that changed."""
    read = _Reader(calendar, state, window)
    for event in sorted(events, key=lambda event: bool(event.get("recurringEventId"))):
        read.take(event)  # a series comes before its exceptions, which do not always say what it is called
    addresses = whose.addresses | {calendar.id.lower()}
    owners = {
        uid: Ownership(addresses | read.selves.get(uid, frozenset()), is_own=calendar.role == "owner")
        for uid in read.touched
    }
    shown = agenda(read.entries, window, Ownership(addresses, is_own=calendar.role == "owner"), owners)
    warnings = list(read.warnings)
    if len(shown.placed) > whose.limit:
        shown = shown.nearest(whose.limit, context.now, window.owner)
        warnings.append(f"{calendar.title}: only the nearest {whose.limit} entries are watched")
    warnings += [f"{calendar.title}: {name}: more repeats than can be watched" for name in sorted(shown.cut)]
    live = {uid: item for uid, _, item in state.ledger.items() if not item.is_gone}
    sources = (read.touched | (live.keys() if is_full else set())) - read.broken
    around = Look(sources, window.low, window.high, context.now, context.zone, prunes=False)
    lacking = sorted((item.when, uid) for uid, item in live.items() if uid not in read.touched) if is_full else []
    return Seen(
        changes=compare(state.ledger, shown, around),
        uids=read.uids,
        rejected=(*read.rejected, *(replace(item, where=f"{calendar.title}: {item.where}") for item in shown.rejected)),
        warnings=tuple(dict.fromkeys(warnings)),
        missing=tuple(uid for _, uid in reversed(lacking)),
    )


class _Reader:
    """Events as entries. ``touched``: uids that something is said of; ``broken``: those that cannot all be read."""

    def __init__(self, calendar: Calendar, state: State, window: Window) -> None:
        self.calendar = calendar
        declared = iana_zone(calendar.zone) if calendar.zone else None
        self.zones = Zones(declared or window.owner, is_declared=declared is not None)
        self.uids = dict(state.uids)
        self.entries: list[Entry] = []
        self.touched: set[str] = set()
        self.broken: set[str] = set()
        self.selves: dict[str, frozenset[str]] = {}
        self.rejected: list[Rejected] = []
        self.warnings: list[str] = []

    def take(self, event: Mapping[str, Any]) -> None:
        uid = self._uid(event)
        if uid is None or event.get("eventType") in _NO_EVENTS:
            return
        self.touched.add(uid)
        if is_cancelled(event) and not event.get("recurringEventId"):
            return  # what is left of an event that was deleted
        self.selves[uid] = self.selves.get(uid, frozenset()) | frozenset(self_addresses(event))
        try:
            entry = entry_of(event, uid, self.calendar.title, self.zones)
        except PoisonError as error:
            self.broken.add(uid)
            self._reject(event, error.code, error.message)
            return
        self.entries.append(entry)
        self.warnings += [f"{self.calendar.title}: {note}" for note in entry.notes]
        if entry.broken_rule:
            self._reject(event, "bad_rule", f"{entry.broken_rule}; only its first date counts")

    def _uid(self, event: Mapping[str, Any]) -> str | None:
        """Of an exception, that of its series. None for what has no id, and so can never be followed."""
        own, series, ical = (event.get(key) for key in ("id", "recurringEventId", "iCalUID"))
        name = series or own
        if not isinstance(name, str) or not name:
            self._reject(event, "malformed", "an event without an id")
            return None
        if (known := self.uids.get(name)) is not None:
            return known
        uid = uid_of(self.calendar, name, ical if isinstance(ical, str) else "")
        if isinstance(ical, str) and uid != uid_of(self.calendar, name, ""):
            self.uids[name] = uid
        return uid

    def _reject(self, event: Mapping[str, Any], code: str, reason: str) -> None:
        name = str(event.get("id", ""))[:100]
        self.rejected.append(Rejected(f"{self.calendar.title}: {name}", code, reason, name.encode("utf-8", "replace")))
