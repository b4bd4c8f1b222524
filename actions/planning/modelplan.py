"""From a model's answer to a plan: read by the brief, built from manifests, judged by the policy, then checked (pure).

The model chooses steps, arguments and order. Effect, class, risk, gate, retry, time-out and undo are the manifest's and
the policy's; whatever the answer says of them is never read. It can only tighten: ``ask_first``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from actions import nominal
from actions.nominal import Sink
from actions.planning import asked_again, conform, goals, planner, planschema, steps, validate
from actions.planning.brief import Brief
from actions.planning.playbook import GuardSpec, RepeatSpec, StepSpec
from actions.planning.validate import Fault
from actions.proposal.state import Question
from actions.run.resolve import refs
from actions.setup import Setup
from actions.tools.tool import Manifest
from schemas.duration import Duration
from schemas.model import Json
from schemas.plan import Argument, Fixed, Plan, Ref, Step, Template
from schemas.value import Integrity, Value

_CHOSEN = frozenset({"destination", "amount", "url", "target", "identity", "command"})
"""Roles of which a model's own words are as little trusted as an outsider's, unless the person said them."""
_QUIET = {"denied": "the policy forbids this step here", "gate_too_weak": "the step needs a confirmation"}
"""Faults whose messages quote values: said to the model without them."""


@dataclass(frozen=True, slots=True)
class Sound:
    """A plan that may be offered, or questions that come first."""

    plan: Plan | None
    questions: tuple[Question, ...] = ()


def read(answer: Json, brief: Brief, setup: Setup, author: str) -> Sound | list[Fault]:
    """``author`` becomes the plan's ``planner``. Faults are fit to be told to the model: no outside text is in them."""
    built = build(answer, brief, setup)
    if isinstance(built, list):
        return built
    assert isinstance(answer, dict)
    if answer["questions"] and not built:
        asked: Any = answer["questions"]
        return Sound(None, tuple(_question(q) for q in asked))
    plan = planner.draft(brief.occasion, author, built, setup)
    faults = validate.structure(plan, brief.manifest, [m.name for m in brief.tools])
    faults = faults or [*_past(plan, brief.occasion.now)]
    if not faults:
        plan = planner.judged(plan, setup)
        faults = validate.validate(plan, brief.manifest, setup.policy) or list(_misjudged(plan, brief))
    return [told(fault) for fault in faults] if faults else Sound(plan)


def _misjudged(plan: Plan, brief: Brief) -> Iterator[Fault]:
    """What only a model gets wrong: the author of a playbook may mean it."""
    yield from validate.odd(plan)
    yield from asked_again.faults(plan)
    yield from goals.faults(plan, [manifest.name for manifest in brief.tools])


def build(answer: Json, brief: Brief, setup: Setup) -> tuple[Step, ...] | list[Fault]:
    """The steps of an answer that fits the schema; nothing else of them is checked."""
    schema = planschema.strict(brief)
    answer = _whole(answer)
    misfits = list(conform.misfits(answer, schema, schema))
    if misfits:
        return misfits
    document: Any = answer
    if uncounted := list(asked_again.uncounted(document["steps"])):
        return uncounted
    return tuple(_step(step, brief, setup) for step in document["steps"])


def _whole(answer: Json) -> Json:
    """A step that says nothing of asking again is not asked again: no fault of a weak model's."""
    if not isinstance(answer, dict) or not isinstance(answer.get("steps"), list):
        return answer
    steps: Any = answer["steps"]
    return {**answer, "steps": [{"repeat": None, **step} if isinstance(step, dict) else step for step in steps]}


def _question(asked: Mapping[str, Any]) -> Question:
    return Question(slot=asked["slot"], type=asked["type"], text=asked["text"])


def told(fault: Fault) -> Fault:
    return Fault(fault.pointer, fault.code, _QUIET.get(fault.code, fault.message), fault.hint)


def _step(given: Mapping[str, Any], brief: Brief, setup: Setup) -> Step:
    manifest = brief.manifest(given["tool"])
    assert manifest is not None, "the schema names the brief's tools only"
    args = dict(_arguments(given["args"], manifest, brief, setup))
    guard = given.get("when")
    when = GuardSpec(ref=f"{guard['from']}.{guard['field']}", op=guard["op"], value=guard["value"]) if guard else None
    data = [ref.step for argument in args.values() for ref in refs(argument)]
    spec = StepSpec(
        id=given["id"],
        tool=given["tool"],
        after=tuple(dict.fromkeys((*given["depends_on"], *data))),
        when=when,
        repeat=_repeat(given.get("repeat")),
        why=given["why"],
    )
    step = steps.build(spec, brief.facts, brief.occasion, setup)
    evidence = tuple(dict.fromkeys(brief.evidence[handle] for handle in given["evidence"] if handle in brief.evidence))
    asked = (steps.ASK_FIRST,) if given["ask_first"] else ()
    return step.model_copy(update={"args": args, "evidence": evidence or step.evidence, "reasons": asked})


def _repeat(given: Mapping[str, Any] | None) -> RepeatSpec | None:
    if given is None:
        return None
    value = given["value"]
    slot = value["fact"] if isinstance(value, dict) else None
    return RepeatSpec(
        field=given["field"], op=given["op"], value=None if slot else value, slot=slot,
        every=Duration.parse(given["every"]), at_most=given["at_most"], on_end=given["on_end"],
    )  # fmt: skip


def _arguments(
    given: Mapping[str, Any], manifest: Manifest, brief: Brief, setup: Setup
) -> Iterator[tuple[str, Argument]]:
    for name, value in given.items():
        arg = manifest.args.get(name)
        if arg is not None and value is not None:
            yield name, _argument(value, arg.type, _writer(brief, arg.role), brief, setup)
    prefix = manifest.open_args
    for item in given.get(planschema.open_name(manifest), ()) if prefix else ():
        yield f"{prefix}{item['name']}", _argument(item["value"], "Text", _writer(brief, "content"), brief, setup)


Literal = Callable[[Json, str], Value]


def _argument(given: Any, type_: str, literal: Literal, brief: Brief, setup: Setup) -> Argument:
    match given:
        case {"fact": name}:
            return Fixed(value=brief.facts[name])
        case {"from": step, "field": field}:
            return Ref(step=step, field=field)
        case {"tpl": text, "parts": parts}:
            return Template(text=text, parts=tuple(_part(part, brief) for part in parts))
        case {"days_from": name, "days": days}:
            return Fixed(value=_moment(brief.facts[name], days, setup))
    return Fixed(value=literal(given, type_))


def _part(part: Mapping[str, str], brief: Brief) -> Fixed | Ref:
    if "fact" in part:
        return Fixed(value=brief.facts[part["fact"]])
    return Ref(step=part["from"], field=part["field"])


def _moment(value: Value, days: int, setup: Setup) -> Value:
    moment = steps.on_day(value, max(-3650, min(days, 3650)), setup)
    return value.model_copy(update={"v": moment.isoformat(), "type": "DateTime"})


def _writer(brief: Brief, role: Sink) -> Literal:
    return lambda value, type_: _literal(value, type_, role, brief)


def _literal(value: Json, type_: str, role: Sink, brief: Brief) -> Value:
    """The model's own words. What decides where something goes is trusted only if the person said it."""
    integrity = Integrity.KNOWN
    if role in _CHOSEN:
        integrity = Integrity.USER if _was_said(value, brief) else Integrity.UNTRUSTED
    return Value(v=value, type=type_, integrity=integrity, how="planner_literal")


def _was_said(value: Json, brief: Brief) -> bool:
    """Word for word in the person's own goal, and not a part of a longer word there (or of another's address)."""
    if not brief.is_personal or not isinstance(value, str) or len(value) < 4:
        return False
    whole = rf"(?<![\w.+@-]){re.escape(value)}(?![\w@+-]|\.\w)"
    return re.search(whole, brief.goal, re.IGNORECASE) is not None


def _past(plan: Plan, now: datetime) -> Iterator[Fault]:
    """A wait for what is over already."""
    for at, step in enumerate(plan.steps):
        for name, argument in step.args.items():
            if step.effect != "wait" or not isinstance(argument, Fixed) or argument.value.type != "DateTime":
                continue
            if not nominal.fault("DateTime", argument.value.v) and _instant(argument.value) <= now:
                yield Fault(f"/steps/{at}/args/{name}", "in_the_past", "that instant is over", "leave the wait out")


def _instant(value: Value) -> datetime:
    return datetime.fromisoformat(str(value.v))
