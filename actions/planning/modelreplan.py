"""Another way on by a model, where no playbook names one: what is done stays, what is asked is told by handles only.

Of a failure the model learns one of our own words. A step of its answer that is an open step is that step, under its
old uid; ``actions/run/revise.py`` judges the rest like any plan, and asks the person wherever it asks for more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from actions.journal import JournalPort
from actions.memory.remembering import Memories
from actions.memory.working import at_hand
from actions.planning import asked_again, modelplan, planner, planschema, prompts, validate
from actions.planning import brief as briefing
from actions.planning.ask import Failure, Limits, Message, Model
from actions.planning.asker import JournalMeter
from actions.planning.brief import Brief, Running
from actions.planning.otherwise import repointed
from actions.planning.process import ROUNDS, author
from actions.planning.steps import Occasion
from actions.planning.validate import MAX_STEPS, Fault
from actions.proposal.book import Book
from actions.run.replan import Replanner, Wanted, Way
from actions.setup import Setup
from schemas.clock import Clock
from schemas.model import Json
from schemas.plan import Plan, Step

SO_FAR = 600
"""Tokens of what the steps of the run gave."""


class ModelReplanner:
    """``floor`` goes first (law L1); the model is asked only where it knows no other way."""

    def __init__(self, floor: Replanner, port: JournalPort, book: Book, model: Model, clock: Clock) -> None:
        self._floor = floor
        self._port = port
        self._book = book
        self._model = model
        self._clock = clock

    async def replan(self, wanted: Wanted, setup: Setup) -> Way | None:
        way = await self._floor.replan(wanted, setup)
        if way is not None or setup.model is None:
            return way
        made = brief(wanted, setup, self._book.memory)
        meter = JournalMeter(
            self._port, self._book, setup, self._clock, wanted.state.id, f"replan:{wanted.version}", made
        )
        told = prompts.messages(made)
        for number in range(ROUNDS):
            limits = Limits(setup.model.max_tokens, setup.model.timeout_s, 0.3 if number else 0.0, number)
            outcome = await self._model.ask(told, planschema.form(made), limits, meter)
            if isinstance(outcome, Failure):
                return None
            found = read(outcome.json, made, wanted, setup)
            if isinstance(found, Way):
                return found
            told = _again(made, outcome.json, found)
        return None


def _again(made: Brief, answer: dict[str, Json], faults: list[Fault]) -> tuple[Message, ...]:
    return prompts.repair(made, answer, faults)


def brief(wanted: Wanted, setup: Setup, memory: Memories | None = None) -> Brief:
    """The brief of the plan, and where its run stands."""
    state, occasion = wanted.state, _occasion(wanted, memory)
    made = briefing.brief(occasion, state.slots, planner.built_in(occasion, setup), setup)
    done = {s.id: s.tool for s in wanted.plan.steps if state.steps[s.uid].phase == "ok"}
    ended = (wanted.step.id, wanted.step.tool) if wanted.step else None
    first = int(wanted.free_id()[1:])
    ids = tuple(f"s{number}" for number in range(first, min(first + MAX_STEPS, 100)))
    so_far = at_hand(state, SO_FAR).lines
    running = Running(done, ended, wanted.cause, {s.id: s.tool for s in wanted.open()}, ids, so_far)
    given = tuple(m for tool in dict.fromkeys(done.values()) if (m := setup.tools.manifest(tool)))
    return replace(made, running=running, givers=given, may_ask=False)


def read(answer: Json, made: Brief, wanted: Wanted, setup: Setup) -> Way | list[Fault]:
    """The rest that the answer means, or what is wrong with it: fit to be told, no outside text is in it."""
    built = modelplan.build(answer, made, setup)
    if isinstance(built, list):
        return built
    rest = _kept(built, wanted)
    fixed = tuple(s for s in wanted.plan.steps if s not in wanted.open() and s != wanted.step)
    plan = Plan(**{**dict(wanted.plan), "steps": (*fixed, *rest)})
    faults = validate.structure(plan, setup.tools.manifest, setup.tools.names(), begun=set(range(len(fixed))))
    faults = faults or list(asked_again.faults(plan, begun=set(range(len(fixed)))))
    if faults or not rest:
        return [modelplan.told(fault) for fault in faults] or [Fault("/steps", "empty", "no steps are left", "add one")]
    ended = wanted.step.id if wanted.step else "the run"
    return Way(rest, author(setup), f"{ended} ended ({wanted.cause}): another way was planned")


def _occasion(wanted: Wanted, memory: Memories | None) -> Occasion:
    return Occasion(wanted.state.trigger, wanted.state.id, wanted.version, wanted.now, memory)


def _kept(built: tuple[Step, ...], wanted: Wanted) -> tuple[Step, ...]:
    """Each step that does what an open one does is that one, with the answer's edges."""
    names: dict[str, str] = {}
    kept: dict[str, Step] = {}
    for step in built:
        moved = _moved(step, names)
        same = next((o for o in wanted.open() if o.id not in kept and _is_same(o, moved)), None)
        if same is not None:
            names[step.id] = same.id
            kept[same.id] = same.model_copy(update={"depends_on": moved.depends_on})
        else:
            kept[step.id] = moved
    return tuple(_moved(step, names) for step in kept.values())


def _is_same(one: Step, other: Step) -> bool:
    return (one.tool, one.args, one.when, one.repeat) == (other.tool, other.args, other.when, other.repeat)


def _moved(step: Step, names: Mapping[str, str]) -> Step:
    """The step with the names of kept steps in the place of the answer's."""
    when = step.when
    if when is not None:
        when = when.model_copy(update={"step": names.get(when.step, when.step)})
    args = {name: repointed(argument, names) for name, argument in step.args.items()}
    edges = tuple(names.get(name, name) for name in step.depends_on)
    return step.model_copy(update={"args": args, "when": when, "depends_on": edges})
