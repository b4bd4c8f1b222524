"""Vectors of what is remembered, from the configured server: what may leave, what it costs, and which are alike.

Only sentences without a word from outside leave, and the person's own question; each request stands in the journal
before it is sent, with the ids of the memories in it (the egress ledger, and what an erasure goes by).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import mul
from typing import Protocol

from actions.journal import JournalPort
from actions.memory.remembering import STREAM
from actions.planning.ask import Failure, Limits, Meter, Request
from actions.planning.ledger import LedgerMeter
from actions.proposal.book import Book
from actions.setup import Setup
from schemas.clock import Clock
from schemas.model import Json

Vector = Sequence[float]
AT_ONCE = 64
"""Texts of one request."""
_ALIKE = 0.35
"""From this cosine on two texts may be about the same thing; the order counts more than the bar."""
_ACTOR = "memory"


class Embedder(Protocol):
    """``ServerModel`` is one."""

    async def embed(
        self, model: str, texts: Sequence[str], limits: Limits, meter: Meter
    ) -> list[list[float]] | Failure:
        """One vector a text, in order, all of one length."""
        ...


class MemoryMeter(LedgerMeter):
    """``memories``: the ids of what is in the request. A vector costs no tokens of an answer and is not kept."""

    def __init__(
        self, port: JournalPort, book: Book, setup: Setup, clock: Clock, model: str, memories: Sequence[str] = ()
    ) -> None:
        super().__init__(port, book, setup, clock, STREAM, _ACTOR)
        self._model = model
        self._memories = memories

    def told(self, request: Request) -> dict[str, Json]:
        return {"model": self._model, "memories": list(self._memories)}


def alike(asked: Vector, known: Mapping[str, Vector]) -> list[str]:
    """Ids by the cosine with what was asked, the best first, as far as they may mean the same. Brute force: a few
    thousand take some tens of milliseconds."""
    length = math.hypot(*asked)
    scores = {id_: _cosine(asked, length, vector) for id_, vector in known.items() if len(vector) == len(asked)}
    return sorted((id_ for id_, score in scores.items() if score >= _ALIKE), key=lambda id_: (-scores[id_], id_))


def _cosine(asked: Vector, length: float, vector: Vector) -> float:
    lengths = length * math.hypot(*vector)
    return sum(map(mul, asked, vector)) / lengths if lengths else 0.0
