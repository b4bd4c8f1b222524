"""One look at all calendars of a Microsoft account: what is in them, and what must not be believed yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from extractors.calendar.agenda import Agenda, Placed
from extractors.calendar.horizon import label
from extractors.calendar.ledger import Changes, Ledger, Look, compare
from extractors.calendar.series import Window
from extractors.calendar.told import untold
from extractors.connector import Context, Rejected
from extractors.graph import Graph, Item, text_of
from extractors.graph_calendar.calendars import Calendar
from extractors.graph_calendar.config import GraphCalendarConfig
from extractors.graph_calendar.event import SELECT, occurrence_of
from extractors.graph_calendar.memory import Memory
from extractors.graph_calendar.news import News, bounds
from schemas.errors import PoisonError

_PREFER = 'outlook.timezone="UTC", outlook.body-content-type="text"'
_PAGE = 200


@dataclass(frozen=True, slots=True)
class Seen:
    changes: Changes
    rejected: tuple[Rejected, ...]
    warnings: tuple[str, ...]
    memory: Memory


async def views(graph: Graph, calendars: Sequence[Calendar], window: Window) -> dict[str, list[Item]]:
    """What is in each calendar between the bounds, every date of a series for itself."""
    asked = {**bounds(window), "$select": SELECT, "$top": _PAGE}
    return {
        calendar.id: await graph.every(graph.url("me", "calendars", calendar.id, "calendarView"), asked, prefer=_PREFER)
        for calendar in calendars
    }


@dataclass(frozen=True, slots=True)
class Reader:
    """Pure. ``owners``: the owner's addresses."""

    config: GraphCalendarConfig
    context: Context
    window: Window
    owners: frozenset[str]

    def read(self, calendars: Sequence[Calendar], shown: Mapping[str, list[Item]], memory: Memory, news: News) -> Seen:
        rejected: list[Rejected] = []
        placed: dict[str, Placed] = {}
        for calendar in calendars:
            for item in shown[calendar.id]:
                if (one := self._placed(item, calendar, rejected)) is not None:
                    placed.setdefault(one.occurrence.native_id, one)  # the owner's calendars come first
        doubted = {calendar.id: calendar.name for calendar in calendars if _is_doubtful(calendar, shown, memory, news)}
        sources = {*memory.ledger.known, *shown} - set(doubted)
        around = Look(sources, self.window.low, self.window.high, self.context.now, self.context.zone, prunes=False)
        changes = compare(memory.ledger, self._agenda(placed), around)
        new, told = untold(rejected, memory.told)
        links = {id: link for id, link in news.links.items() if id not in doubted}
        fresh = Memory(label(self.window), links, told, frozenset(doubted), changes.ledger)
        why = "suddenly without a single entry; believed if the next poll agrees"
        return Seen(changes, tuple(new), tuple(f"{name or id}: {why}" for id, name in doubted.items()), fresh)

    def _placed(self, item: Item, calendar: Calendar, rejected: list[Rejected]) -> Placed | None:
        if item.get("type") == "seriesMaster":
            return None
        try:
            return Placed(calendar.id, occurrence_of(item, calendar, self.owners, self.window.owner))
        except PoisonError as error:
            id = text_of(item, "id")
            rejected.append(Rejected(f"{calendar.name}/{id}"[:500], error.code, error.message, id.encode()[:500]))
            return None

    def _agenda(self, placed: Mapping[str, Placed]) -> Agenda:
        owner = self.window.owner
        ordered = sorted(placed.values(), key=lambda one: (self._start(one), one.occurrence.native_id))
        return Agenda(tuple(ordered)).nearest(self.config.max_occurrences, self.context.now, owner)

    def _start(self, one: Placed) -> datetime:
        return one.occurrence.instants(self.context.zone)[0]


def _is_doubtful(calendar: Calendar, shown: Mapping[str, list[Item]], memory: Memory, news: News) -> bool:
    """It is empty, and did not say that it lost what it had."""
    lost = 0 if calendar.id in news.fresh else news.removed.get(calendar.id, 0)
    return not shown[calendar.id] and calendar.id not in memory.emptied and _live(memory.ledger, calendar.id) > lost


def _live(ledger: Ledger, source: str) -> int:
    return sum(not known.is_gone for known in ledger.known.get(source, {}).values())
