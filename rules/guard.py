"""Guard: a condition that settles cases (``unless``, or the ``of`` of an absence), before or after they fire."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rules.case import Case
from rules.fields import family, first_facts, payload_of, scope
from rules.index import tester
from rules.language import CheckedCondition, check_condition
from schemas.duration import Duration
from schemas.rule import Condition, Unless
from schemas.trigger import Reason

_OF_WITHIN = Duration(30)
"""How long after its report a late answer still withdraws it."""

Test = Callable[[Any, Any, Any, Mapping[str, Any]], bool]


@dataclass(frozen=True)
class Guard:
    """``name`` is unique among all guards of all rules. ``reason`` is what its retractions say."""

    name: str
    rule: str
    condition: CheckedCondition
    tests: Mapping[str, Test]
    """By family of kinds: whether the event settles the case with these values (its own part is in the index)."""
    within: Duration
    before: Duration
    consumes: bool
    reason: Reason
    zone: ZoneInfo = field(repr=False)

    def settles(self, event: Any, case: Case, values: Mapping[str, Any]) -> bool:
        """Whether the event, which satisfied the guard's own part, lies in the case's window and fits its values."""
        test = self.tests[family(event.kind)]
        fits = test(event, payload_of(event), first_facts(event), values)
        return fits and self.in_window(event.occurred_at, case)  # the test costs less than the zone's days

    def in_window(self, instant: datetime, case: Case) -> bool:
        last = max(case.opened, case.deadline or case.opened)
        earliest = self.before.before(case.opened, self.zone)
        return earliest <= instant <= self.within.after(last, self.zone)


def make_guard(
    name: str,
    rule: str,
    condition: Condition,
    case_kinds: Iterable[str],
    zone: ZoneInfo,
    expected_within: Duration | None,
    later: Sequence[Iterable[str]] = (),
) -> Guard:
    """``expected_within``: set for the ``of`` of an absence, which waits that long. ``later``: the kinds of each step
    of a sequence after the first."""
    checked = check_condition(condition, zone, case_kinds, later=later)
    shared = scope(zone)
    tests = {
        tag: tester((conjunct for conjunct in conjuncts if conjunct.on_case), shared)
        for tag, conjuncts in checked.by_family.items()
    }
    if isinstance(condition, Unless):
        window = (condition.within, condition.before, condition.consumes)
    else:
        wait = expected_within or Duration()
        window = (Duration(wait.days + _OF_WITHIN.days, wait.seconds), Duration(), False)
    reason: Reason = "unless" if isinstance(condition, Unless) else "resolved"
    return Guard(name, rule, checked, tests, *window, reason, zone)
