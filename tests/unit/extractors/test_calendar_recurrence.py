"""Repetition rules: against dateutil, against the RFC's own examples, and within a bound of work."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice, takewhile

import pytest
from dateutil.rrule import rrulestr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from extractors.calendar.moment import UTC_ZONE
from extractors.calendar.recurrence import Budget, repeats
from extractors.calendar.rule import parse_rule
from schemas.errors import PoisonError

START = datetime(2020, 1, 1)  # noqa: DTZ001 - a wall time
SPANS = {"YEARLY": 4000, "MONTHLY": 1000, "WEEKLY": 400, "DAILY": 150, "HOURLY": 20, "MINUTELY": 1}
WEEKDAYS = st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"])


def walls(rule: str, start: datetime, low: datetime, high: datetime, steps: int = 1_000_000) -> list[datetime]:
    return list(repeats(parse_rule(rule, UTC_ZONE, floating=False), start, low, high, Budget(steps)))


def some(elements: st.SearchStrategy[object]) -> st.SearchStrategy[str]:
    return st.lists(elements, min_size=1, max_size=3, unique=True).map(lambda items: ",".join(map(str, items)))


@st.composite
def rules(draw: st.DrawFn) -> tuple[str, str]:
    """What dateutil and the RFC agree on: no BYSETPOS in a week that DTSTART cuts, no BYWEEKNO, no BYDAY=TU,2FR."""
    freq = draw(st.sampled_from(sorted(SPANS)))
    has_ordinals = freq in ("YEARLY", "MONTHLY") and draw(st.booleans())
    ordinals = st.sampled_from(["1", "2", "-1", "5"]) if has_ordinals else st.just("")
    optional = {
        "INTERVAL": st.integers(1, 5).map(str),
        "COUNT": st.integers(1, 40).map(str),
        "BYMONTH": some(st.integers(1, 12)),
        "BYDAY": some(st.tuples(ordinals, WEEKDAYS).map("".join)),
        "BYHOUR": some(st.integers(0, 23)),
        "BYMINUTE": some(st.integers(0, 59)),
        "WKST": WEEKDAYS,
    }
    if freq in ("YEARLY", "MONTHLY", "DAILY"):
        optional["BYMONTHDAY"] = some(st.sampled_from([1, 5, 13, 28, 29, 30, 31, -1, -2, -31]))
    if freq in ("YEARLY", "MONTHLY"):
        optional["BYSETPOS"] = some(st.sampled_from([1, -1, 2, -2]))
    if freq == "YEARLY":
        optional["BYYEARDAY"] = some(st.sampled_from([1, 60, 100, 366, -1, -100]))
    chosen = draw(st.lists(st.sampled_from(sorted(optional)), max_size=4, unique=True))
    return freq, ";".join([f"FREQ={freq}", *(f"{name}={draw(optional[name])}" for name in chosen)])


@settings(max_examples=120, deadline=None)
@given(rules(), st.integers(0, 1_500_000), st.sampled_from([0, 0.3, -0.1]))
def test_rules_give_the_dates_that_dateutil_gives(rule: tuple[str, str], minutes: int, skip: float) -> None:
    freq, text = rule
    start = START + timedelta(minutes=minutes)
    horizon = start + timedelta(days=SPANS[freq])
    assume("BYSETPOS" not in text or "BYDAY" in text or "BYMONTHDAY" in text or "BYYEARDAY" in text)
    first = walls(text.replace("COUNT=", "X-COUNT="), start - timedelta(seconds=1), start, horizon)[:1]
    assume(first)  # the recurrence set of a DTSTART that does not fit its rule is undefined
    low = first[0] + timedelta(days=SPANS[freq] * skip)
    high = low + timedelta(days=SPANS[freq])
    later = walls(text.replace("COUNT=", "X-COUNT="), first[0], high, high + timedelta(days=SPANS[freq]))
    assume(later)  # dateutil looks for one date more, as far as the year 9999
    until_high = takewhile(lambda wall: wall <= high, rrulestr(text, dtstart=first[0]))
    assert walls(text, first[0], low, high) == [wall for wall in islice(until_high, 50_000) if wall >= low]


@pytest.mark.parametrize(
    ("rule", "start", "expected"),
    [
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13;COUNT=3", "1998-02-13", ["1998-02-13", "1998-03-13", "1998-11-13"]),
        ("FREQ=MONTHLY;BYDAY=-2MO;COUNT=3", "1997-09-22", ["1997-09-22", "1997-10-20", "1997-11-17"]),
        ("FREQ=YEARLY;BYDAY=20MO;COUNT=3", "1997-05-19", ["1997-05-19", "1998-05-18", "1999-05-17"]),
        ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO;COUNT=3", "1997-05-12", ["1997-05-12", "1998-05-11", "1999-05-17"]),
        ("FREQ=YEARLY;INTERVAL=3;BYYEARDAY=1,100,200;COUNT=4", "1997-01-01",
         ["1997-01-01", "1997-04-10", "1997-07-19", "2000-01-01"]),
        ("FREQ=MONTHLY;BYDAY=TU,WE,TH;BYSETPOS=3;COUNT=3", "1997-09-04", ["1997-09-04", "1997-10-07", "1997-11-06"]),
        ("FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", "1996-11-05",
         ["1996-11-05", "2000-11-07", "2004-11-02"]),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05",
         ["1997-08-05", "1997-08-10", "1997-08-19", "1997-08-24"]),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05",
         ["1997-08-05", "1997-08-17", "1997-08-19", "1997-08-31"]),
        ("FREQ=MONTHLY;BYMONTHDAY=31;COUNT=3", "2026-01-31", ["2026-01-31", "2026-03-31", "2026-05-31"]),
        ("FREQ=YEARLY", "2020-02-29", ["2020-02-29", "2024-02-29"]),
        ("FREQ=YEARLY;BYWEEKNO=53", "2015-12-28", ["2015-12-28"]),
    ],
)  # fmt: skip
def test_the_examples_of_the_rfc_come_out(rule: str, start: str, expected: list[str]) -> None:
    first = datetime.fromisoformat(start)
    found = walls(rule, first, first, first + timedelta(days=3000))
    assert [wall.date().isoformat() for wall in found[: len(expected)]] == expected


def test_the_twenty_minute_rule_of_the_rfc_takes_few_steps() -> None:
    rule = "FREQ=MINUTELY;INTERVAL=20;BYHOUR=9,10,11,12,13,14,15,16"
    start = START.replace(hour=9)
    found = walls(rule, start, start, start + timedelta(days=365), steps=25_000)
    assert len(found) == 365 * 24 + 1
    assert (found[0].hour, found[-2].hour, found[-2].minute) == (9, 16, 40)


def test_the_first_date_counts_even_if_it_does_not_fit() -> None:
    monday = datetime(2026, 3, 2, 9)  # noqa: DTZ001 - a wall time
    found = walls("FREQ=WEEKLY;BYDAY=TU;COUNT=3", monday, monday, monday + timedelta(days=100))
    assert [wall.day for wall in found] == [2, 3, 10]


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=SECONDLY",
        "FREQ=SECONDLY;COUNT=2000000000",
        "FREQ=SECONDLY;BYSETPOS=2",
        "FREQ=MINUTELY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;COUNT=2000000000;BYSETPOS=366",
        "FREQ=DAILY;BYHOUR=" + ",".join(map(str, range(24))) + ";BYMINUTE=" + ",".join(map(str, range(60)))
        + ";BYSECOND=" + ",".join(map(str, range(60))) + ";BYSETPOS=-1",
        "FREQ=YEARLY;INTERVAL=999999999999;BYYEARDAY=366",
        "FREQ=HOURLY;INTERVAL=999999999999",
    ],
)  # fmt: skip
def test_no_rule_takes_more_steps_than_it_is_given(rule: str) -> None:
    budget = Budget(5_000)
    parsed = parse_rule(rule, UTC_ZONE, floating=False)
    found = list(repeats(parsed, START, START, START + timedelta(days=100_000), budget))
    assert len(found) <= 5_001
    assert budget.left >= -90_000  # one period may overdraw, but it is not worked through
    assert budget.is_spent or len(found) <= 2


def test_an_old_series_without_a_count_costs_no_more_than_a_new_one() -> None:
    low, high = datetime(2026, 1, 1), datetime(2027, 1, 1)  # noqa: DTZ001 - wall times
    found = walls("FREQ=DAILY", datetime(1600, 1, 1), low, high, steps=800)  # noqa: DTZ001 - a wall time
    assert len(found) == 366


@pytest.mark.parametrize(
    "rule",
    [
        "", "FREQ=SOMETIMES", "FREQ=DAILY;INTERVAL=0", "FREQ=DAILY;COUNT=0", "FREQ=DAILY;BYDAY=XX", "COUNT=3",
        "FREQ=MONTHLY;BYMONTHDAY=99", "FREQ=YEARLY;BYYEARDAY=0", "FREQ=DAILY;UNTIL=soon", "FREQ=DAILY;INTERVAL=two",
        "FREQ=YEARLY;RSCALE=HEBREW", "FREQ=MONTHLY;RSCALE=GREGORIAN;SKIP=FORWARD", "W1 MO TU #4",
    ],
)  # fmt: skip
def test_a_rule_that_means_nothing_is_refused_with_the_part_that_is_wrong(rule: str) -> None:
    with pytest.raises(PoisonError, match="the repetition rule is wrong") as refused:
        parse_rule(rule, UTC_ZONE, floating=False)
    assert refused.value.code == "bad_rule"


@pytest.mark.parametrize(
    "rule", ["FREQ=DAILY;COUNT=-1", "freq=daily", "FREQ=DAILY;", "FREQ=DAILY;X-JUNK=1;;", "FREQ=DAILY;WKST=ZZ"]
)
def test_sloppy_rules_that_can_only_mean_one_thing_are_read(rule: str) -> None:
    assert len(walls(rule, START, START, START + timedelta(days=9))) == 10
