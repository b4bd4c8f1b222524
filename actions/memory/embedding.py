"""Vectors of what is remembered, from the configured server: what may leave, what it costs, and which are alike.

Only sentences without a word from outside leave, and the person's own question; each request stands in the journal
before it is sent, with the ids of the memories in it (the egress ledger, and what an erasure goes by).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from typing import Protocol

from actions.journal import Draft, JournalPort
from actions.memory.remembering import STREAM
from actions.planning.ask import Answer, Failure, Limits, Meter, Reply, Request
from actions.planning.request import as_sent
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


@dataclass
class MemoryMeter:
    """The day's budget of the model, and the ledger. ``memories``: the ids of what is in the request."""

    port: JournalPort
    book: Book
    setup: Setup
    clock: Clock
    model: str
    memories: Sequence[str] = ()
    asked: str = ""

    async def reserve(self, request: Request) -> Failure | None:
        limits, now = self.setup.model, self.clock.now()
        assert limits is not None, "nobody asks while the model is off"
        cost = limits.cost(request.prompt_tokens, 0)
        if not self.book.spending.allows("", request.prompt_tokens, cost, now, self.setup.settings.zone, limits):
            return Failure("over_budget")
        body: dict[str, Json] = {
            "planning": "",
            "host": limits.host,
            "model": self.model,
            "rung": request.rung,
            "bytes": request.size,
            "sha256": hashlib.sha256(as_sent(request.body)).hexdigest(),
            "request": request.body,
            "withheld": [],
            "memories": list(self.memories),
            "prompt_tokens": request.prompt_tokens,
            "max_tokens": 0,
            "cost": str(cost),
            "currency": limits.currency,
        }
        entries = await self.port.append([Draft(STREAM, "model.asked", now, _ACTOR, "", body)])
        if not entries:
            return Failure("stopped")
        self.asked = entries[0].id
        return None

    async def settle(self, request: Request, reply: Reply) -> None:
        limits = self.setup.model
        assert limits is not None
        body: dict[str, Json] = {
            "asked": self.asked,
            "outcome": "answer" if isinstance(reply.outcome, Answer) else reply.outcome.code,
            "answer": None,
            "bytes": reply.received,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": 0,
            "is_counted": reply.is_counted,
            "cost": str(limits.cost(reply.prompt_tokens, 0)),
        }
        await self.port.append([Draft(STREAM, "model.answered", self.clock.now(), _ACTOR, self.asked, body)])


def alike(asked: Vector, known: Mapping[str, Vector]) -> list[str]:
    """Ids by the cosine with what was asked, the best first, as far as they may mean the same. Brute force: a few
    thousand take some tens of milliseconds."""
    length = math.hypot(*asked)
    scores = {id_: _cosine(asked, length, vector) for id_, vector in known.items() if len(vector) == len(asked)}
    return sorted((id_ for id_, score in scores.items() if score >= _ALIKE), key=lambda id_: (-scores[id_], id_))


def _cosine(asked: Vector, length: float, vector: Vector) -> float:
    lengths = length * math.hypot(*vector)
    return sum(map(mul, asked, vector)) / lengths if lengths else 0.0
