"""Conflict: two timed entries of the owner's calendars overlap, or lie too far apart to get from one to the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from rules.case import CLOSE, Case
from rules.fields import family, first_facts
from rules.moment import Moment
from rules.occasion import Occasion
from rules.places import are_apart
from rules.slots import Slot
from rules.template import plain
from rules.timers import Timer, decide
from rules.values import INTEGRITY
from schemas import clock
from schemas.rule import Conflict
from schemas.trigger import ConditionValue, Evidence, Reason
from schemas.value import Value

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

VALUES = (
    "conflict.title", "conflict.starts_at", "conflict.ends_at", "conflict.uid", "conflict.event", "conflict.from",
    "conflict.location", "conflict.minutes",
)  # fmt: skip
_TAG = "ahead"


class ConflictDetector:
    def __init__(self, model: Conflict) -> None:
        self._model = model
        self._least = max(model.min_overlap.timedelta(), timedelta(seconds=1))
        self._travel = model.travel.timedelta() if model.travel is not None else None

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        rule, event = occasion.rule, occasion.event
        slot = self._slot(event)
        self._forget_invitations(moment, rule, event)
        if slot is None:
            says = f"{plain(event.title, 200) or 'The entry'} no longer blocks the time."
            _end_slot(moment, rule, event.subject, "resolved", says)
            moment.note(rule, occasion.key, "skipped", "not_timed", occasion=occasion)
            return
        moment.memory.slots.put(rule.id, slot)
        self._recheck(moment, rule, slot)
        for other in moment.memory.slots.of(rule.id):
            if self._clashes(slot, other, moment.now):
                self._clash(moment, occasion, slot, other)

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        model = self._model
        for verdict in decide(timers, moment.now, model.on_missed, model.tolerance, moment.zone):
            moment.memory.cases.cancel_timer(case, _TAG)
            occurrence = str(case.data["overlap"])
            if verdict.action == "skip":
                moment.suppress(rule, case.key, occurrence, "missed_skip")
            elif datetime.fromisoformat(str(case.data["until"])) <= moment.now:
                moment.suppress(rule, case.key, occurrence, "stale")
            else:
                self._fire(moment, rule, case, late=verdict.action == "fire_late")
        moment.save(case)

    def _forget_invitations(self, moment: Moment, rule: PreparedRule, event: Any) -> None:
        """The newest word about an entry counts: the calendar's own, or a later mail."""
        for slot in moment.memory.slots.of_uid(rule.id, _uid(event)):
            if slot.kind.startswith("mail.") and slot.subject != event.subject:
                says = f"{slot.title or 'The invitation'} was dealt with."
                _end_slot(moment, rule, slot.subject, "resolved", says)

    def _slot(self, event: Any) -> Slot | None:
        """The time that an event blocks, or None if it blocks none."""
        times = _invited_times(event) if family(event.kind) == "mail" else self._entry_times(event)
        if times is None or not (clock.is_plausible(times.start) and clock.is_plausible(times.end)):
            return None
        if times.end - times.start >= self._model.longest.timedelta():
            return None
        return Slot(
            event.subject, times.uid, times.start, times.end, plain(event.title, 300), times.recurring, event.id,
            event.kind, event.occurred_at, event.trust, event.account, plain(times.place, 200),
        )  # fmt: skip

    def _entry_times(self, event: Any) -> _Times | None:
        payload = event.payload
        if event.starts_at is None or event.ends_at is None or event.all_day or payload is None:
            return None
        if payload.transparent or payload.status == "cancelled":
            return None
        if payload.status == "tentative" and not self._model.tentative:
            return None
        recurring = bool(payload.recurring or payload.recurrence_id)
        return _Times(payload.uid, event.starts_at, event.ends_at, recurring, payload.location)

    def _clashes(self, slot: Slot, other: Slot, now: datetime) -> bool:
        """Most entries of a diary are far from one another: their times are looked at first."""
        start, end = self._stretch(slot, other)
        if self._travel is None:
            return end - start >= self._least and end > now and not _is_same(slot, other)
        is_short = timedelta(0) <= end - start < self._travel
        return is_short and end > now and not _is_same(slot, other) and are_apart(slot.place, other.place)

    def _stretch(self, slot: Slot, other: Slot) -> tuple[datetime, datetime]:
        """What makes the conflict: the time of both or, for a way, the time between them."""
        start, end = slot.overlap(other)
        return (start, end) if self._travel is None else (end, start)

    def _recheck(self, moment: Moment, rule: PreparedRule, slot: Slot) -> None:
        """The entry may have moved: what no longer overlaps is withdrawn, what now overlaps elsewhere starts again."""
        for case in _open_cases(moment, rule, slot.subject):
            subject = str(case.data["other"]) if case.subject == slot.subject else case.subject
            other = moment.memory.slots.get(rule.id, subject)
            if other is None or not self._clashes(slot, other, moment.now):
                _end(moment, rule, case, "moved", f"{slot.title or 'The entry'} was moved.")

    def _clash(self, moment: Moment, occasion: Occasion, slot: Slot, other: Slot) -> None:
        rule = occasion.rule
        start, end = self._stretch(slot, other)
        key = _key(slot, other)
        case = moment.memory.cases.get(rule.id, key)
        if case is not None and case.status == "open" and not self._is_earlier(case, slot, other, start):
            moment.note(rule, key, "skipped", "already_open" if case.fired else "unchanged")
            return
        pair = Occasion(rule, occasion.event, occasion.when, key)
        data = {"other": other.subject, "overlap": start.isoformat(), "until": end.isoformat()}
        case = moment.open(pair, closes=end + timedelta(days=1), data=data)
        case.deadline = start
        case.evidence = [*case.evidence, _evidence(other).model_dump(mode="json", exclude_defaults=True)]
        ahead = self._model.ahead.before(start, moment.zone)
        if ahead <= moment.now:
            self._fire(moment, rule, case, late=False)
            return
        moment.memory.cases.set_timer(case, _TAG, ahead)
        moment.note(rule, key, "scheduled", "scheduled", occasion=occasion)
        moment.save(case)

    def _is_earlier(self, case: Case, slot: Slot, other: Slot, start: datetime) -> bool:
        """Whether this overlap should be spoken of instead of the one that the case waits for."""
        same = {case.subject, case.data["other"]} == {slot.subject, other.subject}
        before = datetime.fromisoformat(str(case.data["overlap"]))
        return not case.fired and (start != before if same else start < before)

    def _fire(self, moment: Moment, rule: PreparedRule, case: Case, *, late: bool) -> None:
        other = moment.memory.slots.get(rule.id, str(case.data["other"]))
        if other is None:  # over, and forgotten
            moment.suppress(rule, case.key, str(case.data["overlap"]), "stale")
            return
        overlap, until = (datetime.fromisoformat(str(case.data[name])) for name in ("overlap", "until"))
        minutes = int((until - overlap).total_seconds() // 60)
        travel = self._model.travel
        reason: Reason = "overlapping" if travel is None else "unreachable"
        what, wanted = ("minutes of overlap", "> 0") if travel is None else ("minutes for the way", f"< {travel}")
        condition = ConditionValue(condition=what, value=minutes, wanted=wanted, holds=True)
        values = _values(other, overlap, minutes)
        moment.fire(rule, case, overlap.isoformat(), reason, late=late, values=values, conditions=(condition,))


def _is_same(slot: Slot, other: Slot) -> bool:
    """Copies of one entry in two calendars are one entry."""
    if slot.uid == other.uid or slot.subject == other.subject:
        return True
    return (slot.start, slot.end, slot.title.casefold()) == (other.start, other.end, other.title.casefold())


def _open_cases(moment: Moment, rule: PreparedRule, subject: str) -> list[Case]:
    cases = moment.memory.cases.of_subject(subject)
    return [case for case in cases if case.rule == rule.id and case.status == "open"]


def _end_slot(moment: Moment, rule: PreparedRule, subject: str, reason: Reason, says: str) -> None:
    """The entry blocks no time any more."""
    moment.memory.slots.remove(rule.id, subject)
    for case in _open_cases(moment, rule, subject):
        _end(moment, rule, case, reason, says)


def _end(moment: Moment, rule: PreparedRule, case: Case, reason: Reason, says: str) -> None:
    moment.retract(rule, case, reason, says=says)
    case.status, case.ended = "withdrawn", moment.event.occurred_at
    moment.memory.cases.cancel_timers(case, keep=CLOSE)
    moment.save(case)


@dataclass(frozen=True, slots=True)
class _Times:
    uid: str
    start: datetime
    end: datetime
    recurring: bool
    place: str = ""


def _invited_times(event: Any) -> _Times | None:
    """An invitation in a mail asks for the time; once the calendar speaks of the same entry, the calendar counts."""
    asked = first_facts(event).get("invitation")
    if asked is None or asked.effect not in ("add", "change") or asked.starts_at is None or asked.ends_at is None:
        return None
    return _Times(asked.uid, asked.starts_at, asked.ends_at, False)


def _uid(event: Any) -> str:
    asked = first_facts(event).get("invitation")
    return str(asked.uid if asked is not None else getattr(event.payload, "uid", ""))


def _key(slot: Slot, other: Slot) -> str:
    """Two series clash again and again: that is one thing to say."""
    if slot.recurring and other.recurring:
        return "|".join(sorted((slot.uid, other.uid)))
    return "|".join(sorted((slot.subject, other.subject)))


def _values(other: Slot, overlap: datetime, minutes: int) -> dict[str, Value]:
    found = {
        "conflict.title": (other.title, "Text"),
        "conflict.starts_at": (other.start.isoformat(), "DateTime"),
        "conflict.ends_at": (other.end.isoformat(), "DateTime"),
        "conflict.uid": (other.uid, "EventId"),
        "conflict.event": (other.event, "EventId"),
        "conflict.from": (overlap.isoformat(), "DateTime"),
        "conflict.location": (other.place, "Text"),
        "conflict.minutes": (minutes, "Number"),
    }
    level = INTEGRITY[other.trust]
    return {name: Value(v=v, type=kind, sources=(other.event,), integrity=level) for name, (v, kind) in found.items()}


def _evidence(slot: Slot) -> Evidence:
    return Evidence(
        event=slot.event,
        account=slot.account,
        kind=slot.kind,
        title=slot.title,
        occurred_at=slot.occurred_at,
        trust=slot.trust,
    )
