"""The other ways on that a playbook names, as a replanner: no model, the same answer each time (law L1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from actions import graph, nominal
from actions.planning import planner, slots, steps
from actions.planning.playbook import Otherwise, Playbook, StepSpec, all_steps
from actions.planning.steps import Occasion
from actions.run import resolve
from actions.run.replan import Wanted, Way
from actions.setup import Setup
from schemas.plan import Argument, Ref, Step, Template
from schemas.value import Value


class PlaybookReplanner:
    """Knows the playbook that the trigger names, and the ``otherwise`` of the step that ended, by its id and tool."""

    async def replan(self, wanted: Wanted, setup: Setup) -> Way | None:
        playbook = setup.playbooks.get(wanted.state.trigger.playbook or "")
        spec = _spec(playbook, wanted) if playbook else None
        if playbook is None or spec is None:
            return None
        for other in spec.otherwise:
            if not other.causes or wanted.cause in other.causes:
                return _way(playbook, spec, other, wanted, setup)
        return None


def _spec(playbook: Playbook, wanted: Wanted) -> StepSpec | None:
    ended = wanted.step
    return next((s for s in all_steps(playbook.steps) if ended and (s.id, s.tool) == (ended.id, ended.tool)), None)


def _way(playbook: Playbook, spec: StepSpec, other: Otherwise, wanted: Wanted, setup: Setup) -> Way | None:
    if other.playbook:
        return _elsewhere(setup.playbooks[other.playbook], spec, wanted, setup)
    values = _values(playbook, wanted, setup)
    occasion = Occasion(wanted.state.trigger, wanted.state.id, wanted.version, wanted.now)
    new = [steps.build(s, values, occasion, setup) for s in steps.kept(other.steps, values, wanted.now, setup)]
    if not new:
        return None
    rest = _Rest(wanted, setup, new, {s.id: s for s in all_steps(playbook.steps)})
    return Way(
        (*new, *rest.rewired()), playbook.planner, f"{spec.id} ended ({wanted.cause}): the other way of {spec.id}"
    )


def _elsewhere(playbook: Playbook, spec: StepSpec, wanted: Wanted, setup: Setup) -> Way | None:
    """The steps of another playbook, under free numbers; what does not depend on the step that ended goes on beside."""
    values = _values(playbook, wanted, setup)
    occasion = Occasion(wanted.state.trigger, wanted.state.id, wanted.version, wanted.now)
    specs = steps.kept(playbook.steps, values, wanted.now, setup)
    names = {s.id: wanted.free_id(number) for number, s in enumerate(specs)}
    new = [_renamed(steps.build(s, values, occasion, setup), names, wanted) for s in specs]
    beside = [s for s in wanted.open() if wanted.step and wanted.step.id not in graph.ancestors(wanted.plan, s)]
    says = f"{spec.id} ended ({wanted.cause}): going on with {playbook.title}"
    return Way((*new, *beside), playbook.planner, says) if new else None


def _values(playbook: Playbook, wanted: Wanted, setup: Setup) -> Mapping[str, Value]:
    """What the trigger and the person gave; a required slot that is still empty leaves out what needs it."""
    state = wanted.state
    built_in = slots.built_in(state.trigger, planner.code(state.id), wanted.now, setup.settings.zone)
    return slots.fill(playbook, state.trigger, state.slots, built_in, setup.settings.zone).values


def _renamed(step: Step, names: Mapping[str, str], wanted: Wanted) -> Step:
    new = names[step.id]
    when = step.when and step.when.model_copy(update={"step": names[step.when.step]})
    return step.model_copy(
        update={
            "id": new,
            "uid": wanted.uid(new),
            "args": {name: repointed(argument, names) for name, argument in step.args.items()},
            "depends_on": tuple(names[name] for name in step.depends_on),
            "when": when,
        }
    )


def repointed(argument: Argument, names: Mapping[str, str]) -> Argument:
    match argument:
        case Ref(step=step):
            return argument.model_copy(update={"step": names.get(step, step)})
        case Template(parts=parts):
            moved = tuple(
                p.model_copy(update={"step": names.get(p.step, p.step)}) if p.kind == "ref" else p for p in parts
            )
            return argument.model_copy(update={"parts": moved})
    return argument


@dataclass
class _Rest:
    """What has not begun yet, with the new steps in the place of the one that ended."""

    wanted: Wanted
    setup: Setup
    new: list[Step]
    specs: Mapping[str, StepSpec]
    gone: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Steps that are left out, and what came before them."""

    def rewired(self) -> Iterable[Step]:
        ended = self.wanted.step
        assert ended is not None
        open_ = {step.uid for step in self.wanted.open()}
        kept: list[Step] = []
        for step in graph.order(self.wanted.plan):
            if step.uid not in open_:
                continue
            if self._is_lost(step, ended):
                self.gone[step.id] = self._edges(step, ended)
            else:
                kept.append(self._moved(step, ended))
        return kept

    def _is_lost(self, step: Step, ended: Step) -> bool:
        spec = self.specs.get(step.id)
        refs = [(name, ref) for name, argument in step.args.items() for ref in resolve.refs(argument)]
        if any(ref.step in self.gone for _, ref in refs) or (step.when and step.when.step in self.gone):
            return True
        if spec and set(spec.only_after) & set(self.gone):
            return True
        fields = [ref.field for _, ref in refs if ref.step == ended.id]
        fields += [step.when.field] if step.when and step.when.step == ended.id else []
        return not all(self._has(ended, name) for name in fields)

    def _has(self, ended: Step, name: str) -> bool:
        """Does the last of the new steps give what the one that ended would have given?"""
        before, after = self.setup.tools.manifest(ended.tool), self.setup.tools.manifest(self.new[-1].tool)
        given = after.returns.get(name) if after else None
        promised = before.returns.get(name) if before else None
        return given is not None and (promised is None or nominal.fits(given, promised))

    def _edges(self, step: Step, ended: Step) -> tuple[str, ...]:
        names: list[str] = []
        for name in graph.dependencies(self.wanted.plan, step):
            names += self.gone.get(name, (self.new[-1].id,) if name == ended.id else (name,))
        return tuple(dict.fromkeys(names))

    def _moved(self, step: Step, ended: Step) -> Step:
        """With other edges it is still that step; with another argument it is a new one."""
        names = {ended.id: self.new[-1].id}
        args = {name: repointed(argument, names) for name, argument in step.args.items()}
        when = step.when
        if when and when.step == ended.id:
            when = when.model_copy(update={"step": self.new[-1].id})
        update: dict[str, object] = {"depends_on": self._edges(step, ended), "args": args, "when": when}
        if args != step.args or when != step.when:
            update["uid"] = self.wanted.uid(step.id)
        return step.model_copy(update=update)
