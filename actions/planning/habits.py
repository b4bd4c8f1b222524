"""Habits: what the person gave before, in a new plan. Confirmed it fills the place; else it is only suggested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from actions import nominal
from actions.memory.remembering import Memories
from actions.plain import clean
from actions.planning.playbook import Playbook, SlotArg
from schemas.memory import Memory
from schemas.trigger import Trigger
from schemas.value import Integrity, Value


@dataclass(frozen=True, slots=True)
class Habit:
    """``name`` is the slot, or the step and its argument, in words for the person."""

    name: str
    memory: Memory
    value: Value

    @property
    def is_settled(self) -> bool:
        return self.memory.standing == "confirmed"

    def line(self) -> str:
        """With its provenance: which memory, how often, since when."""
        known = self.memory
        shown = clean(nominal.display(self.value.type, self.value.v), 80)
        times = f"{known.support} times" if known.support > 1 else "once"
        if self.is_settled:
            return f"{self.name} is “{shown}”, as you settled it (memory {known.id[:8]}, {known.last:%Y-%m-%d})"
        keep = f"'forewatch memory keep {known.id[:8]}' makes that the default"
        return f"you gave “{shown}” for {self.name} {times}, last on {known.last:%Y-%m-%d}; {keep}"


@dataclass(frozen=True, slots=True)
class Habits:
    """By slot, and by step and argument where no slot stands behind the argument."""

    slots: dict[str, Habit] = field(default_factory=dict)
    args: dict[tuple[str, str], Habit] = field(default_factory=dict)

    def filled(self) -> dict[str, Value]:
        """What the confirmed ones put into slots."""
        return {name: habit.value for name, habit in self.slots.items() if habit.is_settled}

    def ids(self) -> tuple[str, ...]:
        """Of every memory that is shown or used."""
        found = (*self.slots.values(), *self.args.values())
        return tuple(dict.fromkeys(habit.memory.id for habit in found))

    def lines(self, given: Mapping[str, Value]) -> tuple[str, ...]:
        """For the person; a slot that they have just filled needs none."""
        told = (*(habit for name, habit in self.slots.items() if name not in given), *self.args.values())
        return tuple(habit.line() for habit in told)


def habits(memories: Memories | None, trigger: Trigger, playbook: Playbook) -> Habits:
    """Pure. What no longer is a valid value of its place is passed over."""
    found = Habits()
    if memories is None:
        return found
    for name, slot in playbook.slots.items():
        habit = _habit(memories, trigger, name.replace("_", " "), slot.type, [("", name), *_fed(playbook, name)])
        if habit:
            found.slots[name] = habit
    for spec in playbook.steps:
        for name, arg in spec.args.items():
            if not isinstance(arg, SlotArg):
                habit = _habit(memories, trigger, f"{name} of {spec.id}", "", [(spec.tool, name)])
                if habit:
                    found.args[spec.id, name] = habit
    return found


def settled(playbook: Playbook, found: Habits) -> tuple[Playbook, dict[str, Value]]:
    """The playbook with the confirmed arguments in place of its own, and the values for them."""
    values: dict[str, Value] = {}
    steps = []
    for spec in playbook.steps:
        args = dict(spec.args)
        for name in spec.args:
            habit = found.args.get((spec.id, name))
            if habit and habit.is_settled:
                place = f"{spec.id}.{name}"
                args[name], values[place] = SlotArg(slot=place), habit.value
        steps.append(spec.model_copy(update={"args": args}))
    return (playbook.model_copy(update={"steps": tuple(steps)}), values) if values else (playbook, {})


def _fed(playbook: Playbook, slot: str) -> Iterator[tuple[str, str]]:
    """The arguments that show what is in this slot: to edit one of them was to give the slot a value."""
    for spec in playbook.steps:
        yield from (
            (spec.tool, name) for name, arg in spec.args.items() if isinstance(arg, SlotArg) and arg.slot == slot
        )


def _habit(memories: Memories, trigger: Trigger, name: str, type_: str, places: list[tuple[str, str]]) -> Habit | None:
    memory = memories.default(trigger, places)
    if memory is None or memory.value is None:
        return None
    wanted = type_ or memory.value.type
    if not nominal.fits(memory.value.type, wanted) or nominal.fault(wanted, memory.value.v):
        return None
    labels = {"sources": (memory.id,), "integrity": Integrity.USER, "how": "user"}
    return Habit(name, memory, memory.value.model_copy(update=labels))
