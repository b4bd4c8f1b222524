"""Stamps: the values of a cursor field, in the form and with the precision in which the source prints them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator

from extractors.rest.expression import Misplaced
from schemas.model import Json

FORMATS = ("iso", "iso_ms", "iso_us", "date", "epoch", "epoch_ms", "number")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIRECTIVE = re.compile(r"%(.)")
_STEPS = {"f": 1, "S": 1_000_000, "M": 60_000_000, "H": 3_600_000_000, "d": 86_400_000_000}
"""Microseconds of the finest directive of a format."""
_NUMBER_CAP = 2**62
_FRACTION = re.compile(r"(\.\d{6})\d+")


def _checked(text: str) -> str:
    if "%" not in text:
        if text not in FORMATS:
            raise Misplaced(f"unknown format {text!r}", 0, f"known: {', '.join(FORMATS)}, or one such as '%Y-%m-%d'")
        return text
    for match in _DIRECTIVE.finditer(text):
        if match.group(1) not in "YmdHMSfz%":
            raise Misplaced(f"unknown directive {match.group()!r}", match.start(), "known: %Y %m %d %H %M %S %f %z")
    if not {"Y", "m", "d"} <= {match.group(1) for match in _DIRECTIVE.finditer(text)}:
        raise Misplaced(f"{text!r} says no day", 0, "it needs %Y, %m and %d")
    return text


Format = Annotated[str, AfterValidator(_checked)]
"""iso, iso_ms, iso_us (UTC with Z), date, epoch, epoch_ms, number, or a pattern of %Y %m %d %H %M %S %f %z."""


@dataclass(frozen=True, slots=True)
class Stamps:
    """``zone`` is that of times which name none. A stamp is an int: microseconds since 1970, or the number itself."""

    format: str
    zone: ZoneInfo

    @property
    def is_time(self) -> bool:
        return self.format != "number"

    @property
    def step(self) -> int:
        """The smallest difference that the source prints."""
        match self.format:
            case "number":
                return 1
            case "iso" | "epoch":
                return _STEPS["S"]
            case "iso_ms" | "epoch_ms":
                return 1_000
            case "iso_us":
                return 1
            case "date":
                return _STEPS["d"]
            case pattern:
                return next(size for letter, size in _STEPS.items() if f"%{letter}" in pattern)

    def read(self, value: Json) -> int:
        """ValueError for what is no stamp of this format."""
        if isinstance(value, bool) or not isinstance(value, str | int | float) or len(str(value)) > 60:
            raise ValueError(f"not a stamp: {str(value)[:60]!r}")
        if self.format == "number":
            number = int(value)
            if abs(number) > _NUMBER_CAP:
                raise ValueError(f"not a stamp: {str(number)[:60]}")
            return number
        if self.format in ("epoch", "epoch_ms"):
            return _micro(_EPOCH + timedelta(seconds=float(value) / (1_000 if self.format == "epoch_ms" else 1)))
        return self._from_text(str(value).strip())

    def _from_text(self, text: str) -> int:
        if "%" in self.format:
            moment = datetime.strptime(text, self.format)  # noqa: DTZ007 - the zone is added below
        else:
            moment = datetime.fromisoformat(_FRACTION.sub(r"\1", text))
        return _micro(moment if moment.tzinfo else moment.replace(tzinfo=self.zone))

    def write(self, stamp: int) -> str | int:
        """Rounded down to what the source prints, so that nothing of the same step is missed."""
        if self.format == "number":
            return stamp
        if self.format in ("epoch", "epoch_ms"):
            return stamp // self.step
        moment = _moment(stamp)
        if "%" in self.format:
            return moment.astimezone(self.zone).strftime(self.format)
        if self.format == "date":
            return moment.astimezone(self.zone).date().isoformat()
        spec = {"iso": "seconds", "iso_ms": "milliseconds", "iso_us": "microseconds"}[self.format]
        return moment.replace(tzinfo=None).isoformat(timespec=spec) + "Z"


def of_moment(moment: datetime) -> int:
    return _micro(moment)


def _micro(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _moment(stamp: int) -> datetime:
    return _EPOCH + timedelta(microseconds=min(max(stamp, _micro(datetime(1, 1, 2, tzinfo=UTC))), _LAST))


_LAST = _micro(datetime(9999, 12, 30, tzinfo=UTC))
