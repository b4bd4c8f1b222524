"""Holding: what would be said waits for ``for``, ``inhibit``, ``group`` and ``schedule``, in this order.

A trigger that waits is kept whole in its case and counts there as fired, so that detectors need not know of it; what
settles or withdraws the case takes it back without a word to the person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rules.case import HELD, Case, Fired, Held
from rules.values import derived
from schemas.duration import Duration
from schemas.trigger import ConditionValue, Evidence, Reason, Trigger
from schemas.value import Integrity

if TYPE_CHECKING:
    from rules.moment import Moment
    from rules.prepared import PreparedRule

_CATCHING_UP = timedelta(hours=1)
_TOLERANCE = timedelta(hours=2)
"""A ``for`` that ends later than so was missed: what came meanwhile is read before it counts as still holding."""
_MOST_EVIDENCE = 12
_MOST_TITLES = 10
GROUP_VALUES = ("group.count", "group.titles")
"""Names that ``group`` adds to the values of triggers."""
MOST_HELD = 30
"""Triggers that wait in one case; what is more is said to be held no longer (``too_many``)."""


def holds(rule: PreparedRule) -> bool:
    model = rule.model
    return bool(model.for_ or model.inhibit or model.group or model.schedule)


def hold(moment: Moment, rule: PreparedRule, case: Case, held: Held) -> None:
    """A trigger that was just made: it goes through at once if nothing makes it wait. The case is saved."""
    if len(case.held) >= MOST_HELD:
        _drop(case, held)
        moment.suppress(rule, case.key, _trigger(held).occurrence, "too_many")
        moment.save(case)
        return
    case.held = [*case.held, held]
    _advance(moment, rule, case, held)


def release(moment: Moment, rule: PreparedRule, case: Case) -> None:
    """The timer of a case is due, or what inhibited it may be gone: let go what need not wait any more."""
    moment.memory.cases.cancel_timer(case, HELD)
    for held in case.held:
        if held.stage == "inhibit" or held.until is None or held.until <= moment.now:
            current = moment.memory.cases.get(rule.id, case.key)
            if current is not None and held in current.held:
                _advance(moment, rule, current, held)
    _wake(moment, rule, case)
    moment.save(case)


def recheck(moment: Moment, rules: Mapping[str, PreparedRule], inhibits: Mapping[str, Iterable[str]]) -> None:
    """After withdrawals: what they inhibited goes on."""
    gone = dict.fromkeys(signal.rule for signal in moment.out.signals if signal.type == "retraction")
    for name in dict.fromkeys(rule for one in gone for rule in inhibits.get(one, ())):
        for case in moment.memory.cases.open_of(name):
            if any(held.stage == "inhibit" for held in case.held):
                release(moment, rules[name], case)


# --- one trigger on its way ------------------------------------------------------------------------------------------


def _advance(moment: Moment, rule: PreparedRule, case: Case, held: Held) -> None:
    """``for`` ends once; the others are asked again at each end, until none of them makes it wait."""
    model, zone, now = rule.model, moment.zone, moment.now
    if model.for_ is not None and held.stage == "":
        _wait(
            moment, rule, case, held, "for", model.for_.after(now, zone), "pending", f"still holds after {model.for_}"
        )
        return
    if held.stage == "for" and held.until is not None and now > held.until + _TOLERANCE and not held.late:
        late = replace(held, late=True)
        _swap(case, held, late)
        _wait(moment, rule, case, late, "for", now + _CATCHING_UP, "pending", "what came meanwhile is read first")
        return
    if _is_over(moment, rule, case, held):
        return
    inhibitor = _inhibitor(moment, rule, case)
    if inhibitor is not None:
        name, by = inhibitor
        if held.stage != "inhibit":
            _say_inhibited(moment, rule, case, held, name, by)
        ends = [until for until in (by.expires, _trigger(held).expires_at) if until is not None]
        _put(moment, rule, case, held, "inhibit", min(ends, default=None))
        return
    if model.group is not None and held.stage != "group":
        group = rule.group_key.of(rule.values.decode(_trigger(held).values), "", zone) if model.group.by else ""
        grouped = replace(held, group=group)
        _swap(case, held, grouped)
        until = _group_until(moment, rule, group, model.group.wait, model.group.interval)
        _wait(moment, rule, case, grouped, "group", until, "grouped", f"others within {model.group.wait}")
        return
    if model.schedule is not None and not model.schedule.lets_through(_trigger(held).urgency):
        quiet = model.schedule.quiet_until(now, zone)
        if quiet is not None:
            stage = "group" if model.group is not None else "quiet"
            for other, member in _members(moment, rule, case, held):
                _wait(moment, rule, other, member, stage, quiet, "quiet", "it is not quiet")
            return
    _send(moment, rule, list(_members(moment, rule, case, held)))


def _members(moment: Moment, rule: PreparedRule, case: Case, held: Held) -> Iterable[tuple[Case, Held]]:
    """All that become one trigger with this one, itself first."""
    yield case, held
    if rule.model.group is None:
        return
    for other in moment.memory.cases.open_of(rule.id):
        for member in other.held:
            ready = member.stage == "group" and member.group == held.group
            if ready and member is not held and (other.key, member) != (case.key, held):
                yield other, member


def _group_until(moment: Moment, rule: PreparedRule, group: str, wait: Duration, interval: Duration) -> datetime:
    """A group that is open goes on as it is; a new one waits, and keeps its distance from the last."""
    last: datetime | None = None
    for case in moment.memory.cases.open_of(rule.id):
        for held in case.held:
            if held.stage == "group" and held.group == group and held.until is not None:
                return held.until
        for fired in case.fired:
            if fired.group == group and fired.is_said:
                last = max(last or fired.at, fired.at)
    until = wait.after(moment.now, moment.zone)
    return until if last is None else max(until, interval.after(last, moment.zone))


def _inhibitor(moment: Moment, rule: PreparedRule, case: Case) -> tuple[str, Fired] | None:
    """A rule that inhibits this one, and its newest trigger that stands about the same key or matter."""
    for name in rule.model.inhibit:
        same = moment.memory.cases.get(name, case.key)
        others = moment.memory.cases.of_matter(case.matter) if case.matter else []
        for other in [same, *others] if same is not None else others:
            standing = [fired for fired in other.fired if other.rule == name and fired.stands(moment.now)]
            if standing:
                return name, standing[-1]
    return None


def _say_inhibited(moment: Moment, rule: PreparedRule, case: Case, held: Held, name: str, by: Fired) -> None:
    no_other = ConditionValue(condition=f"no trigger of {name} stands", value=by.id, wanted="none", holds=False)
    says = f"the trigger of {name} were withdrawn"
    moment.suppress(rule, case.key, _trigger(held).occurrence, "inhibited", conditions=(no_other,), nearest=says)


def _send(moment: Moment, rule: PreparedRule, members: list[tuple[Case, Held]]) -> None:
    members = [(case, held) for case, held in members if not _is_over(moment, rule, case, held)]
    if not members:
        return
    members.sort(key=lambda member: (_trigger(member[1]).fired_at, member[0].key, member[1].id))
    first, held = members[0]
    sent = _trigger(held)
    if rule.model.group is not None:
        sent = _as_group(moment, rule, [_trigger(member) for _, member in members])
    standing = [fired.id for fired in first.fired if fired.is_said]
    trigger = sent.model_copy(
        update={
            "fired_at": moment.now,
            "matter": first.matter,
            "wide": moment.wide(first),
            "follows": standing[-1] if standing else None,
            "late": sent.late or held.late,
            "explanation": sent.explanation.model_copy(update={"at": moment.now}),
        }
    )
    moment.say(trigger)
    for case, member in members:
        case.fired = [
            Fired(trigger.id, one.occurrence, moment.now, one.subject, group=member.group, expires=trigger.expires_at)
            if one.id == member.id
            else one
            for one in case.fired
        ]
        case.held = [other for other in case.held if other.id != member.id]
        case.last_fired = moment.now
        _wake(moment, rule, case)
        moment.save(case)


def _as_group(moment: Moment, rule: PreparedRule, triggers: list[Trigger]) -> Trigger:
    """Firings as one: the first, with the evidence and titles of all; of the events, where its title names them."""
    first, others = triggers[0], len(triggers) - 1
    names_all = any(path in GROUP_VALUES for path in rule.title_template.paths())
    titles: list[Any] = [trigger.values["title"].v if names_all else trigger.title for trigger in triggers]
    evidence: dict[str, Evidence] = {item.event: item for trigger in triggers for item in trigger.evidence}
    values = {
        **first.values,
        "group.count": derived(len(triggers), "Number", (rule.id,), Integrity.SYSTEM),
        "group.titles": derived(titles[:_MOST_TITLES], "Text", (rule.id,), Integrity.UNTRUSTED),
    }
    shown = rule.values.decode(values)
    title = f"{first.title[:280].rstrip()} (and {others} more)" if others else first.title
    if names_all:
        title = rule.title_template.render(shown, moment.zone)
    return first.model_copy(
        update={
            "title": title,
            "goal": rule.goal_template.render(shown, moment.zone),
            "certainty": min(trigger.certainty for trigger in triggers),
            "evidence": tuple(evidence.values())[:_MOST_EVIDENCE],
            "values": values,
        }
    )


def _is_over(moment: Moment, rule: PreparedRule, case: Case, held: Held) -> bool:
    """There is no sense any more in doing something about it: it waited too long."""
    expires = _trigger(held).expires_at
    if expires is None or moment.now < expires:
        return False
    _drop(case, held)
    moment.suppress(rule, case.key, _trigger(held).occurrence, "stale")
    _wake(moment, rule, case)
    moment.save(case)
    return True


# --- keeping it ------------------------------------------------------------------------------------------------------


def _wait(
    moment: Moment, rule: PreparedRule, case: Case, held: Held, stage: str, until: datetime, reason: Reason, what: str
) -> None:
    condition = ConditionValue(
        condition=what, value=moment.now.isoformat(), wanted=f">= {until.isoformat()}", holds=False
    )
    moment.note(rule, case.key, "scheduled", reason, conditions=(condition,))
    _put(moment, rule, case, held, stage, until)


def _put(moment: Moment, rule: PreparedRule, case: Case, held: Held, stage: str, until: datetime | None) -> None:
    _swap(case, held, replace(next(one for one in case.held if one.id == held.id), stage=stage, until=until))
    _wake(moment, rule, case)
    moment.save(case)


def _wake(moment: Moment, rule: PreparedRule, case: Case) -> None:
    """One timer for all that waits; the case lives at least as long."""
    dues = [held.until for held in case.held if held.until is not None]
    if not dues:
        moment.memory.cases.cancel_timer(case, HELD)
        return
    moment.memory.cases.set_timer(case, HELD, min(dues))
    if case.closes is None or case.closes <= max(dues):
        moment.close_at(rule, case, max(dues) + timedelta(seconds=1))


def _swap(case: Case, held: Held, new: Held) -> None:
    case.held = [new if one.id == held.id else one for one in case.held]


def _drop(case: Case, held: Held) -> None:
    case.held = [one for one in case.held if one.id != held.id]
    case.fired = [one for one in case.fired if one.id != held.id]


def _trigger(held: Held) -> Trigger:
    return Trigger.model_validate(held.trigger)
