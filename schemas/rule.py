"""Rule: the model of one detection rule, as the YAML of a rule file gives it."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from schemas.duration import Duration
from schemas.goal import GoalName
from schemas.model import Json, Model
from schemas.quiet import Schedule
from schemas.trigger import Urgency
from schemas.window import Over

OnMissed = Literal["fire_once", "fire_each", "skip"]
"""A timer that fires late because we were stopped: one late trigger for all of a key, one for each, or none."""

Scalar = str | bool | int | float


def _listed(value: Any) -> Any:
    """One value means a list of one."""
    return [value] if isinstance(value, (str, bool, int, float, dict)) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed, json_schema_input_type=str | list[str])]
Path = Annotated[str, Field(max_length=200)]
"""A path, alternatives of paths, or a template."""
Paths = Annotated[
    tuple[Path, ...], BeforeValidator(_listed, json_schema_input_type=Path | list[Path]), Field(max_length=10)
]


WallTime = Annotated[dt.time, WithJsonSchema({"type": "string", "pattern": r"^\d{2}:\d{2}(:\d{2})?$"})]


class Bounds(Model):
    """A range of a number, an amount or a date; all given bounds must hold. Dates are ISO text."""

    below: int | float | str | None = None
    at_most: int | float | str | None = None
    above: int | float | str | None = None
    at_least: int | float | str | None = None


class Words(Model):
    """Any of these words or phrases, whole words, whatever their case."""

    words: Names = Field(min_length=1, max_length=1000)


def _form(value: Any) -> str:
    if isinstance(value, (Words, dict)) and "words" in (value if isinstance(value, dict) else ("words",)):
        return "words"
    return "bounds" if isinstance(value, (Bounds, dict)) else "list" if isinstance(value, (list, tuple)) else "value"


Match = Annotated[
    Annotated[Bounds, Tag("bounds")]
    | Annotated[Words, Tag("words")]
    | Annotated[tuple[Scalar, ...], Tag("list")]
    | Annotated[Scalar, Tag("value")],
    Discriminator(_form),
]
"""What a field must be: a value, one of several values, inside bounds, or holding words."""


class Condition(Model):
    """An event of one of these kinds, with these fields (indexed), for which this expression (CEL) is true."""

    kind: Names = Field(min_length=1, max_length=50)
    match: dict[str, Match] = Field(default={}, max_length=20)
    where: str = Field(default="", max_length=4000)


class Unless(Condition):
    """What settles a firing: before it, no trigger; after it, a retraction. ``where`` may read ``trigger.*``.

    The settling event must have occurred no more than ``before`` earlier and ``within`` later than the event that
    the rule matched. ``consumes``: one event settles one key only, the oldest (a payment pays one bill).
    """

    within: Duration = Duration(30)
    before: Duration = Duration(1)
    consumes: bool = False


class Deadline(Model):
    """Fires ``lead`` before a date or instant, and ``after`` it. Whole days count local days and fire at ``time``."""

    at: Path
    lead: Annotated[
        tuple[Duration, ...], BeforeValidator(_listed, json_schema_input_type=Duration | list[Duration])
    ] = Field(default=(), max_length=10)
    after: Annotated[
        tuple[Duration, ...], BeforeValidator(_listed, json_schema_input_type=Duration | list[Duration])
    ] = Field(default=(), max_length=10)
    """How long after the date what has not come by then is told."""
    time: WallTime = dt.time(9)
    overdue: Duration = Duration(0)
    """How long after the date the matter still wants doing: until then its proposal stays open."""
    on_missed: OnMissed = "fire_once"
    tolerance: Duration = Duration(0, 7200)

    @model_validator(mode="after")
    def _is_told_once(self) -> Self:
        if not self.lead and not self.after:
            raise ValueError("a deadline is told before its date (lead) or after it (after): give one of them")
        return self


class Periodic(Model):
    """Something that comes again and again, per key: its rhythm is learned from at least ``min_history`` times.

    It is missing when ``slack`` (or what its own irregularity asks for, if more) has passed since it was expected.
    """

    min_history: int = Field(default=3, ge=2, le=24)
    slack: Duration = Duration(2)
    longest: Duration = Duration(100)
    """A longer gap than this is no rhythm."""


class Absence(Model):
    """Something expected did not come: ``of`` within a time after the event, or the next of a learned rhythm."""

    of: Annotated[
        tuple[Condition, ...], BeforeValidator(_listed, json_schema_input_type=Condition | list[Condition])
    ] = ()
    within: Duration | None = None
    again: Duration | None = None
    """Of an answer: only if what calls for it came once more within so long before the time was up."""
    periodic: Periodic | None = None
    time: WallTime = dt.time(9)
    """Time of day at which a missing periodic event is reported."""
    on_missed: OnMissed = "fire_once"
    tolerance: Duration = Duration(0, 7200)


class Anomaly(Model):
    """A value far from the usual of its key: a robust z-score of its logarithm against earlier values.

    Fires when the score reaches ``threshold``, the value is ``times`` the median (or the median that many times the
    value, for ``down``), at least ``floor``, and ``min_history`` values came before.
    """

    value: str = Field(max_length=400)
    by: Paths = ("account",)
    method: Literal["robust_z"] = "robust_z"
    threshold: float = Field(default=4.0, gt=0, le=100)
    min_history: int = Field(default=6, ge=3, le=24)
    floor: float = Field(default=0.0, ge=0)
    times: float = Field(default=1.5, ge=1)
    direction: Literal["up", "down", "both"] = "up"
    season: Literal["month", "weekday"] | None = None
    """Compare with the same month of earlier years, or day of the week, once that has ``min_history`` values."""


class Conflict(Model):
    """Two timed events of the owner overlap. All-day, transparent and cancelled ones, and copies, do not count.

    With ``travel``: they follow one another in different towns, with less than this between them.
    """

    ahead: Duration = Duration(30)
    """Fires when the overlap begins no later than this."""
    min_overlap: Duration = Duration(0, 300)
    travel: Duration | None = None
    longest: Duration = Duration(1)
    """Entries that last this long or longer do not block time."""
    tentative: bool = True
    """False: tentative entries do not count."""
    on_missed: OnMissed = "fire_once"
    tolerance: Duration = Duration(0, 7200)


class Sequence(Model):
    """After an event of ``when``, these in this order, all within a time of the first; nothing of ``without`` between.

    A condition may read the steps before it, as ``first.*`` (or ``step1.*``), ``step2.*`` and on; ``without`` all.
    """

    then: Annotated[
        tuple[Condition, ...], BeforeValidator(_listed, json_schema_input_type=Condition | list[Condition])
    ] = Field(min_length=1, max_length=4)
    within: Duration
    without: Annotated[
        tuple[Condition, ...], BeforeValidator(_listed, json_schema_input_type=Condition | list[Condition])
    ] = Field(default=(), max_length=10)


class Change(Model):
    """A value that differs from the one before it: of the same thing or, with ``by``, of its key.

    A difference below ``min_change`` or ``min_percent`` is none. ``steady``: how often the old value came in a row,
    each at least ``apart`` from the one before it.
    What was said is withdrawn when the old value comes back.
    """

    value: str = Field(max_length=400)
    by: Paths = ()
    direction: Literal["up", "down", "any"] = "any"
    min_change: float = Field(default=0.0, ge=0)
    min_percent: float = Field(default=0.0, ge=0, le=10_000)
    steady: int = Field(default=1, ge=1, le=100)
    apart: Duration = Duration(0)


class Windowed(Model):
    """Windows of event time, for each key. What occurred in a window is taken in until ``lateness`` after its end."""

    over: Over
    by: Paths = ("account",)
    lateness: Duration = Duration(1)


class Count(Windowed):
    """How many things there are in a window: at least, more, fewer or at most so many.

    At the first that reaches it, or for ``below`` and ``at_most`` when the window is over. ``distinct``: an expression;
    different values of it are counted instead.
    """

    distinct: str = Field(default="", max_length=400)
    at_least: int | None = Field(default=None, ge=1)
    above: int | None = Field(default=None, ge=0)
    below: int | None = Field(default=None, ge=1)
    at_most: int | None = Field(default=None, ge=0)


class Sum(Windowed):
    """What the ``value`` of the things in a window adds up to; currencies are always apart."""

    value: str = Field(max_length=400)
    at_least: int | float | None = None
    above: int | float | None = None
    below: int | float | None = None
    at_most: int | float | None = None


class Mean(Windowed):
    """What the ``value`` of the things in a window is on average, once there are ``min_count`` of them.

    Told when the window is over; in a sliding one at each event. Of ``condition ? 100 : 0`` it is a percentage.
    """

    value: str = Field(max_length=400)
    min_count: int = Field(default=3, ge=1, le=100)
    at_least: int | float | None = None
    above: int | float | None = None
    below: int | float | None = None
    at_most: int | float | None = None


class Rate(Windowed):
    """A count for each ``per`` of the window, which has a fixed length."""

    per: Duration = Duration(0, 3600)
    at_least: int | float | None = Field(default=None, gt=0)
    above: int | float | None = Field(default=None, ge=0)
    below: int | float | None = Field(default=None, gt=0)
    at_most: int | float | None = Field(default=None, ge=0)


class Spike(Windowed):
    """A window whose count (or total of ``value``) is ``times`` the median of those before it, and at least ``floor``.

    As ``drop``: when the window is over, the median is ``times`` its count or total, and at least ``floor``.
    """

    value: str = Field(default="", max_length=400)
    times: float = Field(default=2.0, gt=1, le=1000)
    floor: float = Field(default=1.0, gt=0)
    min_history: int = Field(default=6, ge=3, le=24)


class NewValue(Model):
    """A value that its key (``by``) never had before: a new merchant of an account, another IBAN of a payee.

    Quiet until the key had ``min_history`` events with a value, over at least ``learn``. The newest 1024 or so values
    of a key are kept. An event for which ``tell`` is not true only teaches.
    """

    value: str = Field(max_length=400)
    by: Paths = ("account",)
    min_history: int = Field(default=3, ge=1, le=1000)
    learn: Duration = Duration(0)
    tell: str = Field(default="", max_length=400)


class Project(Model):
    """Judge the lowest balance that is to be expected within ``over`` days, by the recurring rows of an account."""

    over: Duration = Duration(14)
    by: Paths = ("payload.merchant",)
    """Whose rows are a series of their own."""
    min_history: int = Field(default=3, ge=2, le=12)
    longest: Duration = Duration(100)
    """A longer gap than this is no rhythm."""


class Threshold(Model):
    """A number or an amount crosses a bound: said once, and withdrawn when it is back at ``clear`` (or the bound)."""

    value: str = Field(max_length=400)
    by: Paths = ("account",)
    above: float | None = None
    below: float | None = None
    clear: float | None = None
    project: Project | None = None


class Flatline(Model):
    """A key that came ``min_history`` times, never longer apart than ``after``, has been silent for so long."""

    after: Duration
    min_history: int = Field(default=3, ge=1, le=1000)
    time: WallTime = dt.time(9)
    """Time of day at which a silence of whole days is reported."""
    on_missed: OnMissed = "fire_once"
    tolerance: Duration = Duration(0, 7200)


class Group(Model):
    """Firings of a rule within ``wait`` of the first become one trigger, ``interval`` or more after the one before.

    ``by``: paths whose values tell the groups apart.
    """

    by: Paths = ()
    wait: Duration
    interval: Duration = Duration()


class Propose(Model):
    """What the person will see; ``{{ path | filter }}`` is filled with typed values."""

    title: str = Field(max_length=300)
    goal: str = Field(default="", max_length=500)
    urgency: Urgency = "normal"
    playbook: str | None = None
    reaches: GoalName | None = None
    """What must be seen for the goal to count as reached; without it the playbook says."""


class Example(Model):
    """Events in short form (docs/reference/rules.md), oldest first, after which the clock runs on to ``until``."""

    title: str = Field(default="", max_length=200)
    events: tuple[dict[str, Json], ...] = Field(min_length=1, max_length=60)
    until: str = ""
    """When the clock stops: ``+12d``; empty: at the last event."""
    triggers: int | None = Field(default=None, ge=1)
    """How many triggers exactly; None: at least one."""
    retracted: bool = False
    """Whether the last trigger must have been withdrawn at the end (or must not)."""
    says: str = ""
    """The title of the last trigger."""


class Examples(Model):
    fires: tuple[Example, ...] = ()
    silent: tuple[Example, ...] = ()


DetectorName = Literal[
    "match",
    "deadline",
    "absence",
    "anomaly",
    "conflict",
    "count",
    "sum",
    "mean",
    "rate",
    "spike",
    "drop",
    "sequence",
    "change",
    "new_value",
    "threshold",
    "flatline",
]
"""``match`` is the rule without a detector; the others are keys of a rule."""
_DETECTORS: tuple[DetectorName, ...] = tuple(name for name in get_args(DetectorName) if name != "match")


def _one_of_each(rule: Rule) -> Rule:
    detectors = [name for name in _DETECTORS if getattr(rule, name) is not None]
    if len(detectors) > 1:
        raise ValueError(f"a rule has one detector, this one has {' and '.join(detectors)}; make two rules of it")
    return rule


class Rule(Model):
    """One detection rule. Without a detector it fires on every match of ``when``."""

    id: str = Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=60)
    title: str = Field(max_length=120)
    description: str = Field(default="", max_length=2000)
    enabled: bool = True
    when: Annotated[
        tuple[Condition, ...], BeforeValidator(_listed, json_schema_input_type=Condition | list[Condition])
    ] = Field(min_length=1, max_length=10)
    deadline: Deadline | None = None
    absence: Absence | None = None
    anomaly: Anomaly | None = None
    conflict: Conflict | None = None
    count: Count | None = None
    sum: Sum | None = None
    mean: Mean | None = None
    rate: Rate | None = None
    spike: Spike | None = None
    drop: Spike | None = None
    sequence: Sequence | None = None
    change: Change | None = None
    new_value: NewValue | None = None
    threshold: Threshold | None = None
    flatline: Flatline | None = None
    unless: Annotated[tuple[Unless, ...], BeforeValidator(_listed, json_schema_input_type=Unless | list[Unless])] = (
        Field(default=(), max_length=10)
    )
    key: Paths = ()
    """What one firing is about: paths joined; ``a or b`` takes the first that has a value; default the subject."""
    for_: Duration | None = Field(default=None, alias="for")
    """What fires must still hold so long after, unsettled and not withdrawn, before it is said."""
    inhibit: Names = Field(default=(), max_length=50)
    """Rules of which no trigger for the same key or matter may stand."""
    group: Group | None = None
    schedule: Schedule | None = None
    cooldown: Duration | None = None
    max_age: Duration = Duration(14)
    """An event that is older than this when it is first seen is history: it teaches, it does not fire."""
    shadow: bool = False
    """It fires and is recorded, and proposes nothing: a trial run on what really happens."""
    propose: Propose
    examples: Examples = Examples()

    @property
    def detector(self) -> DetectorName:
        for name in _DETECTORS:
            if getattr(self, name) is not None:
                return name
        return "match"


CheckedRule = Annotated[Rule, AfterValidator(_one_of_each)]


InputType = Literal["text", "number", "money", "duration", "list"]


class Input(Model):
    """Without a ``default`` it must be given."""

    type: InputType
    default: Json = None
    description: str = ""


class Blueprint(Model):
    """A rule with typed inputs, for which ``$(name)`` stands; rules/blueprints.py expands it."""

    id: str
    description: str = ""
    inputs: dict[str, InputType | Input] = {}
    rule: dict[str, Json]


class Use(Model):
    blueprint: str
    inputs: dict[str, Json] = {}


class UsedRule(Model):
    """A rule made from a blueprint of its file; whatever else it says wins over the blueprint."""

    model_config = ConfigDict(extra="allow")

    id: str
    use: Use


class Override(Model):
    """Other settings for a rule of another file; rules/overriding.py puts them in."""

    model_config = ConfigDict(extra="allow")

    id: str
    enabled: bool | None = None


class RuleFile(Model):
    """As it is written: for the schema that editors use. ``include``: further files, below the same folder."""

    include: Names = ()
    overrides: tuple[Override, ...] = ()
    blueprints: tuple[Blueprint, ...] = ()
    rules: tuple[CheckedRule | UsedRule, ...] = ()
