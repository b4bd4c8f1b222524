"""Which calendars a Microsoft account has, and whose they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from extractors.graph import Graph, Item, text_of
from extractors.text import one_line
from schemas.errors import AuthError, TransientError

CALENDARS_CAP = 100
_SELECT: dict[str, str | int] = {"$select": "id,name,owner,canEdit,isDefaultCalendar", "$top": 100}


@dataclass(frozen=True, slots=True)
class Calendar:
    """``is_own``: the owner writes in it, and nobody else published it."""

    id: str
    name: str
    is_own: bool


async def watched_calendars(
    graph: Graph, only: Sequence[str], addresses: frozenset[str]
) -> tuple[list[Calendar], frozenset[str]]:
    """The calendars to read, the owner's first, and ``addresses`` with that of the account.

    TransientError for an empty list: every account has a calendar. AuthError for a name in ``only`` that is not there.
    """
    items = (await graph.every(graph.url("me", "calendars"), _SELECT))[:CALENDARS_CAP]
    if not items:
        raise TransientError("Microsoft Graph lists no calendar at all")
    owners = addresses | {_owner(item) for item in items if item.get("isDefaultCalendar") is True} - {""}
    found = [_calendar(item, owners) for item in items if text_of(item, "id")]
    found.sort(key=lambda calendar: (not calendar.is_own, calendar.name, calendar.id))
    if not only:
        return found, owners
    wanted = {name.casefold() for name in only}
    if missing := wanted - {calendar.name.casefold() for calendar in found}:
        raise AuthError(f"there is no calendar {min(missing)!r}", remedy="correct the account's calendars")
    return [calendar for calendar in found if calendar.name.casefold() in wanted], owners


def _calendar(item: Item, owners: frozenset[str]) -> Calendar:
    is_ours = not _owner(item) or not owners or _owner(item) in owners
    return Calendar(
        str(item["id"]), one_line(str(item.get("name") or ""), 200), is_ours and item.get("canEdit") is True
    )


def _owner(item: Item) -> str:
    owner = item.get("owner")
    return text_of(owner, "address").lower() if isinstance(owner, dict) else ""
