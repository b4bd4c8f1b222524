"""Duration: calendar days plus exact seconds, written ``5d``, ``36h`` or ``1d12h``; a day is a local day (law L6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Self
from zoneinfo import ZoneInfo

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

PATTERN = r"^(\d{1,4}[wdhms]){1,5}$"
LONGEST_DAYS = 3660
"""Ten years: what is longer is a mistake or an attack."""

_PART = re.compile(r"(\d{1,4})([wdhms])")
_SECONDS = {"h": 3600, "m": 60, "s": 1}


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    days: int = 0
    seconds: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """``2w``, ``5d``, ``36h``, ``90m``, ``30s`` and sums of them; ValueError says what is allowed."""
        if not re.fullmatch(PATTERN, text):
            raise ValueError(f"not a duration: {text!r}; write a number and w, d, h, m or s, such as '5d' or '1d12h'")
        days = seconds = 0
        for count, unit in _PART.findall(text):
            if unit in _SECONDS:
                seconds += int(count) * _SECONDS[unit]
            else:
                days += int(count) * (7 if unit == "w" else 1)
        if days + seconds / 86_400 > LONGEST_DAYS:
            raise ValueError(f"too long: {text!r}; the longest duration is {LONGEST_DAYS}d")
        return cls(days, seconds)

    def after(self, instant: datetime, tz: ZoneInfo) -> datetime:
        """The same wall time that many local days later, then the seconds; in UTC."""
        return self._shift(instant, tz, 1)

    def before(self, instant: datetime, tz: ZoneInfo) -> datetime:
        return self._shift(instant, tz, -1)

    def _shift(self, instant: datetime, tz: ZoneInfo, sign: int) -> datetime:
        if self.days:
            local = instant.astimezone(tz)
            instant = (local + timedelta(days=sign * self.days)).astimezone(UTC)
        return instant.astimezone(UTC) + timedelta(seconds=sign * self.seconds)

    def day_before(self, day: date) -> date:
        """That many days before a local day; the seconds do not count."""
        return day - timedelta(days=self.days)

    def timedelta(self) -> timedelta:
        """The length with days of 24 hours, for what does not depend on a zone."""
        return timedelta(days=self.days, seconds=self.seconds)

    def __bool__(self) -> bool:
        return bool(self.days or self.seconds)

    def __str__(self) -> str:
        hours, rest = divmod(self.seconds, 3600)
        minutes, seconds = divmod(rest, 60)
        parts = ((self.days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s"))
        return "".join(f"{count}{unit}" for count, unit in parts if count) or "0d"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "pattern": PATTERN, "examples": ["5d", "36h", "1d12h"]}

    @classmethod
    def _validate(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            return cls.parse(value)
        raise ValueError(f"not a duration: {value!r}; write a number and w, d, h, m or s, such as '5d'")
