"""From a playbook's steps to a plan's: which ones stay, and what their arguments are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any, assert_never

from actions.memory.remembering import Memories
from actions.planning import slots
from actions.planning.playbook import (
    OPTIONAL,
    PLACE,
    AfterArg,
    ArgSpec,
    BeforeArg,
    LiteralArg,
    RefArg,
    SlotArg,
    StepSpec,
    TextArg,
    places,
    text_refs,
)
from actions.policy.policy import Verdict, gate
from actions.setup import Setup
from actions.tools.tool import Manifest
from schemas import clock, ids
from schemas.plan import Argument, Fixed, Guard, Ref, Repeat, Step, Template
from schemas.trigger import Trigger
from schemas.value import Integrity, Value

Values = Mapping[str, Value]
PERSONAL = "you"
"""The rule of a trigger that is the person's own goal."""
ASK_FIRST = "the plan says to ask you again before this step"
"""The reason by which a model tightens a gate. It stays on the step, and so does the gate, whatever is judged later."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """What a plan is made for: a trigger, in this version of its proposal, at this moment, by this owner's memory."""

    trigger: Trigger
    proposal: str
    version: int
    now: datetime
    memory: Memories | None = None


def kept(specs: Sequence[StepSpec], values: Values, now: datetime, setup: Setup) -> list[StepSpec]:
    """The steps that can be taken with these values, with arguments that have none left out; what came after a step
    that is left out comes after that step's own predecessors."""
    staying: list[StepSpec] = []
    gone: dict[str, tuple[str, ...]] = {}
    for spec in specs:
        after = _rewired((*spec.after, *spec.only_after), gone)
        trimmed = {name: _trimmed(arg, values, gone) for name, arg in spec.args.items()}
        args = {name: arg for name, arg in trimmed.items() if _has_value(arg, values, gone, now, setup)}
        if _is_lost(spec, args, values, gone, setup):
            gone[spec.id] = after
        else:
            staying.append(spec.model_copy(update={"after": after, "args": args, "only_after": ()}))
    return staying


def build(spec: StepSpec, values: Values, occasion: Occasion, setup: Setup) -> Step:
    """A step of a plan; everything but words and arguments comes from the manifest."""
    manifest = setup.tools.manifest(spec.tool)
    if manifest is None:
        raise KeyError(spec.tool)
    args = {name: _argument(arg, name, manifest, values, setup) for name, arg in spec.args.items()}
    return Step(
        uid=ids.step_uid(occasion.proposal, occasion.version, spec.id),
        id=spec.id,
        tool=spec.tool,
        args=args,
        depends_on=_edges(spec),
        when=_guard(spec),
        repeat=_repeat(spec, values),
        why=spec.why,
        evidence=tuple(evidence.event for evidence in occasion.trigger.evidence),
        **manifested(manifest),
    )


def manifested(manifest: Manifest) -> dict[str, Any]:
    """The fields of a step that come from its tool's manifest and from nowhere else."""
    return {
        "tool_version": manifest.version,
        "manifest": manifest.sha(),
        "effect": manifest.effect,
        "effect_class": manifest.effect_class,
        "timeout_s": manifest.timeout_s,
        "settle_s": manifest.settle_s,
        "hold_s": manifest.hold_s,
        "retry": manifest.retry,
        "undo": manifest.undo,
        "reversible": manifest.reversible,
    }


def gated(step: Step, manifest: Manifest | None, verdict: Verdict) -> Step:
    """The step with the gate that the policy asks for, and why."""
    asked = (ASK_FIRST,) if ASK_FIRST in step.reasons else ()
    needed = gate(manifest, verdict) if manifest and not asked else "second"
    return step.model_copy(update={"gate": needed, "reasons": (*verdict.reasons, *asked)})


def _is_lost(
    spec: StepSpec, args: Mapping[str, ArgSpec], values: Values, gone: Mapping[str, object], setup: Setup
) -> bool:
    manifest = setup.tools.manifest(spec.tool)
    if manifest is None or set(spec.only_after) & set(gone) or set(spec.needs) - set(values):
        return True
    if spec.when and spec.when.ref.split(".")[0] in gone:
        return True
    if spec.repeat and spec.repeat.slot and spec.repeat.slot not in values:
        return True
    return any(arg.required and name not in args for name, arg in manifest.args.items())


def _has_value(arg: ArgSpec, values: Values, gone: Mapping[str, object], now: datetime, setup: Setup) -> bool:
    match arg:
        case SlotArg(slot=slot):
            return slot in values
        case BeforeArg(before=slot) | AfterArg(after=slot):
            return slot in values and moment(arg, values[slot], setup) > now
        case TextArg(text=text):
            return _is_whole(text, values, gone)
        case RefArg():
            return arg.step not in gone
        case LiteralArg():
            return True
    assert_never(arg)


def _trimmed(arg: ArgSpec, values: Values, gone: Mapping[str, object]) -> ArgSpec:
    """A text without the optional parts that lack a value, and without the brackets of those that do not."""
    if not isinstance(arg, TextArg):
        return arg
    return TextArg(text=OPTIONAL.sub(lambda m: m[1] if _is_whole(m[1], values, gone) else "", arg.text))


def _is_whole(text: str, values: Values, gone: Mapping[str, object]) -> bool:
    return places(text) <= set(values) and not {ref.step for ref in text_refs(text)} & set(gone)


def _rewired(after: tuple[str, ...], gone: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for step in after for name in gone.get(step, (step,))))


def _edges(spec: StepSpec) -> tuple[str, ...]:
    """Control edges, with one for every data edge."""
    data = [arg.step for arg in spec.args.values() if isinstance(arg, RefArg)]
    data += [ref.step for arg in spec.args.values() if isinstance(arg, TextArg) for ref in text_refs(arg.text)]
    data += [spec.when.ref.split(".")[0]] if spec.when else []
    return tuple(dict.fromkeys((*spec.after, *data)))


def _guard(spec: StepSpec) -> Guard | None:
    if spec.when is None:
        return None
    step, field = spec.when.ref.split(".")
    return Guard(step=step, field=field, op=spec.when.op, value=spec.when.value)


def _repeat(spec: StepSpec, values: Values) -> Repeat | None:
    asked = spec.repeat
    if asked is None:
        return None
    wanted = values[asked.slot].v if asked.slot else asked.value
    return Repeat(
        field=asked.field, op=asked.op, value=wanted,
        every_s=asked.every.timedelta().total_seconds(), at_most=asked.at_most, on_end=asked.on_end,
    )  # fmt: skip


def _argument(arg: ArgSpec, name: str, manifest: Manifest, values: Values, setup: Setup) -> Argument:
    match arg:
        case SlotArg(slot=slot):
            return Fixed(value=values[slot])
        case BeforeArg(before=slot) | AfterArg(after=slot):
            at = moment(arg, values[slot], setup).isoformat()
            return Fixed(value=values[slot].model_copy(update={"v": at, "type": "DateTime"}))
        case TextArg(text=text):
            return _text(text, values)
        case RefArg():
            return Ref(step=arg.step, field=arg.field)
        case LiteralArg(literal=literal, type=type_):
            declared = manifest.arg(name)
            of_type = type_ or (declared.type if declared else "Text")
            return Fixed(value=Value(v=literal, type=of_type, integrity=Integrity.SYSTEM, how="rule"))
    assert_never(arg)


def _text(text: str, values: Values) -> Argument:
    """Named places become numbered ones, so that no value can pose as a place."""
    parts: list[Fixed | Ref] = []

    def place(match: re.Match[str]) -> str:
        name = match[1]
        step, _, field = name.partition(".")
        parts.append(Ref(step=step, field=field) if field else Fixed(value=values[name]))
        return f"{{{len(parts) - 1}}}"

    return Template(text=PLACE.sub(place, text), parts=tuple(parts))


def moment(arg: BeforeArg | AfterArg, value: Value, setup: Setup) -> datetime:
    """The instant that an argument means by the day of ``value``, in the owner's zone."""
    days = -arg.days if isinstance(arg, BeforeArg) else arg.days
    return on_day(value, days, setup, arg.at)


def on_day(value: Value, days: int, setup: Setup, at: time | None = None) -> datetime:
    """So many days after (negative: before) a day, at a wall time of the owner's; their own one for reminders."""
    zone = setup.settings.zone
    day = slots.day_of(value, zone) + timedelta(days=days)
    return clock.at_local(day, at or setup.settings.remind_at, zone).astimezone(zone)
