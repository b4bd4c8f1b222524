"""What a person says once for everything to come: stop everything, go on, allow this ahead, allow it no longer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter, ValidationError

from actions import nominal
from actions.journal import Draft
from actions.policy.destination import TYPES, canonical
from actions.policy.experience import STREAM
from actions.policy.permission import LONGEST, Permission
from actions.policy.rules import LEAVES
from actions.proposal.book import Book
from actions.setup import Setup
from actions.tools.tool import Manifest
from schemas import ids
from schemas.clock import local_day
from schemas.command import Command
from schemas.errors import Refused
from schemas.journal import EntryType, JournalEntry
from schemas.model import Json
from schemas.money import Money
from schemas.value import Value

_INSTANT: TypeAdapter[datetime] = TypeAdapter(datetime)


def obey(book: Book, command: Command, now: datetime, setup: Setup) -> Draft:
    match command.verb:
        case "stop_everything":
            return _entry(command, now, "acting.stopped", {"reason": command.args.get("reason", "")})
        case "resume_everything":
            if not book.experience.stopped:
                raise Refused("nothing is stopped", code="not_stopped", remedy="")
            return _entry(command, now, "acting.resumed", {})
        case "allow":
            permission = _permission(command, now, setup)
            _must_be_new(book, permission, now, setup.settings.zone)
            return _entry(command, now, "permission.allowed", {"permission": permission.model_dump(mode="json")})
        case "revoke":
            return _entry(
                command, now, "permission.revoked", {"id": _named(book, command), "reason": "you took it back"}
            )
    raise Refused(f"{command.verb} is about one proposal", code="bad_argument", remedy="name the proposal")


def admits(book: Book, drafts: Sequence[Draft]) -> bool:
    """May these be written? No intent comes after everything was stopped, and no question to a model; no plan of a
    model to a proposal that was closed or renewed while it was asked; whatever was decided just before it."""
    stopped = book.experience.stopped and any(draft.type in ("step.intent", "model.asked") for draft in drafts)
    return not stopped and not any(_is_outdated(book, draft) for draft in drafts)


def _is_outdated(book: Book, draft: Draft) -> bool:
    planning = draft.body.get("planning_over")
    state = book.proposals.get(draft.stream)
    return planning is not None and (state is None or state.planning is None or state.planning.id != planning)


def is_news_for_all(entry: JournalEntry) -> bool:
    """Does this entry change what every run may do?"""
    return entry.stream == STREAM


def _entry(command: Command, now: datetime, type_: EntryType, body: dict[str, Json]) -> Draft:
    more: dict[str, Json] = {"channel": command.channel}
    return Draft(STREAM, type_, now, f"person:{command.who}", command.id, body | more)


def _named(book: Book, command: Command) -> str:
    wanted = str(command.args.get("id", ""))
    levels = [name for name, track in book.experience.tracks.items() if track.level != "ask"]
    found = [name for name in (*book.experience.permissions, *levels) if wanted and name.startswith(wanted)]
    if len(found) != 1:
        raise Refused(
            f"there is no one permission {wanted!r}",
            code="unknown_permission",
            remedy="see 'forewatch permissions list'",
        )
    return found[0]


def _permission(command: Command, now: datetime, setup: Setup) -> Permission:
    """Everything about it must be said: a permission never comes from an example or a default."""
    given = command.args
    manifest = setup.tools.manifest(str(given.get("tool", "")))
    type_ = destination_type(manifest)
    assert manifest is not None
    to = given.get("to")
    if wrong := nominal.fault(type_, to):
        raise Refused(f"to {wrong}", code="bad_value", remedy="name the exact destination")
    made: dict[str, object] = {
        "id": ids.content_hash("permission", command.id)[:12],
        "tool": manifest.name,
        "type": type_,
        "to": canonical(Value(v=to, type=type_)),
        "cap": _money(given.get("cap"), "cap"),
        "cap_period": _money(given.get("cap_period"), "cap_period"),
        "times": given.get("times", 1),
        "period": given.get("period", "month"),
        "expires_at": _ends(given.get("expires_at"), now),
        "by": command.who,
        "channel": command.channel,
        "made_at": now,
    }
    _must_be_capped(manifest, made)
    try:
        return Permission.model_validate(made)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, fault["loc"]))
        raise Refused(f"{where}: {fault['msg']}", code="bad_argument", remedy="correct it") from error


def _must_be_new(book: Book, wanted: Permission, now: datetime, zone: ZoneInfo) -> None:
    """Said twice, as after a crash that took the answer, it would allow twice as much."""
    own = {"id", "expires_at", "by", "channel", "made_at"}
    for standing in book.experience.permissions.values():
        same = standing.permission.model_dump(exclude=own) == wanted.model_dump(exclude=own)
        if same and standing.stands(now):
            until = local_day(standing.permission.expires_at, zone)
            told = f"this is allowed already, as {standing.permission.id}, until {until}"
            raise Refused(told, code="exists", remedy="to prolong it, take that one back first; for more, give --times")


def destination_type(manifest: Manifest | None) -> str:
    """Of the one argument that says where the tool's effect goes."""
    if manifest is None:
        remedy = "see docs/reference/toolbox.md; a tool of an account is there once 'accounts auth --allow' granted it"
        raise Refused("there is no such tool here", code="unknown_tool", remedy=remedy)
    if manifest.effect not in LEAVES:
        message = f"{manifest.name} needs no permission: its effect stays with you"
        raise Refused(message, code="not_needed", remedy="")
    types = [arg.type for arg in manifest.args.values() if arg.type in TYPES and arg.role in ("destination", "url")]
    if len(types) != 1:
        message = f"{manifest.name} does not name exactly one destination, so it cannot be allowed ahead"
        raise Refused(message, code="not_exact", remedy="confirm each step instead")
    return types[0]


def _must_be_capped(manifest: Manifest, made: dict[str, object]) -> None:
    moves_money = any(arg.type == "Money" for arg in manifest.args.values())
    if moves_money and made["cap"] is None:
        raise Refused("up to which amount?", code="no_cap", remedy='give cap as {"amount": "50.00", "currency": "EUR"}')
    if not moves_money and (made["cap"] or made["cap_period"]):
        raise Refused(f"{manifest.name} moves no money, so no cap can hold", code="bad_argument", remedy="leave it out")


def _money(given: Json, name: str) -> Money | None:
    if given is None:
        return None
    if wrong := nominal.fault("Money", given):
        raise Refused(f"{name} {wrong}", code="bad_value", remedy="correct the amount")
    money = Money.model_validate(given)
    if money.amount <= 0:
        raise Refused(f"{name} must be more than nothing", code="bad_value", remedy="correct the amount")
    return money


def _ends(given: Json, now: datetime) -> datetime:
    try:
        ends = _INSTANT.validate_python(given)
    except ValidationError as error:
        raise Refused("until when?", code="bad_argument", remedy="give expires_at as an ISO instant") from error
    if ends.tzinfo is None or not now < ends <= now + LONGEST:
        message = f"it must end within {LONGEST // timedelta(days=1)} days"
        raise Refused(message, code="bad_argument", remedy="give an instant in the future, with its offset")
    return ends
