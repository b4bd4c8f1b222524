"""The jmap connector: mail of Fastmail, Cyrus, Stalwart and other servers that speak JMAP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

from pydantic import BaseModel

from extractors.connector import Context, Login, Page, SecretField
from extractors.jmap.client import Client
from extractors.jmap.config import FASTMAIL, JmapConfig
from extractors.jmap.discover import session_address
from extractors.jmap.look import look
from extractors.jmap.mailboxes import read_mailboxes
from extractors.jmap.memory import remembered
from extractors.mail.intake import Intake, Sighting
from schemas.event import Event
from schemas.model import Json
from schemas.record import Record


class Jmap:
    """``page_items`` and ``page_bytes`` bound a page: what is lost when the process dies, and what memory holds."""

    name = "jmap"
    config: type[BaseModel] = JmapConfig
    login = Login(
        reads="your mails and the names of your mailboxes; nothing is changed or marked",
        secrets=(
            SecretField(
                "token",
                "API token",
                "Fastmail: Settings, Privacy & Security, Manage API tokens: a read-only token for Email. "
                "Where the setting `user` is given: the password.",
            ),
        ),
        scopes={"fastmail": ("urn:ietf:params:jmap:core", "urn:ietf:params:jmap:mail")},
    )

    def __init__(self, *, page_items: int = 200, page_bytes: int = 8 * 1024 * 1024) -> None:
        self._page_items = page_items
        self._page_bytes = page_bytes

    async def pull(self, config: BaseModel, cursor: Json, context: Context) -> AsyncIterator[Page]:
        settings = JmapConfig.model_validate(config)
        client, memory = Client(context.access, settings), remembered(cursor)
        oldest = context.now - timedelta(days=settings.max_age_days) if settings.max_age_days else None
        seen = await look(client, memory, settings.mailboxes, oldest)

        async def fetch(sighting: Sighting) -> bytes | None:
            return await client.blob(seen.emails.blobs[sighting.key])

        intake = Intake(
            ledger=memory.ledger,
            fetch=fetch,
            cursor=memory.to_json,
            owners=settings.addresses,
            oldest=oldest,
            page_items=self._page_items,
            page_bytes=self._page_bytes,
            is_reset=seen.is_reset,
        )
        async for page in intake.take(seen.emails.shown.values()):
            yield page
        async for page in intake.withdraw(seen.emails.gone):
            yield page
        is_quiet = memory.state == seen.state and not intake.has_changed
        memory.state, memory.account = seen.state, (await client.session()).account
        yield intake.page(complete=True, keeps_cursor=is_quiet)

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        from extractors.jmap import normalize  # reading mail takes long to load, and a poll needs none of it

        return normalize.normalise(record, context)

    async def discover(self, hint: str, context: Context) -> dict[str, Json]:
        """From a mail address, a host or the address of a session; Fastmail where nothing is typed."""
        found: dict[str, Json] = {
            "base_url": await session_address(hint, context.access.http) if hint.strip() else FASTMAIL
        }
        if hint.count("@") == 1 and "://" not in hint:
            found["addresses"] = [hint.strip().lower()]
        return found

    async def check(self, config: BaseModel, context: Context) -> Sequence[str]:
        settings = JmapConfig.model_validate(config)
        client = Client(context.access, settings)
        answer = await client.one("Mailbox/get", {"ids": None})
        mailboxes = read_mailboxes(answer.get("list"), settings.mailboxes).watched.values()
        lines = [f"{box.path}: {box.total} mails" for box in sorted(mailboxes, key=lambda box: box.path)]
        return [f"account {(await client.session()).name}", *lines]
