"""What a planner's model is told: our own words, the brief's handles, and nothing that came from outside (law L4)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from actions.planning import asked_again, goals, planschema
from actions.planning.ask import Message
from actions.planning.brief import Brief
from actions.planning.playbook import (
    OPTIONAL,
    PLACE,
    AfterArg,
    ArgSpec,
    BeforeArg,
    LiteralArg,
    Playbook,
    RefArg,
    SlotArg,
    StepSpec,
    TextArg,
)
from actions.planning.validate import Fault
from actions.run import waits
from actions.tools.tool import Manifest
from schemas.duration import Duration
from schemas.event import KINDS
from schemas.model import Json

REVISION = 2
"""Counts changes of the words below; a plan's ``planner`` names it."""

_RULES = """\
You plan tasks for a personal assistant. Reply with one JSON object: {"steps": [...], "questions": [...]}.
Each step calls one tool. Steps are named s1, s2, ... in order; depends_on lists the steps that must be over first.
An argument is one of:
- a value of your own, where the type allows it;
- {"fact": "NAME"}: the value of a fact. You are not told most values; use the name, never guess the value;
- {"from": "s1", "field": "NAME"}: a field that an earlier step returns;
- {"tpl": "text with {0} and {1}", "parts": [...]}: a text around facts and fields, in the order of its places;
- {"days_from": "NAME", "days": N}: an instant N days after the day of a fact (before it, if N is negative).
Do every action of the goal once, in order, with the fewest steps. Never repeat a step.
repeat asks a reading step again until its result says so, or null: {"field": "text", "op": "contains", "value":
"approved", "every": "1d", "at_most": 30, "on_end": "fail"}; what needs that answer depends on the step.
What must happen after a wait depends on the wait. End by telling the owner with notify.
ask_first: true makes the owner be asked again before the step. why: a few words.
If you cannot plan without something that only the owner knows, give no steps and ask: at most two questions."""


def messages(brief: Brief) -> tuple[Message, ...]:
    """For the first round."""
    return (Message("system", _system(brief)), Message("user", _task(brief)))


def repair(brief: Brief, answer: Json, faults: Sequence[Fault]) -> tuple[Message, ...]:
    """The same, with the model's own answer and what is wrong with it. ``faults`` hold no outside text."""
    wrong = "\n".join(f"- {fault}" for fault in faults[:12])
    said = f"The plan is invalid:\n{wrong}\nReply with the whole corrected plan."
    if answer is None:
        return (*messages(brief), Message("user", said))
    told = json.dumps(answer, ensure_ascii=False)[:8000]
    return (*messages(brief), Message("assistant", told), Message("user", said))


def _system(brief: Brief) -> str:
    tools = "\n".join(_tool(manifest) for manifest in brief.tools)
    tools += _EVENTS if brief.manifest(waits.EVENT) else ""
    shown = "".join(_example(brief, playbook) for playbook in brief.examples)
    return f"{_RULES}\nTools:\n{tools}{shown}"


def _tool(manifest: Manifest) -> str:
    takes = [f"{name}{'' if arg.required else '?'}: {arg.type}" for name, arg in manifest.args.items()]
    if manifest.open_args:
        takes.append(f'{planschema.open_name(manifest)}: a list of {{"name", "value"}}')
    gives = ", ".join(f"{name}: {type_}" for name, type_ in manifest.returns.items()) or "nothing"
    return f"- {manifest.name}({', '.join(takes)}) returns {gives}. {manifest.description}"


_EVENTS = (
    f"\nKinds of events to wait for: {', '.join(KINDS)}. match says which, by name: {', '.join(waits.FIELDS)}; "
    '{"name": "from", "value": ...} wants it equal, "title.contains" a part of it. Always give until or days.'
)


def _task(brief: Brief) -> str:
    lines = [f"Goal: {brief.goal}", f"Today: {brief.today.isoformat()}", "Facts:"]
    lines += [f"- {name}: {value.type}{_said(brief.told, name)}" for name, value in brief.facts.items()]
    if brief.aim and (ways := goals.ways_to(brief.aim, [manifest.name for manifest in brief.tools])):
        aim = f"Reached only when {brief.aim.says}: {brief.aim.by}. The plan holds a step that shows it: {ways}."
        lines.insert(1, aim)
    lines += [f"Evidence: {', '.join(f'{handle} ({kind})' for handle, kind in brief.kinds.items()) or 'none'}"]
    lines += (
        ["Known of the owner:", *(f"- {line}" for line in brief.remembered.lines)] if brief.remembered.lines else []
    )
    return "\n".join([*lines, *_run(brief)])


def _run(brief: Brief) -> list[str]:
    """Where a run stands that needs another rest; of what went wrong, our own word."""
    run = brief.running
    if run is None:
        return []
    lines = ["A plan for this is under way. Done, and not to be done again:"]
    lines += [f"- {name}: {tool}" for name, tool in run.done.items()] or ["- nothing"]
    lines += (
        ["What its steps gave, unfinished ones first:", *(f"- {line}" for line in run.so_far)] if run.so_far else []
    )
    if run.ended:
        lines.append(f"{run.ended[0]} ({run.ended[1]}) ended badly: {run.cause}. Find another way than that.")
    lines.append("Not begun: " + (", ".join(f"{name} ({tool})" for name, tool in run.open.items()) or "nothing"))
    lines.append(f"Give all steps that are left, named {run.ids[0]} and so on. They may use results of what is done.")
    return lines


def _said(told: Mapping[str, str], name: str) -> str:
    return f" = {json.dumps(told[name], ensure_ascii=False)}" if name in told else ""


# -- playbooks as examples


def _example(brief: Brief, playbook: Playbook) -> str:
    steps = [_example_step(step, playbook, brief) for step in playbook.steps]
    answer = json.dumps({"steps": steps, "questions": []}, ensure_ascii=False)
    return f"\nExample, for the goal {json.dumps(playbook.title)} (its facts have names of their own):\n{answer}"


def _example_step(step: StepSpec, playbook: Playbook, brief: Brief) -> dict[str, Json]:
    manifest = brief.manifest(step.tool)
    assert manifest is not None, "examples use tools of the brief only"
    prefix = manifest.open_args
    fixed = {name: arg for name, arg in step.args.items() if not prefix or not name.startswith(prefix)}
    args: dict[str, Json] = dict.fromkeys(manifest.args)
    args |= {name: _argument(arg, playbook) for name, arg in fixed.items()}
    if prefix:
        further = {name.removeprefix(prefix): arg for name, arg in step.args.items() if name not in fixed}
        args[prefix.rstrip(".")] = [{"name": k, "value": _argument(arg, playbook)} for k, arg in further.items()]
    return {
        "tool": step.tool,
        "id": step.id,
        "depends_on": list(_before(step)),
        "args": args,
        "when": _guard(step),
        "repeat": _repeat(step, playbook),
        "evidence": ["ev1"],
        "ask_first": False,
        "why": step.why or "as the goal wants",
    }


def _before(step: StepSpec) -> Iterable[Json]:
    refs = [arg.step for arg in step.args.values() if isinstance(arg, RefArg)]
    return dict.fromkeys((*step.after, *step.only_after, *refs))


def _guard(step: StepSpec) -> Json:
    if step.when is None:
        return None
    name, field = step.when.ref.split(".")
    value = step.when.value if isinstance(step.when.value, bool) else str(step.when.value)
    return {"from": name, "field": field, "op": step.when.op, "value": value}


def _repeat(step: StepSpec, playbook: Playbook) -> Json:
    asked = step.repeat
    if asked is None:
        return None
    value: Json = {"fact": _fact(asked.slot, playbook)} if asked.slot else asked.value  # type: ignore[assignment]
    every = min(asked_again.EVERY, key=lambda one: abs(Duration.parse(one).timedelta() - asked.every.timedelta()))
    at_most = min(asked.at_most, asked_again.MAX_ROUNDS)
    return {
        "field": asked.field,
        "op": asked.op,
        "value": value,
        "every": every,
        "at_most": at_most,
        "on_end": asked.on_end,
    }


def _argument(arg: ArgSpec, playbook: Playbook) -> Json:
    match arg:
        case SlotArg(slot=slot):
            return {"fact": _fact(slot, playbook)}
        case BeforeArg(before=slot, days=days):
            return {"days_from": _fact(slot, playbook), "days": -days}
        case AfterArg(after=slot, days=days):
            return {"days_from": _fact(slot, playbook), "days": days}
        case RefArg():
            return {"from": arg.step, "field": arg.field}
        case LiteralArg(literal=literal):
            return literal
        case TextArg(text=text):
            return _text(text, playbook)


def _text(text: str, playbook: Playbook) -> Json:
    """A playbook's text with its optional parts, as a numbered template."""
    parts: list[Json] = []

    def place(name: str) -> str:
        step, _, field = name.partition(".")
        parts.append({"from": step, "field": field} if field else {"fact": _fact(step, playbook)})
        return f"{{{len(parts) - 1}}}"

    tpl = PLACE.sub(lambda match: place(match[1]), OPTIONAL.sub(r"\1", text))
    return {"tpl": tpl, "parts": parts} if parts else tpl


def _fact(slot: str, playbook: Playbook) -> str:
    """The first source of a slot, which is what a fact of that kind is called."""
    known = playbook.slots.get(slot)
    return known.sources[0] if known and known.sources else slot
