"""Over: the windows of time that a rule counts in, written ``7d``, ``every 6h``, ``week`` or ``session 30m``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from schemas.duration import Duration

Shape = Literal["sliding", "every", "session", "day", "week", "month"]
"""sliding: the time before each event. every: one after the other. session: as long as gaps are shorter."""

LONGEST_DAYS = 366
_CALENDAR = get_args(Shape)[3:]
_FORM = re.compile(r"(?:(every|session) )?((?:\d{1,4}[wdhms])+)")
_ALLOWED = "write such as '7d', 'every 6h', 'day', 'week', 'month' or 'session 30m'"
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Over:
    shape: Shape
    length: Duration = field(default_factory=Duration)
    """Nothing for day, week and month; the gap that ends a session."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """ValueError says what is allowed."""
        if text in _CALENDAR:
            return cls(text)  # type: ignore[arg-type]  # it is one of them
        found = _FORM.fullmatch(text)
        if not found:
            raise ValueError(f"not a window: {text!r}; {_ALLOWED}")
        shape, length = found[1] or "sliding", Duration.parse(found[2])
        if not length or length.timedelta().days > LONGEST_DAYS:
            raise ValueError(f"not a window: {text!r}; a window is longer than 0s and no longer than {LONGEST_DAYS}d")
        if shape == "every" and length.seconds and (length.days or _DAY_S % length.seconds):
            raise ValueError(f"not a window: {text!r}; whole days, or hours and minutes that divide a day evenly")
        return cls(shape, length)  # type: ignore[arg-type]  # the pattern knows no other

    @property
    def is_aligned(self) -> bool:
        """Whether windows begin at instants of the calendar, one at the end of the other."""
        return self.shape not in ("sliding", "session")

    def __str__(self) -> str:
        return (
            str(self.length)
            if self.shape == "sliding"
            else f"{self.shape} {self.length}"
            if self.length
            else self.shape
        )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        pattern = r"^(day|week|month|((every|session) )?(\d{1,4}[wdhms]){1,5})$"
        return {"type": "string", "pattern": pattern, "examples": ["7d", "every 6h", "week", "session 30m"]}

    @classmethod
    def _validate(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        raise ValueError(f"not a window: {value!r}; {_ALLOWED}")
