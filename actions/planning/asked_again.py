"""What a model may let a plan wait for: events that there are, with an end; questions asked again, a bounded number of
times. A playbook's author is checked when the playbook is loaded; a model here, with hints that it can follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from actions.planning.validate import Fault
from actions.run import waits
from schemas.event import KINDS
from schemas.plan import Fixed, Plan, Step

EVERY = ("1h", "6h", "1d", "1w")
"""How often a question may be asked again."""
MAX_ROUNDS = 100
MAX_SPAN_S = 366 * 86_400.0
"""From the first to the last time that a question is asked."""
MAX_REPEATED = 2
"""Steps of one plan that are asked again."""


def uncounted(steps: list[Mapping[str, Any]]) -> Iterator[Fault]:
    """Repeats of an answer that fits the schema, whose number is none that a plan could hold."""
    for at, step in enumerate(steps):
        asked = step.get("repeat")
        if asked and not 1 <= asked["at_most"] <= MAX_ROUNDS:
            message = f"{asked['at_most']} times; from 1 to {MAX_ROUNDS}"
            yield Fault(f"/steps/{at}/repeat/at_most", "unbounded", message, "ask less often, or fewer times")


def faults(plan: Plan, begun: Set[int] = frozenset()) -> Iterator[Fault]:
    """Of a plan whose structure is sound. ``begun``: places of steps that a running plan has behind it."""
    repeated = 0
    for at, step in enumerate(plan.steps):
        if at in begun:
            continue
        repeated += step.repeat is not None
        if step.repeat and step.repeat.every_s * step.repeat.at_most > MAX_SPAN_S:
            yield Fault(f"/steps/{at}/repeat", "unbounded", "it would go on for more than a year", "ask fewer times")
        if step.repeat and repeated > MAX_REPEATED:
            message = f"more than {MAX_REPEATED} steps are asked again"
            yield Fault(f"/steps/{at}/repeat", "too_many_repeats", message, "leave this one out")
        if step.tool in (waits.EVENT, waits.REPLY):
            yield from _event(step, f"/steps/{at}/args")


def _event(step: Step, at: str) -> Iterator[Fault]:
    given = {name: argument.value.v for name, argument in step.args.items() if isinstance(argument, Fixed)}
    on_timeout = given.get("on_timeout")
    if on_timeout not in (None, "go_on", "fail"):
        yield Fault(f"{at}/on_timeout", "bad_value", "that is no way to end a wait", "use 'go_on' or 'fail'")
    days = given.get("days")
    if isinstance(days, int | float) and not 0 < days <= waits.MAX_DAYS:
        yield Fault(f"{at}/days", "unbounded", "a wait has an end", f"give 1 to {waits.MAX_DAYS} days")
    if step.tool != waits.EVENT:
        return
    kind = given.get("kind")
    if kind not in KINDS and not str(kind).startswith("record."):
        yield Fault(f"{at}/kind", "bad_value", "there are no events of that kind", f"use one of {', '.join(KINDS)}")
    if not {"until", "days"} & set(step.args):
        yield Fault(at, "endless", "a wait for an event needs an end", "give until or days")
    traits = [name for name in step.args if name.startswith(waits.MATCH)]
    if not traits:
        hint = f"match one of {', '.join(waits.FIELDS)}"
        yield Fault(f"{at}/match", "missing", "it says nothing of the event that it waits for", hint)
    for name in traits:
        if waits.field_fault(name):
            yield Fault(
                f"{at}/match", "bad_value", "events have no such field", f"use one of {', '.join(waits.FIELDS)}"
            )
