"""What changed between two versions of a plan, in lines that a person can read."""

from __future__ import annotations

from actions import nominal
from actions.plain import clean
from schemas.model import Json
from schemas.plan import Argument, Fixed, Plan, Ref, Step, Template


def changes(before: Plan | None, after: Plan | None) -> list[Json]:
    """One object a difference: step, what (added, removed, an argument's name), before, after."""
    old = {step.id: step for step in before.steps} if before else {}
    new = {step.id: step for step in after.steps} if after else {}
    found: list[Json] = []
    for name in sorted({*old, *new}):
        found += _step(name, old.get(name), new.get(name))
    return found


def shown(argument: Argument | Fixed | Ref | None) -> str:
    """An argument in plain words; a result that does not exist yet by its name."""
    match argument:
        case Fixed(value=value):
            return clean(nominal.display(value.type, value.v))
        case Ref(step=step, field=field):
            return f"({field} of {step})"
        case Template(text=text, parts=parts):
            for place, part in enumerate(parts):
                text = text.replace(f"{{{place}}}", shown(part), 1)
            return clean(text)
    return ""


def _step(name: str, old: Step | None, new: Step | None) -> list[Json]:
    if old is None or new is None or old.tool != new.tool:
        return [{"step": name, "what": "tool", "before": old.tool if old else "", "after": new.tool if new else ""}]
    return [
        {"step": name, "what": arg, "before": shown(old.args.get(arg)), "after": shown(new.args.get(arg))}
        for arg in sorted({*old.args, *new.args})
        if old.args.get(arg) != new.args.get(arg)
    ]
