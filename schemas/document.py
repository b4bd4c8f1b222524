"""Document: the data of a YAML file with the place of every value, so that a mistake can be pointed at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from schemas.errors import Location, RuleError

Trail = tuple[str | int, ...]
"""Keys and positions from the top of a file to a value."""

KEY = "?"
"""Last step of a trail that means the key itself, not its value."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands. ``inset``: columns from there to its first character; None for a block of text.

    ``file``: another one than the document's, for a value that came from there.
    """

    line: int
    column: int
    inset: int | None = 0
    file: str = ""


@dataclass(slots=True)
class Document:
    file: str
    data: Any = None
    places: dict[Trail, Place] = field(default_factory=dict)

    def location(self, trail: Trail, offset: int | None = None) -> Location:
        """The place of the value, or of the nearest thing around it; ``offset`` counts characters into a text."""
        while trail and trail not in self.places:
            trail = trail[:-1]
        place = self.places.get(trail, Place(1, 1))
        shift = 0 if place.inset is None or offset is None else place.inset + offset
        return Location(place.file or self.file, place.line, place.column + shift)

    def trail(self, start: Trail, path: tuple[str | int, ...]) -> Trail:
        """A path through the model as a trail through the file.

        A list of one may be written without brackets, and pydantic adds the names of variants: steps that the file
        does not have are left out.
        """
        here: Any = self.data
        for step in start:
            here = here[step]
        trail = start
        for step in path:
            if step == KEY:
                return (*trail, KEY)
            inside = step in here if isinstance(here, dict) else isinstance(here, list) and step in range(len(here))
            if inside:
                here = here[step]
                trail = (*trail, step)
        return trail

    def error(self, message: str, trail: Trail, *, offset: int | None = None, remedy: str = "") -> RuleError:
        return RuleError(message, self.location(trail, offset), remedy=remedy)
