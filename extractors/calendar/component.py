"""Components: the tree that BEGIN and END make out of content lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from extractors.calendar.lines import Line

DEPTH_CAP = 16
COMPONENT_CAP = 50_000
LINES_CAP = 5_000
"""Lines of one component; a meeting with two thousand attendees still fits."""

_ENTRIES = frozenset({"VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY"})


@dataclass(slots=True)
class Component:
    """``whole``: its END was there. ``line``: where it began."""

    name: str
    line: int
    whole: bool = False
    lines: list[Line] = field(default_factory=list)
    children: list[Component] = field(default_factory=list)
    _named: dict[str, list[Line]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._named = {}
        for line in self.lines:
            self._named.setdefault(line.name, []).append(line)

    def add(self, line: Line) -> None:
        self.lines.append(line)
        self._named.setdefault(line.name, []).append(line)

    def first(self, name: str) -> Line | None:
        found = self._named.get(name)
        return found[0] if found else None

    def all(self, name: str) -> Sequence[Line]:
        return self._named.get(name, ())

    def value(self, name: str) -> str:
        line = self.first(name)
        return line.value if line else ""


@dataclass(frozen=True, slots=True)
class Tree:
    """``calendars``: the VCALENDARs, in order. The others are lines where something was left out: for a limit, or
    because it holds an entry but stands where no entry can be."""

    calendars: tuple[Component, ...]
    too_deep: tuple[int, ...] = ()
    too_many: tuple[int, ...] = ()
    misplaced: tuple[int, ...] = ()


def tree(lines: Iterable[Line]) -> Tree:
    """Tolerant: an END closes what was left open inside, a stray END is ignored, an entry never holds an entry."""
    return _Builder().build(lines)


class _Builder:
    def __init__(self) -> None:
        self.calendars: list[Component] = []
        self.stack: list[Component] = []
        self.count = 0
        self.skipping = 0
        self.too_deep: list[int] = []
        self.too_many: list[int] = []
        self.misplaced: list[int] = []

    def build(self, lines: Iterable[Line]) -> Tree:
        for line in lines:
            if line.name == "BEGIN":
                self._begin(line)
            elif line.name == "END":
                self._end(line.value.upper())
            elif self.stack and not self.skipping and len(self.stack[-1].lines) < LINES_CAP:
                self.stack[-1].add(line)
        return Tree(tuple(self.calendars), tuple(self.too_deep), tuple(self.too_many), tuple(self.misplaced))

    def _begin(self, line: Line) -> None:
        name = line.value.upper()
        self.count += 1
        if self.skipping or len(self.stack) >= DEPTH_CAP or self.count > COMPONENT_CAP:
            self._skip(line)
            return
        if name == "VCALENDAR":
            self.stack.clear()
        elif name in _ENTRIES and self.stack and self.stack[-1].name in _ENTRIES:
            self.stack.pop()
        if name in _ENTRIES and (not self.stack or self.stack[-1].name != "VCALENDAR"):
            self.misplaced.append(line.number)
        component = Component(name, line.number)
        if self.stack:
            self.stack[-1].children.append(component)
        elif name == "VCALENDAR":
            self.calendars.append(component)
        self.stack.append(component)

    def _skip(self, line: Line) -> None:
        if not self.skipping:
            (self.too_many if self.count > COMPONENT_CAP else self.too_deep).append(line.number)
        self.skipping += 1

    def _end(self, name: str) -> None:
        if self.skipping:
            self.skipping -= 1
        elif any(component.name == name for component in self.stack):
            while (closed := self.stack.pop()).name != name:
                pass
            closed.whole = True
