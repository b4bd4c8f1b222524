"""meeting.create, invite, move, reschedule, cancel, answer: entries of the calendar at a provider.

What only the owner sees is told apart from what others are told of: an entry with guests is moved by a tool of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from actions.plain import clean, clean_lines
from actions.tools.agenda import Agendas, Draft, Meeting
from actions.tools.kept import Kept
from actions.tools.notify import TEN_YEARS_S
from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas.errors import NotSent, OutcomeUnknown, RateLimited, StepFailed
from schemas.model import Json
from schemas.plan import Ref, Undo
from schemas.value import Integrity

T = TypeVar("T")
ACCOUNT = Arg(type="AccountId", required=False, says="in which account; not needed where only one may be changed")
_UNSENT = Undo(
    tool="meeting.cancel",
    args={"event_id": Ref(step="self", field="event_id"), "account": Ref(step="self", field="account")},
)


def changing(**more: Any) -> Manifest:
    """What all tools of an account's calendar have in common: done once for a key, found again, read back."""
    common: dict[str, Any] = {
        "version": "1.0.0",
        "integrity_out": Integrity.SYSTEM,
        "effect_class": "keyed",
        "key_ttl_s": TEN_YEARS_S,
        "look_up": True,
        "timeout_s": 60.0,
        "settle_s": 180.0,
        "permissions": {"scopes": ("calendar:write",), "hosts": ("the calendar server of the account",)},
    }
    return Manifest.model_validate({**common, **more})


_WHAT = {
    "title": Arg(type="Text", says="what"),
    "start": Arg(type="DateTime", says="from when"),
    "minutes": Arg(type="Minutes", required=False, says="how long, 30 if not said"),
    "note": Arg(type="Text", required=False, says="description"),
    "place": Arg(type="Text", required=False, says="where"),
}
_WHICH = {"event_id": Arg(type="EventId", says="which entry"), "account": ACCOUNT}
_MADE = {"event_id": "EventId", "account": "AccountId"}

CREATE = changing(
    name="meeting.create",
    description="Put an entry without guests into the owner's calendar.",
    says="Put “{title}” into your calendar: {start}",
    args={**_WHAT, "account": ACCOUNT},
    returns=_MADE,
    minted=("event_id",),
    effect="write_self",
    undo=_UNSENT,
    reversible="yes",
)
INVITE = changing(
    name="meeting.invite",
    description="Put a meeting into the owner's calendar and invite its guests.",
    says="Invite {guest} to “{title}”: {start}",
    args={**_WHAT, "guest": Arg(type="Email", says="whom"), "account": ACCOUNT},
    open_args="guest.",
    returns=_MADE,
    minted=("event_id",),
    effect="outbound",
    hold_s=60.0,
    undo=_UNSENT,
    reversible="until it begins",
)
_MOVES: dict[str, Any] = {
    "args": {**_WHICH, "start": Arg(type="DateTime", says="its new start; its length stays")},
    "returns": {**_MADE, "previous_start": "DateTime"},
    "minted": ("previous_start",),
}


def _back(tool: str) -> Undo:
    args = {"event_id": "event_id", "start": "previous_start", "account": "account"}
    return Undo(tool=tool, args={name: Ref(step="self", field=field) for name, field in args.items()})


MOVE = changing(
    name="meeting.move",
    description="Move an entry of the owner's that has no guests.",
    says="Move the entry {event_id} to {start}",
    effect="write_self",
    undo=_back("meeting.move"),
    reversible="yes",
    **_MOVES,
)
RESCHEDULE = changing(
    name="meeting.reschedule",
    description="Move a meeting of the owner's; its guests are told.",
    says="Move the meeting {event_id} to {start} and tell its guests",
    effect="outbound",
    hold_s=60.0,
    undo=_back("meeting.reschedule"),
    reversible="until it begins",
    **_MOVES,
)
CANCEL = changing(
    name="meeting.cancel",
    description="Take an entry of the owner's out of the calendar; guests are told.",
    says="Cancel the entry {event_id}",
    args=_WHICH,
    returns={"event_id": "EventId"},
    effect="delete",
    hold_s=60.0,
)
ANSWER = changing(
    name="meeting.answer",
    description="Answer an invitation; the one who invited is told.",
    says="Answer the invitation {event_id}: {answer}",
    args={**_WHICH, "answer": Arg(type="Answer", says="accepted, declined or tentative")},
    returns={**_MADE, "previous_answer": "Answer"},
    minted=("previous_answer",),
    effect="outbound",
    hold_s=30.0,
    undo=Undo(
        tool="meeting.answer",
        args={
            "event_id": Ref(step="self", field="event_id"),
            "answer": Ref(step="self", field="previous_answer"),
            "account": Ref(step="self", field="account"),
        },
    ),
    reversible="until it begins",
)


class MeetingCreate:
    """Also ``meeting.invite``: the guests are what is different."""

    def __init__(self, agendas: Agendas, manifest: Manifest = CREATE) -> None:
        self.manifest = manifest
        self._agendas = agendas

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        draft = _draft(args)
        async with self._agendas.agenda(_account(args)) as agenda:
            await agenda.create(draft, key)
            made = await read_back(agenda.made(key))
        return {"event_id": made.uid, "account": _account(args)}

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        async with self._agendas.agenda(_account(args)) as agenda:
            made = await agenda.made(key)
        return None if made is None else {"event_id": made.uid, "account": _account(args)}

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        async with self._agendas.agenda(_account(args)) as agenda:
            made, wanted = await agenda.made(key), _draft(args)
        if made is None or (made.title, made.start, made.end) != (wanted.title, wanted.start, wanted.end):
            return None
        if {guest.lower() for guest in made.guests} != {guest.lower() for guest in wanted.guests}:
            return None
        details: dict[str, Json] = {"start": made.start.isoformat(), "guests": list(made.guests)}
        return Receipt(what="the entry, read back", where=made.uid, details=details)


class MeetingMove:
    """Also ``meeting.reschedule``. What it was before is kept, so that a second call gives the same answer."""

    def __init__(self, agendas: Agendas, kept: Kept, manifest: Manifest = MOVE) -> None:
        self.manifest = manifest
        self._agendas = agendas
        self._kept = kept

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        start = _instant(args["start"])
        async with self._agendas.agenda(_account(args)) as agenda:
            found = _own(await agenda.find(str(args["event_id"])))
            if found.guests and self.manifest.effect == "write_self":
                raise StepFailed("the meeting has guests", code="invalid", remedy="use meeting.reschedule")
            out = await self._kept.keep(key, {**_which(args), "previous_start": found.start.isoformat()})
            if found.start != start:
                await agenda.move(found.uid, start, start + (found.end - found.start))
        return out

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        out = await self._kept.recall(key)
        return out if out is not None and await self._is_there(args) else None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        if not await self._is_there(args):
            return None
        return Receipt(what="the entry, read back", where=str(args["event_id"]), details={"start": args["start"]})

    async def _is_there(self, args: Args) -> bool:
        async with self._agendas.agenda(_account(args)) as agenda:
            found = await agenda.find(str(args["event_id"]))
        return found is not None and found.start == _instant(args["start"])


class MeetingCancel:
    """What is gone already is not ours: the key is kept before anything is taken away."""

    manifest = CANCEL

    def __init__(self, agendas: Agendas, kept: Kept) -> None:
        self._agendas = agendas
        self._kept = kept

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        uid = str(args["event_id"])
        async with self._agendas.agenda(_account(args)) as agenda:
            if (out := await self._kept.recall(key)) is None:
                _own(await agenda.find(uid))
                out = await self._kept.keep(key, {"event_id": uid})
            await agenda.cancel(uid)
        return out

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        out = await self._kept.recall(key)
        return out if out is not None and await self._is_gone(args) else None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        gone = await self._is_gone(args)
        return Receipt(what="the entry is gone from the calendar", where=str(args["event_id"])) if gone else None

    async def _is_gone(self, args: Args) -> bool:
        async with self._agendas.agenda(_account(args)) as agenda:
            return await agenda.find(str(args["event_id"])) is None


class MeetingAnswer:
    manifest = ANSWER

    def __init__(self, agendas: Agendas, kept: Kept) -> None:
        self._agendas = agendas
        self._kept = kept

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        answer = str(args["answer"])
        async with self._agendas.agenda(_account(args)) as agenda:
            found = await agenda.find(str(args["event_id"]))
            if found is None:
                raise StepFailed("the invitation is not in the calendar", code="not_found")
            if found.is_own or not found.answer:
                raise StepFailed("nobody asked for an answer to it", code="invalid")
            out = await self._kept.keep(key, {**_which(args), "previous_answer": found.answer})
            if found.answer != answer:
                await agenda.answer(found.uid, answer)
        return out

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        out = await self._kept.recall(key)
        return out if out is not None and await self._is_so(args) else None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        if not await self._is_so(args):
            return None
        what = "the answer in the calendar, read back"
        return Receipt(what=what, where=str(args["event_id"]), details={"answer": args["answer"]})

    async def _is_so(self, args: Args) -> bool:
        async with self._agendas.agenda(_account(args)) as agenda:
            found = await agenda.find(str(args["event_id"]))
        return found is not None and found.answer == str(args["answer"])


async def read_back(made: Awaitable[T | None]) -> T:
    """What was just created. A read that fails or finds nothing yet must not say that nothing was sent."""
    try:
        found = await made
    except (NotSent, RateLimited) as error:
        raise OutcomeUnknown(f"created, and not read back: {error.message}") from error
    if found is None:
        raise OutcomeUnknown("created, and not to be seen")
    return found


def _account(args: Args) -> str:
    return str(args.get("account") or "")


def _which(args: Args) -> dict[str, Json]:
    return {"event_id": str(args["event_id"]), "account": _account(args)}


def _instant(value: Json) -> datetime:
    return datetime.fromisoformat(str(value))


def _draft(args: Args) -> Draft:
    start = _instant(args["start"]).replace(microsecond=0)
    given = args.get("minutes")
    minutes = float(given) if isinstance(given, int | float) else 30.0
    guests = [str(value) for name, value in sorted(args.items()) if name == "guest" or name.startswith("guest.")]
    return Draft(
        title=clean(str(args["title"]), 200),
        start=start,
        end=start + timedelta(seconds=round(minutes * 60)),
        note=clean_lines(str(args.get("note") or ""), 2000),
        place=clean(str(args.get("place") or ""), 200),
        guests=tuple(dict.fromkeys(guests)),
    )


def _own(found: Meeting | None) -> Meeting:
    if found is None:
        raise StepFailed("the entry is not in the calendar", code="not_found")
    if found.repeats:
        raise StepFailed("the entry is a series", code="invalid", remedy="change the occurrence in your calendar")
    if not found.is_own:
        raise StepFailed("somebody else called this meeting", code="denied", remedy="answer the invitation instead")
    return found
