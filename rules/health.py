"""Health: rules that cannot see what they wait for, found by playing what really came (pure).

Lint says what cannot fire by its text alone; this says what does not fire because of the world around it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

from rules.engine import Engine
from rules.prepared import PreparedRule
from rules.ruleset import RuleSet
from rules.state import RuleState

Code = Literal["never_evaluated", "dead_source", "empty_baseline"]

SHORTEST = timedelta(days=14)
"""Of less history than this nothing is said: a home that was set up today misses everything."""
LEAST_MATCHES = 8
"""Matches without a history for one of them to be held against, before a rule is said never to get one."""
_OWN = frozenset({"clock", "rules", "matter", "service", "run", "account"})
"""Families of events that are there when something happens to Forewatch itself; that none came is good news."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``says``: one line for the person: what is wrong, and what helps."""

    rule: str
    code: Code
    says: str


def examine(
    rules: RuleSet,
    events: Sequence[Any],
    *,
    owner: str,
    zone: ZoneInfo,
    dead: Collection[str] = (),
    shipped: Collection[str] = (),
) -> list[Finding]:
    """By rule, what keeps it from ever speaking.

    ``events``: one owner's newest, in the order of the log. ``dead``: accounts from which nothing can be heard now.
    ``shipped``: rules that come with Forewatch, for sources that this person may not have: those may see nothing.
    """
    if not events or events[-1].observed_at - events[0].observed_at < SHORTEST:
        return []
    accounts = _accounts(events)
    matches, strangers = _played(rules, events, owner, zone)
    found: list[Finding] = []
    for rule in rules:
        if not rules.is_on(rule.id) or all(kind.partition(".")[0] in _OWN for kind in rule.kinds):
            continue
        sources = set().union(*(accounts.get(kind, set()) for kind in rule.kinds))
        if not sources and rule.id in shipped:
            continue
        if not sources:
            found.append(Finding(rule.id, "never_evaluated", _never(rule)))
        elif sources <= set(dead):
            says = f"'{rule.id}' is blind: nothing can be heard from {', '.join(sorted(sources))}"
            found.append(Finding(rule.id, "dead_source", says))
        elif matches[rule.id] >= LEAST_MATCHES and strangers[rule.id] == matches[rule.id]:
            found.append(Finding(rule.id, "empty_baseline", _empty(rule, matches[rule.id])))
    return found


def _accounts(events: Sequence[Any]) -> Mapping[str, set[str]]:
    """By kind, the accounts that it came from."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for event in events:
        found[event.kind].add(event.account)
    return found


def _played(rules: RuleSet, events: Sequence[Any], owner: str, zone: ZoneInfo) -> tuple[Counter[str], Counter[str]]:
    """By rule, how many events it looked at closely, and how many of them had no history to be held against."""
    engine, state = Engine(rules, owner, zone, explain=True), RuleState()
    looked: Counter[str] = Counter()
    strangers: Counter[str] = Counter()
    now = events[0].observed_at
    for event in events:
        now = max(now, event.observed_at)
        for item in engine.evaluate(event, state, now).explanations:
            looked[item.rule] += 1
            strangers[item.rule] += item.reason == "no_history"
    return looked, strangers


def _never(rule: PreparedRule) -> str:
    return f"'{rule.id}' has nothing to look at: no {' or '.join(rule.kinds[:3])} has come; is its source connected?"


def _empty(rule: PreparedRule, count: int) -> str:
    return (
        f"'{rule.id}' looked at {count} things and had too little history for each: "
        "let it compare coarser groups ('by'), or ask for less history"
    )
