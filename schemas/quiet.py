"""Quiet times: ``22:00-07:00`` on some weekdays, or until a date, in the owner's zone; DST days included (law L6)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any, Literal, Self, get_args
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from schemas import clock
from schemas.model import Model
from schemas.trigger import Urgency

Weekday = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)")
_MOST_IN_A_ROW = 100
"""Quiet times that follow one another without a gap: ten on each of eight days are fewer."""


def _written(text: str) -> str:
    found = _HOURS.fullmatch(text)
    if found is None or (found[3] is not None and found.group(1, 2) == found.group(3, 4)):
        raise ValueError(f"no hours: {text!r}; write such as '22:00-07:00' or '00:00-24:00'")
    return text


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Quiet(Model):
    """From the first time of each of these days to the second, which is the next day's if it is not later.

    ``from`` and ``until``: only on the days from the one to the other, both included.
    """

    hours: Annotated[str, AfterValidator(_written)] = "00:00-24:00"
    days: Annotated[tuple[Weekday, ...], BeforeValidator(_listed, json_schema_input_type=Weekday | list[Weekday])] = (
        Field(default=WEEKDAYS, min_length=1, max_length=7)
    )
    from_: date | None = Field(default=None, alias="from")
    until: date | None = None

    @model_validator(mode="after")
    def _has_an_end(self) -> Self:
        if self.from_ is not None and (self.until is None or self.until < self.from_):
            raise ValueError("a quiet time that begins on a day ends on one, not before it; add 'until: 2026-08-31'")
        return self

    @property
    def is_dated(self) -> bool:
        return self.until is not None

    def end(self, instant: datetime, tz: ZoneInfo) -> datetime | None:
        """When the quiet time that this instant lies in is over; None: it lies in none."""
        if self.until is not None and self.hours == "00:00-24:00" and len(set(self.days)) == len(WEEKDAYS):
            return clock.end_of_day(self.until, tz) if self._is_in_time(clock.local_day(instant, tz)) else None
        return max((end for start, end in self._near(instant, tz) if start <= instant < end), default=None)

    def _near(self, instant: datetime, tz: ZoneInfo) -> Iterator[tuple[datetime, datetime]]:
        """The quiet times that begin on this local day or the one before."""
        first, _, last = self.hours.partition("-")
        begins = time.fromisoformat(first)
        ends = time(0) if last == "24:00" else time.fromisoformat(last)
        today = clock.local_day(instant, tz)
        for day in (today - timedelta(days=1), today):
            if WEEKDAYS[day.weekday()] in self.days and self._is_in_time(day):
                until = day if ends > begins else day + timedelta(days=1)
                end = clock.at_local(until, ends, tz) if last != "24:00" else clock.end_of_day(day, tz)
                yield clock.at_local(day, begins, tz), end

    def _is_in_time(self, day: date) -> bool:
        return (self.from_ is None or self.from_ <= day) and (self.until is None or day <= self.until)


def _quiets(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


class Schedule(Model):
    """What fires in quiet hours is told when they are over, unless it is as urgent as ``through``."""

    quiet: Annotated[tuple[Quiet, ...], BeforeValidator(_quiets, json_schema_input_type=Quiet | list[Quiet])] = Field(
        min_length=1, max_length=10
    )
    through: Urgency = "critical"

    def quiet_until(self, instant: datetime, tz: ZoneInfo) -> datetime | None:
        """When the quiet is over that this instant lies in, with all that follows without a gap; None: it is not quiet.

        A week without any gap gives its end, so that nothing is held for ever.
        """
        until: datetime | None = None
        for _ in range(_MOST_IN_A_ROW):
            ends = [end for quiet in self.quiet if (end := quiet.end(until or instant, tz)) is not None]
            if not ends or (until is not None and until - instant > timedelta(days=7)):
                return until
            until = max(ends)
        return until

    def lets_through(self, urgency: Urgency) -> bool:
        order = get_args(Urgency)
        return order.index(urgency) >= order.index(self.through)

    @property
    def is_always_quiet(self) -> bool:
        """Whether no minute of a week is left, in a zone whose clocks do not change."""
        tz = ZoneInfo("UTC")
        start = datetime(2024, 1, 1, tzinfo=tz)
        always = [quiet for quiet in self.quiet if not quiet.is_dated]
        until = self.model_copy(update={"quiet": tuple(always)}).quiet_until(start, tz)
        return until is not None and until >= start + timedelta(days=7)
