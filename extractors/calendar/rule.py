"""Rule: one RRULE, read and checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from extractors.calendar.moment import Moment, Zone, parse_moment
from schemas.errors import PoisonError

Freq = Literal["YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"]
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")

_BY_DAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_LIST_CAP = 400
_SIGNED = {"BYMONTHDAY": 31, "BYYEARDAY": 366, "BYWEEKNO": 53, "BYSETPOS": 366}


@dataclass(frozen=True, slots=True)
class Rule:
    """``by_day`` holds (ordinal or 0, weekday from Monday = 0); the other lists are sorted and without doubles."""

    freq: Freq
    interval: int = 1
    count: int | None = None
    until: Moment | None = None
    by_month: tuple[int, ...] = ()
    by_week_no: tuple[int, ...] = ()
    by_year_day: tuple[int, ...] = ()
    by_month_day: tuple[int, ...] = ()
    by_day: tuple[tuple[int, int], ...] = ()
    by_hour: tuple[int, ...] = ()
    by_minute: tuple[int, ...] = ()
    by_second: tuple[int, ...] = ()
    by_set_pos: tuple[int, ...] = ()
    week_start: int = 0


def parse_rule(text: str, zone: Zone, *, floating: bool) -> Rule:
    """``zone`` is DTSTART's, for an UNTIL that names none. PoisonError(bad_rule) says which part is wrong."""
    parts = _parts(text)
    freq = parts.get("FREQ", "").upper()
    if freq not in get_args(Freq):
        raise _bad(f"FREQ={freq[:20]}")
    if parts.get("RSCALE", "GREGORIAN") != "GREGORIAN" or parts.get("SKIP", "OMIT") != "OMIT":
        raise _bad("only RSCALE=GREGORIAN with SKIP=OMIT is understood")
    return Rule(
        freq=freq,  # type: ignore[arg-type]  # checked against get_args above
        interval=_positive(parts, "INTERVAL", 1),
        count=_count(parts),
        until=_until(parts, zone, floating=floating),
        by_month=_numbers(parts, "BYMONTH", 1, 12),
        by_week_no=_signed(parts, "BYWEEKNO"),
        by_year_day=_signed(parts, "BYYEARDAY"),
        by_month_day=_signed(parts, "BYMONTHDAY"),
        by_day=_by_day(parts, freq),
        by_hour=_numbers(parts, "BYHOUR", 0, 23),
        by_minute=_numbers(parts, "BYMINUTE", 0, 59),
        by_second=_numbers(parts, "BYSECOND", 0, 59),
        by_set_pos=_signed(parts, "BYSETPOS"),
        week_start=WEEKDAYS.index(parts["WKST"]) if parts.get("WKST") in WEEKDAYS else 0,
    )


def _bad(what: str) -> PoisonError:
    return PoisonError(f"the repetition rule is wrong: {what}", code="bad_rule")


def _parts(text: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in text.strip().upper().split(";"))
    return {key.strip(): value.strip() for key, equals, value in pairs if equals}


def _until(parts: Mapping[str, str], zone: Zone, *, floating: bool) -> Moment | None:
    if not parts.get("UNTIL"):
        return None
    try:
        return parse_moment(parts["UNTIL"], zone, floating=floating)
    except PoisonError as error:
        raise _bad(f"UNTIL: {error.message}") from error


def _number(key: str, text: str) -> int:
    try:
        return int(text[:12])
    except ValueError as error:
        raise _bad(f"{key}={text[:20]}") from error


def _positive(parts: Mapping[str, str], key: str, default: int) -> int:
    if key not in parts:
        return default
    number = _number(key, parts[key])
    if number < 1:
        raise _bad(f"{key}={number}")
    return number


def _count(parts: Mapping[str, str]) -> int | None:
    """COUNT=-1 is how some servers write "for ever"."""
    if "COUNT" not in parts or _number("COUNT", parts["COUNT"]) < 0:
        return None
    return _positive(parts, "COUNT", 1)


def _numbers(parts: Mapping[str, str], key: str, low: int, high: int) -> tuple[int, ...]:
    """Numbers out of range name no date and are left out; if none is left, the rule is wrong."""
    if not parts.get(key):
        return ()
    given = [_number(key, item) for item in parts[key].split(",")[:_LIST_CAP]]
    kept = sorted({number for number in given if low <= number <= high})
    if not kept:
        raise _bad(f"{key}={parts[key][:20]}")
    return tuple(kept)


def _signed(parts: Mapping[str, str], key: str) -> tuple[int, ...]:
    limit = _SIGNED[key]
    kept = tuple(number for number in _numbers(parts, key, -limit, limit) if number)
    if parts.get(key) and not kept:
        raise _bad(f"{key}={parts[key][:20]}")
    return kept


def _by_day(parts: Mapping[str, str], freq: str) -> tuple[tuple[int, int], ...]:
    """Ordinals mean something only within a month or a year without week numbers."""
    days: set[tuple[int, int]] = set()
    for item in filter(None, parts.get("BYDAY", "").split(",")[:_LIST_CAP]):
        found = _BY_DAY.fullmatch(item.strip())
        if not found:
            raise _bad(f"BYDAY={item[:20]}")
        ordinal = int(found[1] or 0) if freq in ("MONTHLY", "YEARLY") and "BYWEEKNO" not in parts else 0
        days.add((ordinal, WEEKDAYS.index(found[2])))
    return tuple(sorted(days))
