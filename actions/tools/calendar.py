"""calendar.add and calendar.move: entries in the owner's .ics file, under a lock, replaced whole."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from actions.plain import clean
from actions.tools import ics
from actions.tools.folder import Folder
from actions.tools.notify import TEN_YEARS_S
from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas.clock import Clock
from schemas.errors import StepFailed
from schemas.model import Json
from schemas.plan import Ref, Undo
from schemas.value import Integrity

KEY, FROM = "X-FOREWATCH-KEY", "X-FOREWATCH-FROM"

ADD = Manifest(
    name="calendar.add",
    version="1.0.0",
    description="Add an entry to the owner's calendar file.",
    says="Add “{title}” to your calendar: {day}{start}",
    args={
        "title": Arg(type="Text", says="what"),
        "day": Arg(type="Date", required=False, says="the whole day"),
        "start": Arg(type="DateTime", required=False, says="or from this instant"),
        "minutes": Arg(type="Number", required=False, says="how long, 30 if not said"),
        "note": Arg(type="Text", required=False, says="description"),
    },
    returns={"event_id": "EventId"},
    integrity_out=Integrity.SYSTEM,
    minted=("event_id",),
    effect="write_self",
    effect_class="keyed",
    key_ttl_s=TEN_YEARS_S,
    look_up=True,
    settle_s=35.0,
    reversible="yes",
    permissions={"files": ("calendar",)},
)
MOVE = Manifest(
    name="calendar.move",
    version="1.0.0",
    description="Move an entry of the owner's calendar file; its length stays.",
    says="Move the calendar entry {event_id} to {start}",
    args={
        "event_id": Arg(type="EventId", says="which entry"),
        "start": Arg(type="DateTime", says="its new start"),
    },
    returns={"event_id": "EventId", "previous_start": "DateTime"},
    integrity_out=Integrity.SYSTEM,
    minted=("event_id", "previous_start"),
    effect="write_self",
    effect_class="keyed",
    key_ttl_s=TEN_YEARS_S,
    look_up=True,
    settle_s=35.0,
    undo=Undo(
        tool="calendar.move",
        args={"event_id": Ref(step="self", field="event_id"), "start": Ref(step="self", field="previous_start")},
    ),
    reversible="yes",
    permissions={"files": ("calendar",)},
)


class CalendarFile:
    """One .ics file. ``zone`` is the owner's, for floating times. Other programs are kept out only if they lock too;
    a reader sees the old file or the new one, whole."""

    def __init__(self, file: Path, zone: ZoneInfo) -> None:
        self._folder = Folder(file.parent)
        self._name = file.name
        self.zone = zone

    def read(self) -> str:
        raw = self._folder.read(self._name)
        return ics.EMPTY if raw is None else raw.decode("utf-8", "surrogateescape")

    def write(self, text: str) -> None:
        self._folder.replace(self._name, text.encode("utf-8", "surrogateescape"))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Blocks until other writers of ours are done; the lock dies with its holder."""
        self._folder.ensure()
        with open(self._folder.root / f".{self._name}.lock", "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


class CalendarAdd:
    """The entry's UID comes from the key, so the same step never makes a second one."""

    manifest = ADD

    def __init__(self, calendar: CalendarFile, clock: Clock) -> None:
        self._calendar = calendar
        self._clock = clock

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        return await asyncio.to_thread(self._add, args, key)

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        text = await asyncio.to_thread(self._calendar.read)
        return {"event_id": uid(key)} if ics.with_value(text, "UID", uid(key)) else None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        text = await asyncio.to_thread(self._calendar.read)
        found = ics.with_value(text, "UID", uid(key))
        wanted = self._times(args)[0].rpartition(":")[2]
        if not found or found[0].value("DTSTART") != wanted or found[0].value("SUMMARY") != _title(args):
            return None
        return Receipt(what="the entry, read back", where=uid(key), details={"start": wanted})

    def _add(self, args: Args, key: str) -> dict[str, Json]:
        start, end = self._times(args)
        with self._calendar.locked():
            text = self._calendar.read()
            if not ics.with_value(text, "UID", uid(key)):
                lines = [f"UID:{uid(key)}", f"DTSTAMP:{ics.utc(self._clock.now())}", start, end]
                lines += [f"SUMMARY:{_title(args)}", *_note(args), f"{KEY}:{key}"]
                self._calendar.write(ics.inserted(text, lines))
        return {"event_id": uid(key)}

    def _times(self, args: Args) -> tuple[str, str]:
        if args.get("day"):
            return ics.on_day(date.fromisoformat(str(args["day"])))
        if not args.get("start"):
            raise StepFailed("an entry needs a day or a start", code="invalid")
        start = datetime.fromisoformat(str(args["start"]))
        end = start + timedelta(minutes=_minutes(args))
        return f"DTSTART:{ics.utc(start)}", f"DTEND:{ics.utc(end)}"


class CalendarMove:
    """The moved entry carries the key and where it came from, so a second call finds its own work done.

    Refuses a series and one occurrence of a series: what to do with the others is the person's to say.
    """

    manifest = MOVE

    def __init__(self, calendar: CalendarFile, clock: Clock) -> None:
        self._calendar = calendar
        self._clock = clock

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        return await asyncio.to_thread(self._move, args, key)

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return self._moved(await asyncio.to_thread(self._calendar.read), key)

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        text = await asyncio.to_thread(self._calendar.read)
        found = ics.with_value(text, KEY, key)
        wanted = datetime.fromisoformat(str(args["start"]))
        if not found or _start(found[0], self._calendar.zone) != wanted:
            return None
        return Receipt(what="the entry, read back", where=str(args["event_id"]), details={"start": wanted.isoformat()})

    def _moved(self, text: str, key: str) -> dict[str, Json] | None:
        found = ics.with_value(text, KEY, key)
        if not found or found[0].value(FROM) is None:
            return None
        before = ics.instant("", str(found[0].value(FROM)), self._calendar.zone)
        return {"event_id": found[0].value("UID"), "previous_start": before.isoformat()}

    def _move(self, args: Args, key: str) -> dict[str, Json]:
        with self._calendar.locked():
            text = self._calendar.read()
            done = self._moved(text, key)
            if done is None:
                self._calendar.write(self._edited(text, args, key))
                done = self._moved(self._calendar.read(), key)
        if done is None:
            raise StepFailed("the entry could not be read back", code="conflict")
        return done

    def _edited(self, text: str, args: Args, key: str) -> str:
        block = _single(text, str(args["event_id"]))
        zone, new = self._calendar.zone, datetime.fromisoformat(str(args["start"]))
        changes = ics.moved(block, new, zone)
        sequence = block.value("SEQUENCE") or "0"
        changes["SEQUENCE"] = f"SEQUENCE:{int(sequence) + 1 if sequence.isdigit() else 1}"
        changes["DTSTAMP"] = f"DTSTAMP:{ics.utc(self._clock.now())}"
        changes[KEY], changes[FROM] = f"{KEY}:{key}", f"{FROM}:{ics.utc(_start(block, zone))}"
        return ics.with_properties(text, block, changes)


def uid(key: str) -> str:
    return f"{key}@forewatch"


def _single(text: str, event_id: str) -> ics.Block:
    found = ics.with_value(text, "UID", event_id)
    if not found:
        raise StepFailed(f"the calendar has no entry {clean(event_id, 80)}", code="not_found")
    if len(found) > 1 or found[0].has("RRULE") or found[0].has("RECURRENCE-ID") or found[0].has("RDATE"):
        raise StepFailed("the entry is a series", code="invalid", remedy="move the occurrence in your calendar program")
    return found[0]


def _start(block: ics.Block, zone: ZoneInfo) -> datetime:
    params, value = next(((p, v) for name, p, v in block.lines if name == "DTSTART"), ("", ""))
    return ics.instant(params, value, zone)


def _title(args: Args) -> str:
    return ics.escaped(clean(str(args["title"]), 200))


def _note(args: Args) -> list[str]:
    return [f"DESCRIPTION:{ics.escaped(clean(str(args['note']), 2000))}"] if args.get("note") else []


def _minutes(args: Args) -> float:
    given = args.get("minutes")
    return float(given) if isinstance(given, int | float) and 0 < given <= 60 * 24 * 31 else 30.0
