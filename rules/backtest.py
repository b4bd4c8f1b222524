"""Backtest: what rules would have said over a history, against how the person answered, or against another revision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from rules.prepared import PreparedRule
from rules.replay import Signals, replay
from rules.ruleset import RuleSet
from schemas.clock import local_day
from schemas.model import Instant, Model
from schemas.trigger import Retraction, Suppression, Trigger

Said = tuple[str, str, str]
"""Rule, key and occurrence: what a trigger is about, whatever the revision of its rule."""


# --- the report ----------------------------------------------------------------------------------------------------


class Sample(Model):
    """One trigger of a backtest, as the person would have seen it."""

    at: Instant
    title: str
    key: str
    occurrence: str
    trigger: str
    retracted: bool = False


class Difference(Model):
    """Against the rule of the same id in another file: what only one of the two says."""

    both: int
    only_here: tuple[Sample, ...] = ()
    only_there: tuple[Sample, ...] = ()


class RuleReport(Model):
    rule: str
    title: str
    revision: str
    triggers: int
    retractions: int
    suppressions: int
    per_week: float
    """Triggers a week."""
    answered: int
    """Of the triggers, those whose proposal the person answered or let expire."""
    right: int
    """Of those, the ones that were approved."""
    first: tuple[Sample, ...] = ()
    last: tuple[Sample, ...] = ()
    difference: Difference | None = None

    @property
    def precision(self) -> float | None:
        """The share of right answers; None where nothing was answered."""
        return self.right / self.answered if self.answered else None


class Report(Model):
    since: Instant | None = None
    """The first instant that counts; what was before only taught the rules. None: there are no events."""
    until: Instant | None = None
    days: int
    """Local days from the first to the last, both included."""
    events: int
    """That were played, those before ``since`` included."""
    rules: tuple[RuleReport, ...] = ()


def backtest(
    rules: RuleSet,
    histories: Mapping[str, Sequence[Any]],
    *,
    zone: ZoneInfo,
    since: datetime | None = None,
    answers: Mapping[Said, bool] | None = None,
    against: RuleSet | None = None,
    only: str = "",
    shown: int = 3,
) -> Report:
    """The report over all owners' histories.

    ``since``: earlier events teach, what is said on them does not count. ``answers``: whether the person approved what
    was said. ``against``: rules to compare with, by id. ``only``: report this one; the others play along, since rules
    may inhibit one another. ``shown``: how many examples are given at each end.
    """
    observed = [event.observed_at for events in histories.values() for event in events]
    wanted = [rule for rule in rules if only in ("", rule.id)]
    if not observed:
        return Report(days=0, events=0, rules=tuple(_report(rule, [], 1, {}, shown) for rule in wanted))
    start = max(since, min(observed)) if since is not None else min(observed)
    until = max(observed)
    days = max(1, (local_day(until, zone) - local_day(start, zone)).days + 1)
    here = _by_rule(rules, histories, zone, start)
    reports = [_report(rule, here[rule.id], days, answers or {}, shown) for rule in wanted]
    if against is not None:
        there = _by_rule(against, histories, zone, start)
        reports = [
            report.model_copy(update={"difference": _difference(here[report.rule], there[report.rule])})
            if report.rule in against.by_id
            else report
            for report in reports
        ]
    return Report(since=start, until=until, days=days, events=len(observed), rules=tuple(reports))


def _by_rule(
    rules: RuleSet, histories: Mapping[str, Sequence[Any]], zone: ZoneInfo, start: datetime
) -> Mapping[str, Signals]:
    found: dict[str, Signals] = defaultdict(list)
    for owner, events in histories.items():
        for signal in replay(rules, events, owner=owner, zone=zone):
            if (signal.fired_at if isinstance(signal, Trigger) else signal.at) >= start:
                found[signal.rule].append(signal)
    return found


def _report(rule: PreparedRule, signals: Signals, days: int, answers: Mapping[Said, bool], shown: int) -> RuleReport:
    samples = _samples(signals)
    answered = [answers[about] for sample in samples if (about := (rule.id, sample.key, sample.occurrence)) in answers]
    return RuleReport(
        rule=rule.id,
        title=rule.title,
        revision=rule.revision,
        triggers=len(samples),
        retractions=sum(isinstance(signal, Retraction) for signal in signals),
        suppressions=sum(isinstance(signal, Suppression) for signal in signals),
        per_week=round(len(samples) * 7 / days, 2),
        answered=len(answered),
        right=sum(answered),
        first=tuple(samples[:shown]),
        last=tuple(samples[max(shown, len(samples) - shown) :]),
    )


def _samples(signals: Signals) -> list[Sample]:
    withdrawn = {signal.trigger for signal in signals if isinstance(signal, Retraction)}
    return [
        Sample(
            at=signal.fired_at,
            title=signal.title,
            key=signal.key,
            occurrence=signal.occurrence,
            trigger=signal.id,
            retracted=signal.id in withdrawn,
        )
        for signal in signals
        if isinstance(signal, Trigger)
    ]


def _difference(here: Signals, there: Signals) -> Difference:
    ours, theirs = ({(s.key, s.occurrence): s for s in _samples(signals)} for signals in (here, there))
    return Difference(
        both=len(ours.keys() & theirs.keys()),
        only_here=tuple(sample for about, sample in ours.items() if about not in theirs),
        only_there=tuple(sample for about, sample in theirs.items() if about not in ours),
    )
