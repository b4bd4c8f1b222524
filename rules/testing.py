"""Playing events through the real engine on a clock of our own: for the examples of rules, and for tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from rules import shorthand
from rules.engine import Engine
from rules.moment import Evaluation
from rules.prepared import PreparedRule, Shared
from rules.ruleset import RuleSet
from rules.shorthand import ExampleError
from rules.state import RuleState
from schemas import clock, ids
from schemas.event import Event
from schemas.model import Json
from schemas.payloads import ClockPayload
from schemas.rule import Example
from schemas.trigger import Explanation, Merge, Retraction, Suppression, Trigger

OWNER = "example"
_MOST_TICKS = 2000


@dataclass
class Player:
    """An engine with its state and a clock: ``play`` lets every timer fire when it is due, as the service does."""

    rules: RuleSet
    zone: ZoneInfo
    owner: str = OWNER
    state: RuleState = field(default_factory=RuleState)
    signals: list[Trigger | Retraction | Suppression] = field(default_factory=list)
    merges: list[Merge] = field(default_factory=list)
    explanations: list[Explanation] = field(default_factory=list)
    log: list[Any] = field(default_factory=list)
    """Every event that was evaluated, ticks included: playing the log again gives the same signals."""

    def __post_init__(self) -> None:
        self._engine = Engine(self.rules, self.owner, self.zone, explain=True)

    def play(self, events: Iterable[Any], *, until: datetime | None = None) -> Player:
        """Events in order of ``observed_at``, then the clock runs on to ``until``; ExampleError if that has no end."""
        for event in events:
            self.run_to(event.observed_at, inclusive=False)
            self.evaluate(event)
        if until is not None:
            self.run_to(until)
        return self

    def run_to(self, until: datetime, *, inclusive: bool = True) -> None:
        for _ in range(_MOST_TICKS):
            due = self.state.next_timer()
            if due is None or due > until or (due == until and not inclusive):
                return
            self.evaluate(tick(due, self.owner, self.zone))
        raise ExampleError(f"more than {_MOST_TICKS:,} timers in a row until {until}; let it end earlier")

    def evaluate(self, event: Any) -> Evaluation:
        self.log.append(event)
        evaluation = self._engine.evaluate(event, self.state, event.observed_at)
        self.signals += evaluation.signals
        self.merges += evaluation.merges
        self.explanations += evaluation.explanations
        return evaluation

    def triggers(self) -> list[Trigger]:
        return [signal for signal in self.signals if isinstance(signal, Trigger)]

    def standing(self) -> list[Trigger]:
        """The triggers that were not withdrawn."""
        withdrawn = {signal.trigger for signal in self.signals if isinstance(signal, Retraction)}
        return [trigger for trigger in self.triggers() if trigger.id not in withdrawn]


def tick(at: datetime, owner: str, zone: ZoneInfo, kind: str = "clock.tick") -> Event:
    """The clock event that the service logs when a timer is due (or a local day begins)."""
    return Event(
        id=ids.event_id(owner, kind, "clock", at.isoformat()),
        owner=owner,
        account="clock",
        source="clock",
        kind=kind,
        subject="clock",
        version=at.isoformat(),
        occurred_at=at,
        observed_at=at,
        trust="service",
        payload=ClockPayload(day=clock.local_day(at, zone), zone=zone.key),
    )


def make_event(short: Mapping[str, Json], name: int, zone: ZoneInfo, owner: str = OWNER) -> Event:
    """One event from the short form of examples; ``name`` tells it from the others of a test."""
    (event,) = shorthand.events(short, name, owner, zone)
    return event


# --- examples ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExampleResult:
    """``why``: what the example promised and the engine did not do; empty: it holds."""

    rule: str
    name: str
    why: str

    @property
    def passed(self) -> bool:
        return not self.why


def run_examples(
    rule: PreparedRule, *, zone: ZoneInfo | None = None, rules: RuleSet | None = None
) -> Iterator[ExampleResult]:
    """All examples of a rule, each played alone through an engine that has only this rule and those that inhibit it.

    ``zone``: where it is played, if not in the zone of the rule's own set. ``rules``: where inhibitors are looked up.
    """
    chosen = (
        rules.with_inhibitors([rule.id]) if rules is not None and rule.model.inhibit else RuleSet([rule], rule.zone)
    )
    if zone is not None and zone.key != rule.zone.key:
        shared = Shared(zone)
        chosen = RuleSet([PreparedRule(one.model, shared, one.place) for one in chosen], zone)
    examples = rule.model.examples
    for fires, group in ((True, examples.fires), (False, examples.silent)):
        for number, example in enumerate(group):
            name = example.title or f"{'fires' if fires else 'silent'}[{number}]"
            try:
                why = "; ".join(_failures(_played(chosen, example), rule.id, example, fires))
            except ExampleError as error:
                why = str(error)
            yield ExampleResult(rule.id, name, why)


def example_events(example: Example, zone: ZoneInfo, owner: str = OWNER) -> list[Event]:
    """The events of an example in the order in which they are seen."""
    made = [event for number, short in enumerate(example.events) for event in _made(short, number, owner, zone)]
    return sorted(made, key=lambda event: event.observed_at)


def _made(short: Any, number: int, owner: str, zone: ZoneInfo) -> list[Event]:
    try:
        return list(shorthand.events(short, number, owner, zone))
    except ExampleError as error:
        raise ExampleError(f"events[{number}]: {error}") from error


def _played(rules: RuleSet, example: Example) -> Player:
    until = shorthand.instant(example.until, rules.zone) + timedelta(seconds=1) if example.until else None
    return Player(rules, rules.zone).play(example_events(example, rules.zone), until=until)


def _failures(player: Player, rule: str, example: Example, fires: bool) -> Iterator[str]:
    triggers = [trigger for trigger in player.triggers() if trigger.rule == rule]
    if not fires:
        if triggers:
            yield f"must be silent, but fired {len(triggers)} times: {triggers[-1].title!r}"
        return
    if not triggers:
        last = next((one for one in reversed(player.explanations) if one.rule == rule), None)
        yield f"must fire, but was silent ({last.outcome}: {last.reason})" if last else "must fire, but did not match"
        return
    if example.triggers is not None and len(triggers) != example.triggers:
        yield f"must fire {example.triggers} times, but fired {len(triggers)} times"
    withdrawn = triggers[-1] not in player.standing()
    if withdrawn is not example.retracted:
        yield f"the last trigger must {'' if example.retracted else 'not '}be withdrawn"
    if example.says and triggers[-1].title != example.says:
        yield f"must say {example.says!r}, but says {triggers[-1].title!r}"
