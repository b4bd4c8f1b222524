"""What docs/reference/rules.md says of windows, computed afresh from everything that was seen: slow, and obvious."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import pairwise
from statistics import median
from typing import Any
from zoneinfo import ZoneInfo

Span = tuple[datetime, datetime]
Standing = set[tuple[str, datetime, datetime]]
"""Key, start and end of each window of which a trigger stands."""
HISTORY = 24


@dataclass(frozen=True)
class Thing:
    """``at`` when it occurred, ``seen`` when we saw it; ``corrected``: when we saw another value; ``gone``: when the
    source took it back."""

    name: int
    account: str
    at: datetime
    seen: datetime
    cents: int
    corrected: tuple[datetime, int] | None = None
    gone: datetime | None = None


# --- the calendar ----------------------------------------------------------------------------------------------------


@cache
def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The first instant of a local day, found by looking at each quarter of an hour."""
    at = datetime.combine(day, time(0), tzinfo=UTC) - timedelta(hours=15)
    while at.astimezone(zone).date() < day:
        at += timedelta(minutes=15)
    return at


def later(at: datetime, length: str, zone: ZoneInfo) -> datetime:
    """Days keep the time of day, hours are exact."""
    count, unit = int(length[:-1]), length[-1]
    if unit == "h":
        return at + timedelta(hours=count)
    local = at.astimezone(zone)
    day = local.date() + timedelta(days=count)
    return datetime.combine(day, local.time(), tzinfo=zone).replace(fold=local.fold).astimezone(UTC)


@cache
def box(over: str, at: datetime, zone: ZoneInfo) -> Span:
    """The calendar window of an instant."""
    day = at.astimezone(zone).date()
    if over.startswith("every") and over.endswith("h"):
        hours = int(over[6:-1])
        edges = [midnight(day, zone) + timedelta(hours=n) for n in range(0, 24, hours)]
        edges = [edge for edge in edges if edge < midnight(day + timedelta(days=1), zone)]
        edges.append(midnight(day + timedelta(days=1), zone))
        return next(span for span in pairwise(edges) if span[0] <= at < span[1])
    if over == "month":
        first, after = day.replace(day=1), date(day.year + day.month // 12, day.month % 12 + 1, 1)
    elif over == "week":
        first = day - timedelta(days=day.weekday())
        after = first + timedelta(days=7)
    else:
        days = 1 if over == "day" else int(over[6:-1])
        first = day - timedelta(days=(day - date(1970, 1, 5)).days % days)
        after = first + timedelta(days=days)
    return midnight(first, zone), midnight(after, zone)


# --- the detectors ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A rule: ``name`` of its detector, its settings, and how late things may be."""

    name: str
    setting: dict[str, Any]
    zone: ZoneInfo
    lateness: timedelta

    @property
    def over(self) -> str:
        return str(self.setting["over"])

    @property
    def is_aligned(self) -> bool:
        return not self.slides and not self.over.startswith("session")

    @property
    def slides(self) -> bool:
        return self.over[0].isdigit()

    @property
    def length(self) -> str:
        return self.over.rpartition(" ")[2]

    @property
    def compares(self) -> bool:
        return self.name in ("spike", "drop")

    @property
    def waits(self) -> bool:
        """It can only be told when a window is over."""
        if self.name == "mean":
            return not self.slides
        return self.name == "drop" or "below" in self.setting or "at_most" in self.setting

    def closes(self, at: datetime) -> datetime:
        """When what occurred then is too late."""
        end = box(self.over, at, self.zone)[1] if self.is_aligned else later(at, self.length, self.zone)
        return end + self.lateness

    def amount(self, things: Iterable[Known]) -> float:
        """In cents, or how many."""
        known = list(things)
        if "distinct" in self.setting:
            return len({thing.cents for thing in known})
        return sum(thing.cents for thing in known) if "value" in self.setting else len(known)

    def holds(self, things: list[Known]) -> bool:
        amount = self.amount(things)
        if self.name == "sum":
            amount /= 100
        if self.name == "mean":
            if len(things) < self.setting["min_count"]:
                return False
            amount /= 100 * len(things)
        if self.name == "rate":
            window, per = (timedelta(hours=int(one[:-1]) * (24 if one[-1] == "d" else 1)) for one in
                           (self.length, self.setting["per"]))  # fmt: skip
            amount /= window / per
        tests = {
            "at_least": lambda bound: amount >= bound,
            "above": lambda bound: amount > bound,
            "below": lambda bound: amount < bound,
            "at_most": lambda bound: amount <= bound,
        }
        return all(test(self.setting[bound]) for bound, test in tests.items() if bound in self.setting)

    def stands_out(self, amount: float, history: list[float]) -> bool:
        if len(history) < self.setting["min_history"] or median(history) <= 0:
            return False
        middle, times, floor = median(history), self.setting["times"], self.setting["floor"]
        floor *= 100 if "value" in self.setting else 1
        return amount >= max(times * middle, floor) if self.name == "spike" else times * amount <= middle >= floor


@dataclass(frozen=True)
class Known:
    at: datetime
    cents: int


def standing(asked: Asked, things: Iterable[Thing], now: datetime) -> Standing:
    """Of which windows a trigger stands."""
    by_key: dict[str, list[Thing]] = {}
    for thing in things:
        if thing.seen <= now and (asked.compares or thing.seen < asked.closes(thing.at)):
            by_key.setdefault(thing.account if asked.setting["by"] else "all", []).append(thing)
    find = _compared if asked.compares else _slides if asked.slides else _boxes if asked.is_aligned else _runs
    return {(key, *span) for key, ever in by_key.items() for span in find(asked, ever, now)}


def _known(asked: Asked, things: Iterable[Thing], now: datetime) -> list[Known]:
    """What counts now, by time: the newest version of what was not taken back."""
    found = []
    for thing in things:
        cents = thing.cents
        if thing.corrected is not None and thing.corrected[0] <= now:
            in_time = asked.compares or thing.corrected[0] < asked.closes(thing.at)
            cents = thing.corrected[1] if in_time else cents
        if thing.gone is None or thing.gone > now:
            found.append(Known(thing.at, cents))
    return sorted(found, key=lambda known: known.at)


def _inside(known: list[Known], span: Span) -> list[Known]:
    return [thing for thing in known if span[0] <= thing.at < span[1]]


def _may_tell(asked: Asked, ever: list[Thing], span: Span, now: datetime) -> bool:
    """Of too little: when the window is over, if the key was known before that, but not of its first window."""
    first = min(box(asked.over, thing.at, asked.zone)[0] for thing in ever)
    return min(thing.seen for thing in ever) < span[1] + asked.lateness <= now and span[0] != first


def _watched(asked: Asked, known: list[Known]) -> set[Span]:
    """The windows that hold something and, of too little, one after each of them."""
    held = {box(asked.over, thing.at, asked.zone) for thing in known}
    return held | {box(asked.over, end, asked.zone) for _, end in held} if asked.waits else held


def _boxes(asked: Asked, ever: list[Thing], now: datetime) -> Iterable[Span]:
    known = _known(asked, ever, now)
    for span in _watched(asked, known):
        if (not asked.waits or _may_tell(asked, ever, span, now)) and asked.holds(_inside(known, span)):
            yield span


def _compared(asked: Asked, ever: list[Thing], now: datetime) -> Iterable[Span]:
    """Against the median of up to 24 windows before it, empty ones too, without the first of all."""
    known = _known(asked, ever, now)
    first = min(box(asked.over, thing.at, asked.zone)[0] for thing in ever)
    for span in _watched(asked, known):
        history: list[float] = []
        before = span
        while len(history) < HISTORY and before[0] > first:
            before = box(asked.over, before[0] - timedelta(seconds=1), asked.zone)
            if before[0] > first:
                history.append(asked.amount(_inside(known, before)))
        if (not asked.waits or _may_tell(asked, ever, span, now)) and asked.stands_out(
            asked.amount(_inside(known, span)), history
        ):
            yield span


def _runs(asked: Asked, ever: list[Thing], now: datetime) -> Iterable[Span]:
    """Sessions: as long as the next one comes before the gap has passed."""
    run: list[Known] = []
    for thing in [*_known(asked, ever, now), None]:
        if run and (thing is None or thing.at >= later(run[-1].at, asked.length, asked.zone)):
            closes = asked.closes(run[-1].at)
            is_over = min(other.seen for other in ever) < closes <= now
            if (is_over or not asked.waits) and asked.holds(run):
                yield run[0].at, run[-1].at
            run = []
        if thing is not None:
            run.append(thing)


def _slides(asked: Asked, ever: list[Thing], now: datetime) -> Iterable[Span]:
    """The time up to each event; such windows that hold and overlap are one, named by the end of the last."""
    known = _known(asked, ever, now)
    hits = [
        end.at
        for end in known
        if asked.holds([one for one in known if one.at <= end.at < later(one.at, asked.length, asked.zone)])
    ]
    while hits:
        last = hits.pop(0)
        while hits and hits[0] < later(last, asked.length, asked.zone):
            last = hits.pop(0)
        yield last, last
