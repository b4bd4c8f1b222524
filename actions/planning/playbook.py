"""Playbook: a plan template. Slots take typed values from the trigger; steps are fixed, so no outside text adds one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import time
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from actions.nominal import NOMINALS
from schemas.duration import Duration
from schemas.goal import GoalName
from schemas.model import Model
from schemas.plan import Cause, Op
from schemas.value import Integrity

PLACE = re.compile(r"\{(s[0-9]{1,2}\.[a-z_]+|[a-z_]+)\}")
"""A place in a text template: a slot, or a field of an earlier step."""
OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
BUILT_IN: dict[str, str] = {"title": "Text", "code": "Text", "today": "Date"}
"""Slots that every playbook has: the rule's rendered title, the proposal's short code, the owner's local day."""


class Slot(Model):
    """``sources`` are names of trigger values, the first one that fits wins. A value of less than ``integrity`` is
    not used unasked. A required slot that stays empty makes a question of ``ask``."""

    type: str
    sources: tuple[str, ...] = Field(default=(), alias="from")
    required: bool = False
    integrity: Integrity = Integrity.UNTRUSTED
    ask: str = Field(default="", max_length=200)
    unsigned: bool = False

    @field_validator("type")
    @classmethod
    def _is_nominal(cls, value: str) -> str:
        if value not in NOMINALS:
            raise ValueError(f"unknown type {value!r}; use one of {', '.join(NOMINALS)}")
        return value


class SlotArg(Model):
    """The value of a slot, as it is."""

    slot: str


class TextArg(Model):
    """Text with ``{slot}`` and ``{s1.field}`` places; a part in ``[...]`` is left out if one of its slots is empty."""

    text: str = Field(max_length=4000)


class BeforeArg(Model):
    """An instant ``days`` before a Date or DateTime slot, at a wall time of the owner (0 days: on the day).

    Without ``at`` the owner's own time for reminders is taken.
    """

    before: str
    days: int = Field(default=0, ge=0, le=365)
    at: time | None = None


class AfterArg(Model):
    """The same, ``days`` after a Date or DateTime slot (``today``, say)."""

    after: str
    days: int = Field(default=0, ge=0, le=365)
    at: time | None = None


class RefArg(Model):
    """A field of an earlier step's result, as ``s1.path``."""

    ref: str = Field(pattern=r"^s[0-9]{1,2}\.[a-z_]+$")

    @property
    def step(self) -> str:
        return self.ref.split(".")[0]

    @property
    def field(self) -> str:
        return self.ref.split(".")[1]


class LiteralArg(Model):
    """A fixed text, number or yes/no of the playbook's author; ``type`` None takes the argument's own type."""

    literal: str | int | float | bool
    type: str | None = None


FORMS = ("slot", "text", "before", "after", "ref")


def _kind(value: Any) -> str:
    """Which form an argument has, by its key; a bare scalar is a literal."""
    if isinstance(value, dict):
        return next((form for form in FORMS if form in value), "literal")
    return next((form for form in FORMS if hasattr(value, form)), "literal")


ArgSpec = Annotated[
    Annotated[SlotArg, Tag("slot")]
    | Annotated[TextArg, Tag("text")]
    | Annotated[BeforeArg, Tag("before")]
    | Annotated[AfterArg, Tag("after")]
    | Annotated[RefArg, Tag("ref")]
    | Annotated[LiteralArg, Tag("literal")],
    Discriminator(_kind),
]


class GuardSpec(Model):
    """Run the step only if an earlier result says so."""

    ref: str = Field(pattern=r"^s[0-9]{1,2}\.[a-z_]+$")
    op: Op = "is"
    value: str | int | float | bool | dict[str, str] | None = None


class RepeatSpec(Model):
    """Ask again until a field of the answer says so; ``slot`` names the value that it is held against."""

    field: str
    op: Op = "is"
    value: str | int | float | bool | dict[str, str] | None = None
    slot: str | None = None
    every: Duration
    at_most: int = Field(ge=1, le=1000)
    on_end: Literal["fail", "go_on"] = "fail"


class StepSpec(Model):
    """A step is left out without one of the slots it ``needs``, without a value for a required argument, or with one
    of the steps of ``only_after`` left out; ``after`` is order alone."""

    id: str = Field(pattern=r"^s[0-9]{1,2}$")
    tool: str
    args: dict[str, ArgSpec] = {}
    after: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    when: GuardSpec | None = None
    repeat: RepeatSpec | None = None
    why: str = Field(default="", max_length=200)
    otherwise: tuple[Otherwise, ...] = ()
    """What to do instead if the step ends badly; the first one for its cause."""

    @field_validator("args", mode="before")
    @classmethod
    def _scalars_are_literals(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {k: v if isinstance(v, dict | Model) else {"literal": v} for k, v in value.items()}

    def slots(self, name: str) -> set[str]:
        """Slots that an argument cannot do without."""
        arg = self.args[name]
        match arg:
            case SlotArg(slot=slot):
                return {slot}
            case BeforeArg(before=slot) | AfterArg(after=slot):
                return {slot}
            case TextArg(text=text):
                return places(OPTIONAL.sub("", text))
        return set()


class Otherwise(Model):
    """Another way on, after a step that ended for one of ``causes`` (any, if none is named).

    ``steps`` take its place: what came after it comes after the last of them, and what used its result uses the same
    field of that last step, if it has one; what cannot is left out. ``playbook``: another playbook for the same
    trigger takes the place of the step and of all that depends on it.
    """

    causes: tuple[Cause, ...] = ()
    steps: tuple[StepSpec, ...] = Field(default=(), max_length=4)
    playbook: str = ""

    @model_validator(mode="after")
    def _is_one_way(self) -> Self:
        if bool(self.steps) == bool(self.playbook):
            raise ValueError("name either the steps or the playbook to go on with")
        return self


class Playbook(Model):
    """``sha`` (of the file) is part of a plan's ``planner``, so that a plan tells which text it came from."""

    id: str = Field(pattern=r"^[a-z][a-z0-9-]{1,60}$")
    version: int = Field(ge=1)
    title: str = Field(max_length=120)
    words: tuple[str, ...] = ()
    """What a person who wants this may say, beside the words of ``id`` and ``title``."""
    reaches: GoalName | None = None
    """What must be seen for its goal to count as reached (``actions/planning/goals.py``)."""
    slots: dict[str, Slot] = {}
    steps: tuple[StepSpec, ...] = Field(min_length=1, max_length=8)
    sha: str = ""

    @property
    def planner(self) -> str:
        return f"playbook:{self.id}/{self.version}@{self.sha[:12]}"

    def types(self) -> dict[str, str]:
        """Nominal type of every slot, the built-in ones included."""
        return BUILT_IN | {name: slot.type for name, slot in self.slots.items()}


def all_steps(steps: Iterable[StepSpec]) -> Iterator[StepSpec]:
    """Every step that a playbook knows, those of other ways on included."""
    for step in steps:
        yield step
        for way in step.otherwise:
            yield from all_steps(way.steps)


def places(text: str) -> set[str]:
    """Slot names in a text template."""
    return {name for name in PLACE.findall(text) if "." not in name}


def text_refs(text: str) -> list[RefArg]:
    """References to earlier results in a text template."""
    return [RefArg(ref=name) for name in PLACE.findall(text) if "." in name]
