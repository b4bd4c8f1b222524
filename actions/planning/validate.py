"""Is a plan sound? Pure checks, each fault with a JSON pointer, a code, a message and a hint."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from typing import Any

from actions import nominal
from actions.graph import ancestors, cycle, dependencies
from actions.policy.policy import Policy, gate
from actions.run.resolve import foreseen, refs
from actions.tools.tool import SELF_EFFECTS, UNGRANTED, Manifest
from schemas.plan import Argument, Fixed, Gate, Plan, Ref, Step, Template

MAX_STEPS = 8
MAX_MESSAGES = 3
"""To others, in one plan: what sends more is a mailing."""
_GATES: tuple[Gate, ...] = ("none", "plan", "second")
Manifests = Callable[[str], Manifest | None]


@dataclass(frozen=True, slots=True)
class Fault:
    """``pointer`` is a JSON pointer into the plan, ``hint`` what to do about it."""

    pointer: str
    code: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.pointer}: {self.message}" + (f"; {self.hint}" if self.hint else "")


def validate(
    plan: Plan,
    manifests: Manifests,
    policy: Policy,
    known_tools: list[str] | None = None,
    *,
    begun: Set[int] = frozenset(),
) -> list[Fault]:
    """Everything that is wrong with a plan; empty for a plan that may be offered. ``known_tools`` feeds the hints.

    ``begun``: places of steps that a running plan has behind it. They are what they are: not counted, not judged, but
    the rest may refer to them and must not do what they did.
    """
    faults = structure(plan, manifests, known_tools, begun=begun)
    return faults or [*_doubles(plan), *_gates(plan, manifests, policy, begun)]


def odd(plan: Plan) -> list[Fault]:
    """What the author of a playbook may want, and a model that plans it has misunderstood."""
    return [*_waits(plan), *_messages(plan)]


def structure(
    plan: Plan, manifests: Manifests, known_tools: list[str] | None = None, *, begun: Set[int] = frozenset()
) -> list[Fault]:
    """What is wrong before any policy is asked: tools, arguments, references, order. Only a plan without such faults
    can be judged."""
    faults = [*_shape(plan, len(begun))]
    for at, step in enumerate(plan.steps):
        if at in begun:
            continue
        faults += _tool(step, f"/steps/{at}", manifests, known_tools or [])
        faults += _arguments(plan, step, f"/steps/{at}", manifests)
        faults += _edges(plan, step, f"/steps/{at}")
    return [*faults, *_cycle(plan)]


def _shape(plan: Plan, begun: int) -> Iterator[Fault]:
    if not plan.steps:
        yield Fault("/steps", "empty", "the plan has no steps", "add a step, or make it a reminder")
    if len(plan.steps) - begun > MAX_STEPS:
        yield Fault("/steps", "too_long", f"{len(plan.steps) - begun} steps; at most {MAX_STEPS}", "split the goal")
    for field in ("id", "uid"):
        seen: set[str] = set()
        for at, step in enumerate(plan.steps):
            name = getattr(step, field)
            if name in seen:
                yield Fault(f"/steps/{at}/{field}", "duplicate_id", f"{name!r} is used twice", "give each its own")
            seen.add(name)


def _tool(step: Step, at: str, manifests: Manifests, known: list[str]) -> Iterator[Fault]:
    manifest = manifests(step.tool)
    if manifest is None:
        close = difflib.get_close_matches(step.tool, known, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"use one of {', '.join(known)}" if known else ""
        yield Fault(f"{at}/tool", "unknown_tool", f"no tool {step.tool!r}", hint)
    elif manifest.sha() != step.manifest:
        yield Fault(f"{at}/manifest", "tool_changed", f"{step.tool} is not the one of the plan", "make the plan anew")


def _arguments(plan: Plan, step: Step, at: str, manifests: Manifests) -> Iterator[Fault]:
    manifest = manifests(step.tool)
    if manifest is None:
        return
    if step.repeat and (manifest.effect_class != "pure" or manifest.effect == "wait"):
        yield Fault(f"{at}/repeat", "not_a_question", f"{step.tool} cannot be repeated", "repeat a step that reads")
    elif step.repeat and step.repeat.field not in manifest.returns:
        hint = f"it has {', '.join(manifest.returns) or 'nothing'}"
        yield Fault(f"{at}/repeat/field", "unknown_field", f"{step.tool} returns no {step.repeat.field!r}", hint)
    for name, arg in manifest.args.items():
        if arg.required and name not in step.args:
            yield Fault(f"{at}/args", "missing_argument", f"{step.tool} needs {name!r} ({arg.type})", f"add {name!r}")
    for name, value in step.args.items():
        arg_type = manifest.args[name].type if name in manifest.args else None
        if arg_type is None and not manifest.is_open(name):
            hint = f"it takes {', '.join(manifest.args)}"
            yield Fault(f"{at}/args/{name}", "unknown_argument", f"{step.tool} has no argument {name!r}", hint)
            continue
        yield from _typed(plan, value, arg_type, f"{at}/args/{name}", manifests)
    if step.when:
        guard = Ref(step=step.when.step, field=step.when.field)
        yield from _reference(plan, guard, None, f"{at}/when", manifests)


def _typed(plan: Plan, argument: Argument, wanted: str | None, at: str, manifests: Manifests) -> Iterator[Fault]:
    match argument:
        case Fixed(value=value):
            wrong = nominal.fault(value.type, value.v)
            if wanted and not nominal.fits(value.type, wanted):
                yield Fault(at, "wrong_type", f"a {value.type} cannot be a {wanted}", f"give a {wanted}")
            elif wrong:
                yield Fault(at, "bad_value", f"{value.v!r} {wrong}", "correct the value")
        case Ref():
            yield from _reference(plan, argument, wanted, at, manifests)
        case Template(parts=parts):
            if wanted not in (None, "Text", "FileName"):
                yield Fault(at, "wrong_type", f"a text template cannot be a {wanted}", "use a value or a reference")
            for number, part in enumerate(parts):
                yield from _typed(plan, part, None, f"{at}/parts/{number}", manifests)


def _reference(plan: Plan, ref: Ref, wanted: str | None, at: str, manifests: Manifests) -> Iterator[Fault]:
    other = next((s for s in plan.steps if ref.step in (s.id, s.uid)), None)
    if other is None:
        steps = ", ".join(s.id for s in plan.steps)
        yield Fault(at, "unknown_step", f"there is no step {ref.step!r}", f"the plan has {steps}")
        return
    manifest = manifests(other.tool)
    if manifest is None:
        return
    given = manifest.returns.get(ref.field)
    if given is None:
        has = ", ".join(manifest.returns) or "nothing"
        yield Fault(at, "unknown_field", f"{other.id} is {other.tool}, which returns no {ref.field!r}", f"it has {has}")
    elif wanted and not nominal.fits(given, wanted):
        fitting = [name for name, type_ in manifest.returns.items() if nominal.fits(type_, wanted)]
        hint = f"{other.id}.{fitting[0]} is one" if fitting else f"refer to a step that returns a {wanted}"
        yield Fault(at, "wrong_type", f"{other.id}.{ref.field} is a {given}, not a {wanted}", hint)


def _edges(plan: Plan, step: Step, at: str) -> Iterator[Fault]:
    names = {s.id for s in plan.steps}
    for number, name in enumerate(dependencies(plan, step)):
        if name not in names:
            has = ", ".join(sorted(names))
            yield Fault(
                f"{at}/depends_on/{number}", "unknown_step", f"there is no step {name!r}", f"the plan has {has}"
            )
    needed = [ref.step for argument in step.args.values() for ref in refs(argument)]
    needed += [step.when.step] if step.when else []
    direct = {step_id for name in step.depends_on for step_id in (name, *_aliases(plan, name))}
    for name in needed:
        if name in (step.id, step.uid):
            yield Fault(at, "self_reference", f"{step.id} uses its own result", "refer to an earlier step")
        elif name not in direct and _aliases(plan, name):
            hint = f"add {name!r} to depends_on"
            yield Fault(f"{at}/depends_on", "missing_edge", f"{step.id} uses {name} without waiting for it", hint)


def _aliases(plan: Plan, name: str) -> tuple[str, ...]:
    return next(((s.id, s.uid) for s in plan.steps if name in (s.id, s.uid)), ())


def _cycle(plan: Plan) -> Iterator[Fault]:
    around = cycle(plan)
    if around:
        message = f"the steps wait for one another: {' -> '.join(around)}"
        yield Fault("/steps", "cycle", message, "remove one of these edges")


def _doubles(plan: Plan) -> Iterator[Fault]:
    """The same effect with the same arguments twice: small models do plan to pay twice."""
    seen: list[tuple[str, dict[str, Any], str]] = []
    for at, step in enumerate(plan.steps):
        if step.effect in UNGRANTED:
            continue
        args: dict[str, Any] = {name: argument.model_dump(mode="json") for name, argument in step.args.items()}
        twin = next((other for tool, given, other in seen if tool == step.tool and given == args), None)
        if twin:
            message = f"{step.id} does the same as {twin}"
            yield Fault(f"/steps/{at}", "same_effect_twice", message, "remove one of them")
        seen.append((step.tool, args, step.id))


def _waits(plan: Plan) -> Iterator[Fault]:
    """An effect on others beside a wait would not wait: small models plan to pay before the day that they wait for."""
    waits = {step.id: ancestors(plan, step) for step in plan.steps if step.effect == "wait"}
    for at, step in enumerate(plan.steps):
        if step.effect in SELF_EFFECTS:
            continue
        before = ancestors(plan, step)
        for wait, comes_after in waits.items():
            if wait not in before and step.id not in comes_after:
                message = f"{step.id} would not wait for {wait}"
                hint = f"add {wait!r} to its depends_on, or make {wait} wait for {step.id}"
                yield Fault(f"/steps/{at}/depends_on", "effect_beside_wait", message, hint)


def _messages(plan: Plan) -> Iterator[Fault]:
    sent = [at for at, step in enumerate(plan.steps) if step.effect in ("outbound", "share")]
    for at in sent[MAX_MESSAGES:]:
        hint = "leave this one out, or make it a goal of its own"
        yield Fault(f"/steps/{at}", "too_many_messages", f"more than {MAX_MESSAGES} messages to others", hint)


def _gates(plan: Plan, manifests: Manifests, policy: Policy, begun: Set[int]) -> Iterator[Fault]:
    """The plan may be stricter than the policy, never laxer."""
    for at, step in enumerate(plan.steps):
        if at in begun:
            continue
        manifest = manifests(step.tool)
        verdict = policy.judge(manifest, foreseen(plan, step, manifests))
        if verdict.kind == "deny" or manifest is None:
            yield Fault(f"/steps/{at}", "denied", "; ".join(verdict.reasons), "leave this step out")
        elif _GATES.index(step.gate) < _GATES.index(gate(manifest, verdict)):
            needed = gate(manifest, verdict)
            yield Fault(f"/steps/{at}/gate", "gate_too_weak", f"the policy asks for {needed!r}", f"use {needed!r}")
