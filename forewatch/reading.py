"""The quarantined reader of a running service: the planner's model, asked about outside text and nothing else, under
the planner's budget of the day, with an account of what left."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from actions.journal import JournalPort
from actions.planning.ledger import LedgerMeter
from actions.proposal.book import Book
from actions.setup import Setup
from forewatch.planning import port_of
from schemas.clock import Clock
from schemas.model import Json

if TYPE_CHECKING:
    from actions.planning.ask import Model, Request
    from actions.planning.extract import Extraction, Source, Wanted

STREAM = "reading"
"""The journal stream of what the reader was asked."""


def host_of(url: str) -> str:
    """Where a text goes that the model is asked about; "" if it stays on this machine."""
    host = urlsplit(url).hostname or ""
    try:
        stays = ipaddress.ip_address(host).is_loopback
    except ValueError:
        stays = host in ("", "localhost")
    return "" if stays else f"{host}:{port_of(url)}"


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
        meter = ReadingMeter(port, book, setup, self.clock, source.text)
        return await extract(self.model, source, (wanted,), meter, nonce)


class ReadingMeter(LedgerMeter):
    """The text itself is not written down a second time: it is what the step before gave, or the event, and goes with
    them when they are erased; its hash tells which it was. What was read out of it stands in the step's result."""

    def __init__(self, port: JournalPort, book: Book, setup: Setup, clock: Clock, text: str) -> None:
        super().__init__(port, book, setup, clock, STREAM, STREAM)
        self._text_sha256 = hashlib.sha256(text.encode()).hexdigest()

    def told(self, request: Request) -> dict[str, Json]:
        rest: dict[str, Json] = {name: value for name, value in request.body.items() if name != "messages"}
        return {"request": rest | {"text_sha256": self._text_sha256}}
