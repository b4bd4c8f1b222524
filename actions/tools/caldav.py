"""A calendar and a list of to-dos on a CalDAV server: objects of our own UID, edited as text, guarded by their ETag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Protocol
from zoneinfo import ZoneInfo

from actions.tools import ics
from actions.tools.agenda import Draft, Meeting, Task
from actions.tools.wire import Reply, settled
from schemas.clock import Clock
from schemas.errors import StepFailed

_ANSWERS = frozenset({"accepted", "declined", "tentative", "needs-action"})


@dataclass(frozen=True, slots=True)
class Found:
    """One object: ``text`` is the whole iCalendar object, ``url`` where it is."""

    url: str
    etag: str
    text: str


class Dav(Protocol):
    """One CalDAV account. Errors as in ``wire.Http.send``."""

    async def calendars(self, component: str) -> Sequence[str]:
        """The addresses of the calendars that hold VEVENT or VTODO, the owner's own first."""
        ...

    async def find(self, calendar: str, component: str, uid: str) -> Sequence[Found]:
        """The objects with this UID; NotSent where that cannot be asked now."""
        ...

    async def put(self, url: str, text: str, etag: str) -> Reply:
        """``etag`` "": only where there is nothing yet."""
        ...

    async def delete(self, url: str, etag: str) -> Reply: ...


def uid(key: str) -> str:
    return f"{key}@forewatch"


class CaldavAgenda:
    """``addresses``: the owner's own, which tell an invitation from a meeting of theirs."""

    def __init__(self, dav: Dav, zone: ZoneInfo, addresses: Sequence[str], clock: Clock) -> None:
        self._objects = _Objects(dav, "VEVENT", clock)
        self._zone = zone
        self._addresses = tuple(each.lower() for each in addresses)

    async def made(self, key: str) -> Meeting | None:
        return await self.find(uid(key))

    async def find(self, uid: str) -> Meeting | None:
        found = await self._objects.find(uid)
        return None if found is None else self._meeting(found.text, uid)

    async def create(self, draft: Draft, key: str) -> None:
        lines = [f"DTSTART:{ics.utc(draft.start)}", f"DTEND:{ics.utc(draft.end)}"]
        lines.append(f"SUMMARY:{ics.escaped(draft.title)}")
        lines += [f"DESCRIPTION:{ics.escaped(draft.note)}"] if draft.note else []
        lines += [f"LOCATION:{ics.escaped(draft.place)}"] if draft.place else []
        if draft.guests:
            lines += [f"ORGANIZER:mailto:{self._me()}"]
            lines += [f"ATTENDEE;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:{guest}" for guest in draft.guests]
        await self._objects.create(uid(key), lines)

    async def move(self, uid: str, start: datetime, end: datetime) -> None:
        found = await self._objects.must(uid)
        block = _single(found.text)
        changes = ics.moved(block, start, self._zone)
        await self._objects.replace(found, ics.with_properties(found.text, block, changes))

    async def cancel(self, uid: str) -> None:
        found = await self._objects.find(uid)
        if found is not None:
            await self._objects.delete(found)

    async def answer(self, uid: str, answer: str) -> None:
        found = await self._objects.must(uid)
        text = found.text
        for index in range(len(ics.blocks(text))):
            text = ics.with_attendee(text, ics.blocks(text)[index], self._invited(text), answer)
        await self._objects.replace(found, text, is_new=False)

    def _meeting(self, text: str, uid: str) -> Meeting:
        all_blocks = ics.with_value(text, "UID", uid)
        block = next((each for each in all_blocks if not each.has("RECURRENCE-ID")), all_blocks[0])
        people = {_address(value): params for name, params, value in block.lines if name == "ATTENDEE"}
        organiser = _address(block.value("ORGANIZER") or "")
        mine = next((params for address, params in people.items() if address in self._addresses), "")
        is_own = not organiser or organiser in self._addresses
        said = (ics.parameter(mine, "PARTSTAT") or "needs-action").lower()
        return Meeting(
            uid=uid,
            title=ics.unescaped(block.value("SUMMARY") or ""),
            start=_time(block, "DTSTART", self._zone),
            end=_end(block, self._zone),
            guests=tuple(each for each in people if each not in self._addresses and each != organiser),
            answer=said if mine and not is_own and said in _ANSWERS else "",
            is_own=is_own,
            repeats=len(all_blocks) > 1 or any(map(block.has, ("RRULE", "RDATE", "RECURRENCE-ID"))),
        )

    def _invited(self, text: str) -> str:
        people = [_address(value) for block in ics.blocks(text) for n, _, value in block.lines if n == "ATTENDEE"]
        return next(each for each in people if each in self._addresses)

    def _me(self) -> str:
        if not self._addresses:
            raise StepFailed(
                "the account does not say whose it is", code="invalid", remedy="set its addresses: accounts auth --set"
            )
        return self._addresses[0]


class CaldavTasks:
    def __init__(self, dav: Dav, clock: Clock) -> None:
        self._objects = _Objects(dav, "VTODO", clock)
        self._clock = clock

    async def made(self, key: str) -> Task | None:
        return await self.find(uid(key))

    async def find(self, uid: str) -> Task | None:
        found = await self._objects.find(uid)
        if found is None:
            return None
        block = ics.blocks(found.text, "VTODO")[0]
        status = (block.value("STATUS") or "needs-action").lower()
        return Task(uid, ics.unescaped(block.value("SUMMARY") or ""), status)

    async def create(self, title: str, note: str, due: str, key: str) -> None:
        lines = [f"SUMMARY:{ics.escaped(title)}", "STATUS:NEEDS-ACTION"]
        lines += [f"DESCRIPTION:{ics.escaped(note)}"] if note else []
        lines += [f"DUE;VALUE=DATE:{date.fromisoformat(due):%Y%m%d}"] if due else []
        await self._objects.create(uid(key), lines)

    async def mark(self, uid: str, status: str) -> None:
        found = await self._objects.must(uid)
        text = ics.without(found.text, ics.blocks(found.text, "VTODO")[0], "COMPLETED", "PERCENT-COMPLETE")
        changes = {"STATUS": f"STATUS:{status.upper()}"}
        if status == "completed":
            changes |= {
                "COMPLETED": f"COMPLETED:{ics.utc(self._clock.now())}",
                "PERCENT-COMPLETE": "PERCENT-COMPLETE:100",
            }
        await self._objects.replace(found, ics.with_properties(text, ics.blocks(text, "VTODO")[0], changes))


class _Objects:
    """Objects of one component, over all calendars of the account; new ones go into the first."""

    def __init__(self, dav: Dav, component: str, clock: Clock) -> None:
        self._dav = dav
        self._component = component
        self._clock = clock

    async def find(self, uid: str) -> Found | None:
        for calendar in await self._dav.calendars(self._component):
            for found in await self._dav.find(calendar, self._component, uid):
                if any(block.value("UID") == uid for block in ics.blocks(found.text, self._component)):
                    return found
        return None

    async def must(self, uid: str) -> Found:
        found = await self.find(uid)
        if found is None:
            raise StepFailed("it is not in the calendar", code="not_found")
        return found

    async def create(self, uid: str, lines: Sequence[str]) -> None:
        """An object that is there already, under an address that only we give, is ours."""
        calendars = await self._dav.calendars(self._component)
        if not calendars:
            raise StepFailed("the account has no calendar for that", code="not_found")
        stamped = [f"UID:{uid}", f"DTSTAMP:{ics.utc(self._clock.now())}", *lines]
        url = f"{calendars[0].rstrip('/')}/{uid.partition('@')[0]}.ics"
        settled(await self._dav.put(url, ics.inserted(ics.EMPTY, stamped, self._component), ""), passing={412})

    async def replace(self, found: Found, text: str, *, is_new: bool = True) -> None:
        """``is_new``: another revision of the thing itself, and not only of our answer."""
        blocks = ics.blocks(text, self._component)
        changes = {"DTSTAMP": f"DTSTAMP:{ics.utc(self._clock.now())}"}
        if is_new:
            sequence = blocks[0].value("SEQUENCE") or "0"
            changes["SEQUENCE"] = f"SEQUENCE:{int(sequence) + 1 if sequence.isdigit() else 1}"
        settled(await self._dav.put(found.url, ics.with_properties(text, blocks[0], changes), found.etag))

    async def delete(self, found: Found) -> None:
        settled(await self._dav.delete(found.url, found.etag), passing={404, 410})


def _single(text: str) -> ics.Block:
    found = ics.blocks(text)
    if len(found) != 1:
        raise StepFailed("the entry is a series", code="invalid", remedy="change the occurrence in your calendar")
    return found[0]


def _address(value: str) -> str:
    return value.strip().lower().removeprefix("mailto:")


def _time(block: ics.Block, name: str, zone: ZoneInfo) -> datetime:
    params, value = next(((params, value) for found, params, value in block.lines if found == name), ("", ""))
    return ics.instant(params, value, zone)


def _end(block: ics.Block, zone: ZoneInfo) -> datetime:
    """DTEND, else DTSTART and DURATION; a day where neither is said of a day."""
    if block.has("DTEND"):
        return _time(block, "DTEND", zone)
    start = _time(block, "DTSTART", zone)
    if block.has("DURATION"):
        return start + ics.duration(block.value("DURATION") or "")
    return start + timedelta(days=1) if len(block.value("DTSTART") or "") == 8 else start
