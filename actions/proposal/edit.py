"""A person's edit: typed values in place of a plan's, judged and checked anew, under a new digest that voids grants."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from actions import nominal
from actions.journal import Draft
from actions.planning import planner, validate
from actions.proposal.approve import must_be_seen
from actions.proposal.compare import changes
from actions.proposal.state import ProposalState
from actions.setup import Setup
from schemas.command import Command
from schemas.errors import Refused
from schemas.model import Json
from schemas.plan import Argument, Fixed, Plan, Step
from schemas.value import Integrity, Value


def edit(state: ProposalState, command: Command, now: datetime, setup: Setup) -> Draft:
    plan = must_be_seen(state, command)
    step = named(plan, command)
    args = arguments(step, command, setup)
    changed = tuple(s if s.uid != step.uid else s.model_copy(update={"args": args}) for s in plan.steps)
    new = planner.revised(plan, changed, setup)
    faults = validate.validate(new, setup.tools.manifest, setup.policy, setup.tools.names())
    if faults:
        raise Refused(str(faults[0]), code="invalid_edit", remedy="change the value and try again")
    body: dict[str, Json] = {
        "plan": new.model_dump(mode="json"),
        "diff": changes(plan, new),
        "voided": list(state.grants),
        "channel": command.channel,
    }
    return Draft(state.id, "proposal.edited", now, f"person:{command.who}", command.id, body)


def arguments(step: Step, command: Command, setup: Setup) -> dict[str, Argument]:
    """The step's arguments with what the person typed in place of some."""
    given = command.args.get("args")
    if not isinstance(given, dict) or not given:
        raise Refused("nothing to change", code="bad_argument", remedy='give args as {"name": value}')
    return {**step.args, **{name: _argument(step, name, value, setup, command) for name, value in given.items()}}


def slot_values(state: ProposalState, command: Command) -> dict[str, Value]:
    """A person's answers to a proposal's questions."""
    given = command.args.get("slots")
    types = {question.slot: question.type for question in state.questions}
    if not isinstance(given, dict) or not given:
        raise Refused("no answer given", code="bad_argument", remedy='give slots as {"name": value}')
    for name in given:
        if name not in types:
            raise Refused(f"nothing asked for {name!r}", code="bad_argument", remedy=f"it asks for {', '.join(types)}")
    return {name: person_value(name, types[name], value, command) for name, value in given.items()}


def person_value(name: str, type_: str, value: Json, command: Command) -> Value:
    """What a person typed is theirs: the highest trust, if it is a valid value of its type at all."""
    wrong = nominal.fault(type_, value)
    if wrong:
        raise Refused(f"{name} {wrong}", code="bad_value", remedy="correct the value")
    return Value(v=value, type=type_, sources=(command.id,), integrity=Integrity.USER, how="user")


def named(plan: Plan, command: Command) -> Step:
    """The step that the command speaks of, by its id or uid."""
    wanted = str(command.args.get("step", ""))
    found = next((step for step in plan.steps if wanted in (step.id, step.uid)), None)
    if found is None:
        has: Mapping[str, str] = {step.id: step.tool for step in plan.steps}
        steps = ", ".join(f"{name} ({tool})" for name, tool in has.items())
        raise Refused(f"there is no step {wanted!r}", code="unknown_step", remedy=f"it has {steps}")
    return found


def _argument(step: Step, name: str, value: Json, setup: Setup, command: Command) -> Argument:
    manifest = setup.tools.manifest(step.tool)
    declared = manifest.arg(name) if manifest else None
    before = step.args.get(name)
    if declared is None and not (isinstance(before, Fixed) and manifest and manifest.is_open(name)):
        takes = ", ".join(manifest.args) if manifest else "nothing any more"
        raise Refused(f"{step.tool} has no argument {name!r}", code="unknown_argument", remedy=f"it takes {takes}")
    type_ = declared.type if declared else before.value.type if isinstance(before, Fixed) else "Text"
    return Fixed(value=person_value(name, type_, value, command))
