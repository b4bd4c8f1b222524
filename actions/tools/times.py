"""meeting.times: when the owner is free, by what the history knows of their calendars. Nobody is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from actions.nominal import display
from actions.tools.agenda import Busy
from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas.clock import Clock, at_local
from schemas.errors import StepFailed
from schemas.model import Json
from schemas.value import Integrity

MOST = 5
DAYS = 60
MANIFEST = Manifest(
    name="meeting.times",
    version="1.0.0",
    description="Find times at which the owner is free.",
    says="Look for {minutes} free minutes between {earliest} and {latest}",
    args={
        "minutes": Arg(type="Minutes", says="how long"),
        "earliest": Arg(type="DateTime", says="not before"),
        "latest": Arg(type="DateTime", says="ended by then"),
    },
    returns={"start": "DateTime", "text": "Text", "count": "Number"},
    integrity_out=Integrity.SYSTEM,
    minted=("start", "text", "count"),
    effect="read",
    effect_class="pure",
    reversible="yes",
)


class MeetingTimes:
    """``hours``: the wall times between which the owner wants meetings, on working days."""

    manifest = MANIFEST

    def __init__(
        self, busy: Busy, zone: ZoneInfo, clock: Clock, hours: tuple[time, time] = (time(9), time(17))
    ) -> None:
        self._busy = busy
        self._zone = zone
        self._clock = clock
        self._hours = hours

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        earliest = max(datetime.fromisoformat(str(args["earliest"])), self._clock.now())
        latest = min(datetime.fromisoformat(str(args["latest"])), earliest + timedelta(days=DAYS))
        length = timedelta(minutes=float(str(args["minutes"])))
        taken = await self._busy.busy(earliest, latest) if earliest < latest else []
        found = free(taken, earliest, latest, length, self._zone, self._hours)[:MOST]
        if not found:
            raise StepFailed("there is no free time then", code="not_found", remedy="look at a longer span")
        shown = [display("DateTime", start.astimezone(self._zone).isoformat()) for start in found]
        return {"start": found[0].isoformat(), "text": "\n".join(shown), "count": len(found)}

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return None


def free(
    busy: Sequence[tuple[datetime, datetime]],
    earliest: datetime,
    latest: datetime,
    length: timedelta,
    zone: ZoneInfo,
    hours: tuple[time, time],
) -> list[datetime]:
    """Starts of times that are free, at half hours, in the wall hours of working days; one for each gap, in order."""
    found: list[datetime] = []
    for opens, closes in _days(earliest, latest, zone, hours):
        start = _rounded(max(opens, earliest))
        end = min(closes, latest)
        for began, ended in sorted(busy):
            if ended <= start or began >= end:
                continue
            if start + length <= began:
                found.append(start)
            start = max(start, _rounded(ended))
        if start + length <= end:
            found.append(start)
    return found


def _days(
    earliest: datetime, latest: datetime, zone: ZoneInfo, hours: tuple[time, time]
) -> Iterator[tuple[datetime, datetime]]:
    day = earliest.astimezone(zone).date()
    while day <= latest.astimezone(zone).date():
        if day.weekday() < 5:
            yield at_local(day, hours[0], zone), at_local(day, hours[1], zone)
        day += timedelta(days=1)


def _rounded(moment: datetime) -> datetime:
    """Up to the next half hour."""
    over = timedelta(minutes=moment.minute % 30, seconds=moment.second, microseconds=moment.microsecond)
    return moment + (timedelta(minutes=30) - over) if over else moment
