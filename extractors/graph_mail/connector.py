"""The graph_mail connector: mail of a Microsoft account, followed folder by folder with delta queries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

from pydantic import BaseModel

from extractors.connector import Context, Login, Page
from extractors.graph import Graph, discovered
from extractors.graph_mail.config import GraphMailConfig
from extractors.graph_mail.folders import Folder, named_folders, watched_folders
from extractors.graph_mail.look import look
from extractors.graph_mail.memory import Memory, remembered
from extractors.mail.intake import Intake, Sighting
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record

_KEPT = timedelta(hours=12)
"""A link to the changes stays good for days: where nothing changed, the stored cursor is as good as a new one."""


class GraphMail:
    """``page_items`` and ``page_bytes`` bound a page: what is lost when the process dies, and what memory holds."""

    name = "graph_mail"
    config: type[BaseModel] = GraphMailConfig
    login = Login(
        reads="your mails and the names of your mail folders; nothing is changed or marked",
        scopes={"microsoft": ("https://graph.microsoft.com/Mail.Read",)},
        allows={
            "send": {
                "microsoft": ("https://graph.microsoft.com/Mail.Send", "https://graph.microsoft.com/Mail.ReadWrite")
            },
            "write": {"microsoft": ("https://graph.microsoft.com/Mail.ReadWrite",)},
        },
    )

    def __init__(self, *, page_items: int = 200, page_bytes: int = 8 * 1024 * 1024) -> None:
        self._page_items = page_items
        self._page_bytes = page_bytes

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        settings = GraphMailConfig.model_validate(config)
        graph, memory = _graph(settings, context), remembered(cursor)
        memory.named = await named_folders(graph, memory.named)
        folders = await watched_folders(graph, memory.named, settings.folders)
        is_same = set(memory.links) == {folder.id for folder in folders}
        seen = await look(graph, folders, memory)
        intake = self._intake(graph, memory, settings, context)
        intake.is_reset = seen.is_reset
        async for page in intake.take(seen.shown.values()):
            yield page
        async for page in intake.withdraw(seen.lost):
            yield page
        for gone in set(memory.places) - {folder.id for folder in folders}:
            memory.forget(gone)
        memory.links = seen.links
        is_quiet = is_same and not intake.has_changed and not seen.is_reset
        yield intake.page(complete=True, keeps_cursor=is_quiet and _is_fresh(memory, context))

    def _intake(self, graph: Graph, memory: Memory, settings: GraphMailConfig, context: Context) -> Intake:
        async def fetch(sighting: Sighting) -> bytes | None:
            return await graph.content(graph.url("me", "messages", sighting.id, "$value"))

        return Intake(
            ledger=memory.ledger,
            fetch=fetch,
            cursor=lambda: memory.to_json(context.now),
            owners=settings.addresses,
            oldest=context.now - timedelta(days=settings.max_age_days) if settings.max_age_days else None,
            page_items=self._page_items,
            page_bytes=self._page_bytes,
        )

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        from extractors.graph_mail import normalize  # reading mail takes long to load, and a poll needs none of it

        return normalize.normalise(record, context)

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """A mail address, or nothing: Microsoft asks which account it is."""
        return discovered(hint)

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        settings = GraphMailConfig.model_validate(config)
        graph = _graph(settings, context)
        folders = await watched_folders(graph, await named_folders(graph, {}), settings.folders)
        return [_line(folder) for folder in folders]


def _graph(settings: GraphMailConfig, context: Context) -> Graph:
    return Graph(context.access, settings.base_url, context.now, wants="Mail.Read")


def _line(folder: Folder) -> str:
    return f"{folder.path}: {folder.total} mails" + (" (sent)" if folder.role == "sent" else "")


def _is_fresh(memory: Memory, context: Context) -> bool:
    return memory.kept_at is not None and context.now - memory.kept_at < _KEPT
