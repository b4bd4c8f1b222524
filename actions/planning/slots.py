"""Fills a playbook's slots from a trigger's typed values: checked, labelled, and asked for where trust is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from zoneinfo import ZoneInfo

from actions import nominal
from actions.plain import clean
from actions.planning.habits import Habits
from actions.planning.playbook import Playbook, Slot
from actions.proposal.state import Question
from schemas import clock
from schemas.trigger import Trigger
from schemas.value import Integrity, Value, least

Values = Mapping[str, Value]
NO_HABITS = Habits()


@dataclass(frozen=True, slots=True)
class Filling:
    """``values`` of the slots that could be filled; ``questions`` for required ones that could not."""

    values: dict[str, Value] = field(default_factory=dict)
    questions: list[Question] = field(default_factory=list)


def fill(
    playbook: Playbook,
    trigger: Trigger,
    given: Values,
    built_in: Values,
    zone: ZoneInfo,
    known: Habits = NO_HABITS,
) -> Filling:
    """``given`` are the person's own values and go first, then what they confirmed as a default. A default that is only
    suggested is shown with the question, and never used unasked."""
    filling = Filling(values=dict(built_in))
    settled = known.filled()
    for name, slot in playbook.slots.items():
        value, doubted = _pick(slot, trigger.values, zone)
        value = given.get(name, settled.get(name, value))
        if value is not None:
            filling.values[name] = value
        elif slot.required:
            text = slot.ask or f"{playbook.title}: what is the {name.replace('_', ' ')}?"
            habit = known.slots.get(name)
            text = f"{text} ({habit.line()})" if habit else text
            filling.questions.append(Question(name, slot.type, text, habit.value if habit else doubted))
    return filling


def built_in(trigger: Trigger, code: str, now: datetime, zone: ZoneInfo) -> dict[str, Value]:
    """``title`` is rendered by the rule from outside words, so it is as untrusted as they are."""
    events = tuple(evidence.event for evidence in trigger.evidence)
    today = clock.local_day(now, zone).isoformat()
    return {
        "title": Value(v=clean(trigger.title), type="Text", sources=events, how="rule"),
        "code": Value(v=code, type="Text", integrity=Integrity.SYSTEM, how="rule"),
        "today": Value(v=today, type="Date", integrity=Integrity.SYSTEM, how="rule"),
    }


def same_facts(playbook: Playbook | None, before: Trigger, after: Trigger, zone: ZoneInfo) -> bool:
    """Do two triggers of one key ask for the same thing, say at another lead time of the same deadline?"""
    if before.deadline_at is None or before.deadline_at != after.deadline_at:
        return before.occurrence == after.occurrence
    slots = playbook.slots.values() if playbook else ()
    return all(_shown(slot, before, zone) == _shown(slot, after, zone) for slot in slots)


def _shown(slot: Slot, trigger: Trigger, zone: ZoneInfo) -> object:
    value, doubted = _pick(slot, trigger.values, zone)
    found = value or doubted
    return found.v if found else None


def _pick(slot: Slot, values: Values, zone: ZoneInfo) -> tuple[Value | None, Value | None]:
    """The first source that fits and is trusted enough; else the first that only lacks trust."""
    doubted: Value | None = None
    for source in slot.sources:
        value = as_type(slot.type, values.get(source), zone)
        if value is None:
            continue
        value = _unsigned(value) if slot.unsigned else value
        if least(value.integrity, slot.integrity) == slot.integrity:
            return value, None
        doubted = doubted or value
    return None, doubted


def _unsigned(value: Value) -> Value:
    match value.v:
        case {"amount": str(amount), **rest}:
            return value.model_copy(update={"v": {"amount": amount.removeprefix("-"), **rest}})
    return value


def as_type(wanted: str, value: Value | None, zone: ZoneInfo) -> Value | None:
    """The value as a ``wanted``: same labels, and None if it is no valid one."""
    if value is None or value.v in (None, ""):
        return None
    if value.type == "DateTime" and wanted == "Date" and not nominal.fault("DateTime", value.v):
        moment = datetime.fromisoformat(str(value.v))
        value = value.model_copy(update={"v": clock.local_day(moment, zone).isoformat(), "type": "Date"})
    elif value.type == "DateTime" and not nominal.fault("DateTime", value.v):
        local = datetime.fromisoformat(str(value.v)).astimezone(zone)  # the same instant, as its owner's clock shows it
        value = value.model_copy(update={"v": local.isoformat()})
    if not nominal.fits(value.type, wanted) and value.type != "Text":
        return None
    plain = clean(value.v, 2000) if isinstance(value.v, str) else value.v
    typed = value.model_copy(update={"v": plain, "type": wanted if value.type == "Text" else value.type})
    return None if nominal.fault(wanted, plain) else typed


def day_of(value: Value, zone: ZoneInfo) -> date:
    """The owner's local day of a Date or DateTime."""
    if value.type == "DateTime":
        return clock.local_day(datetime.fromisoformat(str(value.v)), zone)
    return date.fromisoformat(str(value.v))
