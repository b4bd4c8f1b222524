"""Why and why not: what every rule did with an event, and the nearest change that would have made it fire (law L5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rules.cel.checker import COMPARISONS
from rules.engine import Engine
from rules.language import Conjunct
from rules.memory import Memory
from rules.prepared import PreparedRule
from rules.recent import CAP, Recents
from rules.ruleset import RuleSet
from rules.state import RuleState
from schemas.clock import to_the_minute
from schemas.trigger import ConditionValue, Explanation, Reason

_OUTCOMES = ("fired", "retracted", "suppressed", "merged", "parted", "scheduled", "skipped", "not_matched")


class Told(Explanation):
    """As it is told to a person."""

    bound: str = ""
    """That events which could have settled it, or been a step of it, were not kept, in words."""


def why(rules: RuleSet, events: Sequence[Any], *, owner: str, zone: ZoneInfo, rule: str | None = None) -> list[Told]:
    """What the rules did with the last of the events, after all those before it (which are replayed).

    Rules that did something come first. A rule that did nothing says what its conditions read and what was missing;
    rules for other kinds of events are left out, unless ``rule`` asks for that one.
    """
    *before, event = events
    state, engine = RuleState(), Engine(rules, owner, zone, explain=True)
    for earlier in before:
        engine.evaluate(earlier, state, earlier.observed_at)
    said = engine.evaluate(event, state, event.observed_at).explanations
    found = [_with_nearest(item) for item in said if rule in (None, item.rule)]
    spoken = {item.rule for item in found}
    for other in rules:
        if other.id not in spoken and (rule == other.id or (rule is None and event.kind in other.kinds)):
            found.append(why_not(other, event, is_on=rules.is_on(other.id)))
    found.sort(key=lambda item: (_OUTCOMES.index(item.outcome), item.nearest.count(";"), item.rule))
    recents = Memory.of(state).recents
    return [
        Told.model_validate({**dict(item), "bound": _bound(recents, item.rule, event.observed_at, zone)})
        for item in found
    ]


def _bound(recents: Recents, rule: str, now: datetime, zone: ZoneInfo) -> str:
    """Empty where all are kept that are not too old anyway."""
    cut = [
        event.occurred_at
        for name, (until, event) in recents.cut.items()
        if name.startswith(f"{rule}/") and until >= now
    ]
    if not cut:
        return ""
    return (
        f"of the events that could settle it, or be a step of it, only the newest {CAP} for each condition are kept: "
        f"none up to {to_the_minute(max(cut), zone)} counts any more"
    )


def why_not(rule: PreparedRule, event: Any, *, is_on: bool = True) -> Explanation:
    """How the event fails the rule's ``when``; of several conditions the one that it comes nearest to."""
    if not is_on:
        return _not_matched(rule, event, "disabled", (), "the rule were enabled")
    conditions = [condition for condition in rule.when if event.kind in condition.kinds]
    if not conditions:
        return _not_matched(rule, event, "kind_differs", (), f"the event were {' or '.join(rule.kinds)}")
    conjuncts = min((condition.of(event.kind) for condition in conditions), key=lambda c: _failures(rule, event, c))
    values = rule.reader.conditions(conjuncts, event, {})
    failed = [(conjunct, value) for conjunct, value in zip(conjuncts, values, strict=True) if not value.holds]
    if not failed:
        return _not_matched(rule, event, "withdrawn", values, "the source had not withdrawn it")
    nearest = "; ".join(_nearest(conjunct, value) for conjunct, value in failed)
    return _not_matched(rule, event, _reason(rule, event, failed[0][0]), values, nearest)


def _failures(rule: PreparedRule, event: Any, conjuncts: Iterable[Conjunct]) -> int:
    return sum(rule.reader.holds(conjunct, event, {}) is not True for conjunct in conjuncts)


def _reason(rule: PreparedRule, event: Any, conjunct: Conjunct) -> Reason:
    if rule.reader.holds(conjunct, event, {}) is None:
        return "missing_field"
    return "where_false" if conjunct.expr.end else "match_false"


def _nearest(conjunct: Conjunct, value: ConditionValue) -> str:
    """``amount < -40 (it is -12.50 EUR)``."""
    read = value.value
    if isinstance(read, dict) and set(read) == {"amount", "currency"}:
        read = f"{read['amount']} {read['currency']}"
    simple = conjunct.expr.op in COMPARISONS or conjunct.expr.op in ("in", "words")
    if read is None:
        missing = [field.name for field in conjunct.fields()]
        return f"{conjunct.text} ({', '.join(missing)} is missing)"
    return f"{conjunct.text} (it is {read})" if simple and not isinstance(read, dict) else conjunct.text


def _with_nearest(explanation: Explanation) -> Explanation:
    """A rule that matched and yet said nothing: the first thing that did not hold."""
    failed = next((value for value in explanation.values if not value.holds), None)
    if explanation.nearest or failed is None or explanation.outcome not in ("skipped", "suppressed"):
        return explanation
    return explanation.model_copy(update={"nearest": f"{failed.condition}: {failed.wanted} (it is {failed.value})"})


def _not_matched(
    rule: PreparedRule, event: Any, reason: Reason, values: tuple[ConditionValue, ...], nearest: str
) -> Explanation:
    return Explanation(
        rule=rule.id,
        revision=rule.revision,
        event=event.id,
        outcome="not_matched",
        reason=reason,
        values=values,
        nearest=nearest,
        at=event.observed_at,
    )
