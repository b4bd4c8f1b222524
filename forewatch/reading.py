"""The quarantined reader of a running service: the planner's model, asked about outside text and nothing else, under
the planner's budget of the day, with an account of what left."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from actions.journal import Draft, JournalPort
from actions.proposal.book import Book
from actions.setup import Setup
from schemas.clock import Clock
from schemas.model import Json

if TYPE_CHECKING:
    from actions.planning.ask import Failure, Model, Reply, Request
    from actions.planning.extract import Extraction, Source, Wanted

STREAM = "reading"
"""The journal stream of what the reader was asked."""


def host_of(url: str) -> str:
    """Where a text goes that the model is asked about; "" if it stays on this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        stays = ipaddress.ip_address(host).is_loopback
    except ValueError:
        stays = host in ("", "localhost")
    return "" if stays else f"{host}:{parts.port or {'http': 80}.get(parts.scheme, 443)}"


@dataclass
class Reading:
    """Asks nobody until the service has connected it."""

    clock: Clock
    model: Model | None = None
    setup: Setup | None = None
    port: Callable[[], JournalPort | None] = lambda: None
    books: Callable[[], Iterable[Book]] = tuple

    def connect(
        self,
        model: Model | None,
        setup: Setup,
        port: Callable[[], JournalPort | None],
        books: Callable[[], Iterable[Book]],
    ) -> None:
        self.model, self.setup, self.port, self.books = model, setup, port, books

    async def read(self, source: Source, wanted: Wanted, nonce: str) -> Extraction:
        from actions.planning.extract import Extraction, extract

        port, setup, book = self.port(), self.setup, next(iter(self.books()), None)
        if self.model is None or setup is None or setup.model is None or port is None or book is None:
            return Extraction(off="no model is configured")
        meter = ReadingMeter(port, book, setup, self.clock, hashlib.sha256(source.text.encode()).hexdigest())
        return await extract(self.model, source, (wanted,), meter, nonce)


@dataclass
class ReadingMeter:
    """The day's budget and the ledger. The text itself is not written down a second time: it is what the step before
    gave, or the event, and goes with them when they are erased; its hash tells which it was."""

    journal: JournalPort
    book: Book
    setup: Setup
    clock: Clock
    text: str
    """sha256 of the text."""
    asked: str = field(default="")

    async def reserve(self, request: Request) -> Failure | None:
        from actions.planning.ask import Failure
        from actions.planning.request import as_sent

        limits, now = self.setup.model, self.clock.now()
        assert limits is not None, "nobody asks while the model is off"
        cost = limits.cost(request.prompt_tokens, request.max_tokens)
        tokens = request.prompt_tokens + request.max_tokens
        if not self.book.spending.allows("", tokens, cost, now, self.setup.settings.zone, limits):
            return Failure("over_budget")
        told: dict[str, Json] = {name: value for name, value in request.body.items() if name != "messages"}
        body: dict[str, Json] = {
            "planning": "", "host": limits.host, "model": limits.name, "rung": request.rung, "bytes": request.size,
            "sha256": hashlib.sha256(as_sent(request.body)).hexdigest(), "request": told | {"text_sha256": self.text},
            "withheld": [], "memories": [], "prompt_tokens": request.prompt_tokens, "max_tokens": request.max_tokens,
            "cost": str(cost), "currency": limits.currency,
        }  # fmt: skip
        entries = await self.journal.append([Draft(STREAM, "model.asked", now, STREAM, "", body)])
        if not entries:
            return Failure("over_budget")
        self.asked = entries[0].id
        return None

    async def settle(self, request: Request, reply: Reply) -> None:
        from actions.planning.ask import Failure

        limits, outcome = self.setup.model, reply.outcome
        assert limits is not None
        body: dict[str, Json] = {
            "asked": self.asked, "outcome": outcome.code if isinstance(outcome, Failure) else "answer", "answer": None,
            "bytes": reply.received, "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens, "is_counted": reply.is_counted,
            "cost": str(limits.cost(reply.prompt_tokens, reply.completion_tokens)),
        }  # fmt: skip
        await self.journal.append([Draft(STREAM, "model.answered", self.clock.now(), STREAM, self.asked, body)])
