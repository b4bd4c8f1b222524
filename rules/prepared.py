"""PreparedRule: a rule checked against the event schema and compiled; ConditionError for what it gets wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import Any, Literal, TypeVar
from zoneinfo import ZoneInfo

from rules.case import Case
from rules.detectors import VALUES, Detector, make_detector
from rules.fields import family, fields_of, kept_fields
from rules.guard import Guard, make_guard
from rules.holding import GROUP_VALUES
from rules.language import CheckedCondition, ConditionError, ConditionErrors, check_condition
from rules.moment import Moment
from rules.reading import Reader
from rules.sequence import Step, make_step
from rules.template import Key, Template, parse_key, parse_template
from rules.values import ValueReader
from schemas import ids
from schemas.errors import Location
from schemas.rule import Condition, Propose, Rule


class Shared:
    """What all rules of a set compile once."""

    def __init__(self, zone: ZoneInfo) -> None:
        self.zone = zone
        self.values = ValueReader(zone)
        self.reader = Reader(zone)


class PreparedRule:
    """``revision`` changes with anything that changes what the rule says or when, and with nothing else.

    ``is_overridden``: its settings are not all those of its own file, so it has no examples.
    """

    def __init__(
        self, model: Rule, shared: Shared, place: Location | None = None, *, is_overridden: bool = False
    ) -> None:
        self.model = model
        self.id = model.id
        self.place = place
        self.is_overridden = is_overridden
        self.zone = shared.zone
        self.values = shared.values
        self.reader = shared.reader
        self.kinds = tuple(dict.fromkeys(kind for condition in model.when for kind in condition.kind))
        problems = _Problems()
        self.when = tuple(_conditions(model, shared.zone, problems))
        self.guards = tuple(_guards(model, self.kinds, shared.zone, problems))
        self.steps = tuple(_steps(model, self.kinds, shared.zone, problems))
        self.withouts = tuple(_withouts(model, self.kinds, shared.zone, problems))
        own = {name: name for name in (*VALUES[model.detector], "rule.title")}
        self.canonical: Mapping[str, str] = _canonical(self.kinds) | own | _of_steps(model, self.kinds)
        self.key = problems.collect(("key",), lambda: parse_key(model.key, self.canonical)) or Key(())
        group_by = model.group.by if model.group else ()
        self.group_key = problems.collect(("group", "by"), lambda: parse_key(group_by, self.canonical)) or Key(())
        shown = self.canonical | {name: name for name in (GROUP_VALUES if model.group else ())}
        self.title_template = self._template("title", 300, shown, problems)
        self.goal_template = self._template("goal", 500, shown, problems)
        evaluator = problems.collect((), lambda: make_detector(self))
        problems.raise_any()
        assert evaluator is not None, "without one there is a problem"
        self.evaluator: Detector = evaluator

    @property
    def title(self) -> str:
        return self.model.title

    @property
    def detector(self) -> str:
        return self.model.detector

    @property
    def propose(self) -> Propose:
        return self.model.propose

    @property
    def file(self) -> str:
        """Empty for a rule that was made in code."""
        return self.place.file if self.place is not None else ""

    @cached_property
    def revision(self) -> str:
        left_out = {"examples", "description", "enabled"}
        return ids.digest(self.model.model_dump(mode="json", exclude=left_out, exclude_defaults=True))[:12]

    @cached_property
    def reads_facts(self) -> tuple[str, ...]:
        """The kinds of facts that the rule looks at, for evidence and certainty."""
        read = [field.fact for condition in self.when for conjuncts in condition.by_family.values()
                for conjunct in conjuncts for field in conjunct.fields()]  # fmt: skip
        paths = [*self.title_template.paths(), self.model.deadline.at if self.model.deadline else ""]
        read += [part.split(".")[1] for path in paths for part in path.split() if part.startswith("fact.")]
        return tuple(dict.fromkeys(kind for kind in read if kind))

    def decoded(self, moment: Moment, case: Case) -> dict[str, Any]:
        return moment.memory.cases.decoded(case, self.values.decode_json)

    def _template(
        self, name: Literal["title", "goal"], limit: int, shown: Mapping[str, str], problems: _Problems
    ) -> Template:
        source: str = getattr(self.model.propose, name)
        found = problems.collect(("propose", name), lambda: parse_template(source, shown, limit))
        return found or Template((), limit)


Made = TypeVar("Made")


class _Problems:
    """Collects what is wrong with the parts of a rule, so that all of it is told at once."""

    def __init__(self) -> None:
        self._found: list[ConditionError] = []

    def collect(self, path: tuple[str | int, ...], make: Callable[[], Made]) -> Made | None:
        try:
            return make()
        except ConditionError as error:
            self._found.append(error.under(*path))
            return None

    def raise_any(self) -> None:
        if self._found:
            raise ConditionErrors(self._found)


def _conditions(model: Rule, zone: ZoneInfo, problems: _Problems) -> Iterable[CheckedCondition]:
    for number, condition in enumerate(model.when):
        checked = problems.collect(("when", number), partial(check_condition, condition, zone))
        if checked is not None:
            yield checked


def _guards(model: Rule, kinds: tuple[str, ...], zone: ZoneInfo, problems: _Problems) -> Iterable[Guard]:
    absence = model.absence
    within = absence.within if absence is not None else None
    later = tuple(step.kind for step in model.sequence.then) if model.sequence is not None else ()
    paths: list[tuple[tuple[str | int, ...], Condition]] = [
        *((("absence", "of", number), condition) for number, condition in enumerate(absence.of if absence else ())),
        *((("unless", number), condition) for number, condition in enumerate(model.unless)),
    ]
    for path, condition in paths:
        name = f"{model.id}/{path[0]}/{path[-1]}"
        guard = problems.collect(path, partial(make_guard, name, model.id, condition, kinds, zone, within, later))
        if guard is not None:
            yield guard


def _steps(model: Rule, kinds: tuple[str, ...], zone: ZoneInfo, problems: _Problems) -> Iterable[Step]:
    sequence = model.sequence
    earlier = [kinds]
    for number, condition in enumerate(sequence.then if sequence else ()):
        name = f"{model.id}/then/{number}"
        path = ("sequence", "then", number)
        step = problems.collect(path, partial(make_step, name, number + 2, condition, tuple(earlier), zone))
        earlier.append(condition.kind)
        if step is not None:
            yield step


def _withouts(model: Rule, kinds: tuple[str, ...], zone: ZoneInfo, problems: _Problems) -> Iterable[Step]:
    sequence = model.sequence
    earlier = (kinds, *(condition.kind for condition in (sequence.then if sequence else ())))
    for number, condition in enumerate(sequence.without if sequence else ()):
        name = f"{model.id}/without/{number}"
        path = ("sequence", "without", number)
        step = problems.collect(path, partial(make_step, name, 0, condition, earlier, zone))
        if step is not None:
            yield step


def _of_steps(model: Rule, kinds: Iterable[str]) -> dict[str, str]:
    """``first.*``, ``step1.*``, ``step2.*``, ... in titles and keys."""
    if model.sequence is None:
        return {}
    first = _canonical(kinds)
    names = {f"{prefix}.{name}": stored for prefix in ("first", "step1") for name, stored in first.items()}
    for number, condition in enumerate(model.sequence.then, 2):
        of_step = _canonical(condition.kind)
        names |= {f"step{number}.{name}": f"step{number}.{stored}" for name, stored in of_step.items()}
    return names


def _canonical(kinds: Iterable[str]) -> dict[str, str]:
    """Every name that titles and keys may use, and the name its value has in a trigger."""
    names: dict[str, str] = {}
    for tag in dict.fromkeys(map(family, kinds)):
        kept = {field.name for field in kept_fields(tag)}
        for name, field in fields_of(tag).items():
            if field.name in kept:
                names.setdefault(name, field.name)
    return names
