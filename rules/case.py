"""Case: what a rule knows about one key, from the event that opened it until it is closed; and all cases of a state."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from rules.state import TIMER, RuleState
from schemas.model import Json

PREFIX = "case/"
CLOSE = "close"
"""The tag of the timer that ends a case."""


MOST_CASES = 10_000
"""Cases of one rule; of more, a tenth ends in silence, those first that would have ended next. A rule whose key is
different for every event has no more than these."""
HELD = "held"
"""The tag of the timer for triggers that wait."""


class Fired(msgspec.Struct, frozen=True, omit_defaults=True):
    """A trigger that stands: it was sent and not withdrawn. ``subject``: the thing whose event it came from.

    ``held``: it was not sent yet, see rules/holding.py. ``group``: with which others it was sent as one. ``expires``:
    from when on there is no sense any more in doing something about it. ``silent``: it happened before the rule was in
    use and was never sent, see rules/changeover.py.
    """

    id: str
    occurrence: str
    at: datetime
    subject: str
    held: bool = False
    group: str = ""
    expires: datetime | None = None
    silent: bool = False

    @property
    def is_said(self) -> bool:
        return not (self.held or self.silent)

    def stands(self, now: datetime) -> bool:
        """Whether it was sent and has not expired."""
        return self.is_said and (self.expires is None or now < self.expires)


class Held(msgspec.Struct, frozen=True, omit_defaults=True):
    """A trigger that waits: its JSON, for what, and until when (None: until something else is withdrawn)."""

    id: str
    trigger: dict[str, Any]
    stage: str = ""
    until: datetime | None = None
    group: str = ""
    late: bool = False


class Case(msgspec.Struct, kw_only=True):
    """``settled``: an ``unless`` held; ``withdrawn``: the source took it back. ``n`` counts reopenings.

    ``values``, ``evidence`` and ``why`` are JSON of Value, Evidence and ConditionValue. ``data`` is the detector's.
    """

    rule: str
    key: str
    event: str
    subject: str
    opened: datetime
    """When the event occurred."""
    status: Literal["open", "settled", "withdrawn"] = "open"
    n: int = 0
    matter: str | None = None
    named: str | None = None
    """The matter that its event named, which may belong to another by now."""
    certainty: float = 1.0
    values: dict[str, Any] = {}
    evidence: list[Any] = []
    why: list[Any] = []
    deadline: datetime | None = None
    fired: list[Fired] = []
    held: list[Held] = []
    last_fired: datetime | None = None
    ended: datetime | None = None
    """When what settled or withdrew it occurred."""
    timers: list[str] = []
    closes: datetime | None = None
    data: dict[str, Any] = {}

    def subjects(self) -> tuple[str, ...]:
        other = self.data.get("other")
        fired = tuple(fired.subject for fired in self.fired)
        others = (*((other,) if isinstance(other, str) else ()), *self.data.get("others", ()))
        return tuple(dict.fromkeys((self.subject, *fired, *others)))


def digest(key: str) -> str:
    """128 bits that stand for a key in the names of entries."""
    return blake2b(key.encode(), digest_size=16).hexdigest()


class Cases:
    """All cases of a state, found by rule and key, by rule, and by subject. Writes go through to the state."""

    def __init__(self, state: RuleState) -> None:
        self._state = state
        self._by_rule: dict[str, dict[str, Case]] = {}
        self._by_subject: dict[str, dict[tuple[str, str], None]] = {}
        self._subjects: dict[tuple[str, str], tuple[str, ...]] = {}
        self._by_matter: dict[str, dict[tuple[str, str], None]] = {}
        self._matters: dict[tuple[str, str], tuple[str, ...]] = {}
        self._decoded: dict[tuple[str, str], tuple[dict[str, Any], dict[str, Any]]] = {}
        self._crowded: set[str] = set()
        for _, entry in state.items(PREFIX):
            self._remember(msgspec.convert(entry, Case))

    def get(self, rule: str, key: str) -> Case | None:
        return self._by_rule.get(rule, {}).get(key)

    def open_of(self, rule: str) -> list[Case]:
        """The open cases of a rule, oldest first."""
        found = [case for case in self._by_rule.get(rule, {}).values() if case.status == "open"]
        return sorted(found, key=lambda case: (case.opened, case.key)) if len(found) > 1 else found

    def of_rule(self, rule: str) -> list[Case]:
        """All cases of a rule, by key."""
        return [case for _, case in sorted(self._by_rule.get(rule, {}).items())]

    def of_subject(self, subject: str) -> list[Case]:
        """By rule and key."""
        found = self._by_subject.get(subject)
        return [self._by_rule[rule][key] for rule, key in sorted(found)] if found else []

    def of_matter(self, matter: str) -> list[Case]:
        """By rule and key."""
        return [self._by_rule[rule][key] for rule, key in sorted(self._by_matter.get(matter, ()))]

    def decoded(self, case: Case, decode: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """The values of a case as expressions read them, decoded once."""
        kept = self._decoded.get((case.rule, case.key))
        if kept is None or kept[0] is not case.values:
            kept = self._decoded[case.rule, case.key] = (case.values, decode(case.values))
        return kept[1]

    def save(self, case: Case) -> None:
        self._remember(case)
        self._state.put(_entry(case), msgspec.to_builtins(case))  # a copy: the case may be changed and saved again
        if len(self._by_rule[case.rule]) > MOST_CASES:
            self._crowded.add(case.rule)

    def thin(self) -> None:
        """Of rules with too many cases, end some. Between events only: nobody holds a case then."""
        for rule in sorted(self._crowded):
            ending = sorted(self._by_rule[rule].values(), key=lambda case: (case.closes or case.opened, case.key))
            for case in ending[: MOST_CASES // 10]:
                self.drop(case)
        self._crowded.clear()

    def drop(self, case: Case) -> None:
        """End a case and its timers."""
        self.cancel_timers(case)
        self._forget(case)
        self._decoded.pop((case.rule, case.key), None)
        self._state.delete(_entry(case))

    def rename(self, case: Case, key: str) -> None:
        """The case goes on under another key of its rule, with its timers. It is saved."""
        dues = {tag: self._state.get(_timer(case, tag)) for tag in case.timers}
        self.drop(case)
        case.key = key
        for tag, entry in dues.items():
            if isinstance(entry, dict):
                self.set_timer(case, tag, datetime.fromisoformat(str(entry["due"])))
        self.save(case)

    def set_timer(self, case: Case, tag: str, due: datetime) -> None:
        """The caller saves the case afterwards."""
        if tag not in case.timers:
            case.timers = [*case.timers, tag]
        entry: dict[str, Json] = {
            "due": due.astimezone(UTC).isoformat(),
            "rule": case.rule,
            "key": case.key,
            "tag": tag,
        }
        self._state.put(_timer(case, tag), entry)

    def cancel_timers(self, case: Case, *, keep: str = "") -> None:
        for tag in case.timers:
            if tag != keep:
                self._state.delete(_timer(case, tag))
        case.timers = [tag for tag in case.timers if tag == keep]

    def cancel_timer(self, case: Case, tag: str) -> None:
        self._state.delete(_timer(case, tag))
        case.timers = [other for other in case.timers if other != tag]

    def _remember(self, case: Case) -> None:
        """In place of what was known of it; a case may have a hundred subjects, of which few are new."""
        name = (case.rule, case.key)
        self._by_rule.setdefault(case.rule, {})[case.key] = case
        _file(self._by_subject, name, self._subjects.get(name, ()), case.subjects())
        self._subjects[name] = case.subjects()
        matters = (case.matter,) if case.matter else ()
        _file(self._by_matter, name, self._matters.get(name, ()), matters)
        self._matters[name] = matters

    def _forget(self, case: Case) -> None:
        name = (case.rule, case.key)
        self._by_rule.get(case.rule, {}).pop(case.key, None)
        _file(self._by_subject, name, self._subjects.pop(name, ()), ())
        _file(self._by_matter, name, self._matters.pop(name, ()), ())


_Names = dict[str, dict[tuple[str, str], None]]


def _file(places: _Names, name: tuple[str, str], old: tuple[str, ...], new: tuple[str, ...]) -> None:
    """A case is found under ``new`` from now on."""
    if old == new:
        return
    kept = frozenset(new)
    for place in old:
        if place not in kept:
            del places[place][name]
            if not places[place]:
                del places[place]
    for place in kept.difference(old):
        places.setdefault(place, {})[name] = None


def _entry(case: Case) -> str:
    return f"{PREFIX}{case.rule}/{digest(case.key)}"


def _timer(case: Case, tag: str) -> str:
    return f"{TIMER}{case.rule}/{digest(case.key)}/{tag}"
