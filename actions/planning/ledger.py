"""Ledger: the budget of the day and the account of what left, the same for every question that goes to a model."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, field

from actions.journal import Draft, JournalPort
from actions.planning.ask import Answer, Failure, Reply, Request
from actions.planning.request import as_sent
from actions.proposal.book import Book
from actions.setup import Setup
from schemas.clock import Clock
from schemas.model import Json


@dataclass
class LedgerMeter:
    """An entry with all that leaves before it does, and one with what came. Who asks says what differs."""

    port: JournalPort
    book: Book
    setup: Setup
    clock: Clock
    stream: str
    """Of the journal: a proposal, or what is asked for none."""
    actor: str
    planning: str = ""
    """Whose budget of tokens counts beside the day's; "" for what belongs to no plan."""
    asked: str = field(default="", init=False)

    async def reserve(self, request: Request) -> Failure | None:
        limits, now = self.setup.model, self.clock.now()
        assert limits is not None, "nobody asks while the model is off"
        cost = limits.cost(request.prompt_tokens, request.max_tokens)
        tokens = request.prompt_tokens + request.max_tokens
        plan = self.stream if self.planning else ""
        if not self.book.spending.allows(plan, tokens, cost, now, self.setup.settings.zone, limits):
            return Failure("over_budget")
        body: dict[str, Json] = {
            "planning": self.planning,
            "host": limits.host,
            "model": limits.name,
            "rung": request.rung,
            "bytes": request.size,
            "sha256": hashlib.sha256(as_sent(request.body)).hexdigest(),
            "request": request.body,
            "withheld": [],
            "memories": [],
            "prompt_tokens": request.prompt_tokens,
            "max_tokens": request.max_tokens,
            "cost": str(cost),
            "currency": limits.currency,
        }
        drafts = [Draft(self.stream, "model.asked", now, self.actor, self.planning, body | self.told(request))]
        entries = await self.port.append(drafts)
        if not entries:
            return Failure("stopped")
        self.asked = entries[0].id
        return None

    def told(self, request: Request) -> dict[str, Json]:
        """What this request's entry says otherwise than usual."""
        return {}

    def kept(self, answer: Answer) -> Json:
        """What of an answer stays in the ledger."""
        return None

    async def settle(self, request: Request, reply: Reply) -> None:
        """Even while it is being cancelled: what came back was paid for."""
        await asyncio.shield(self._settle(reply))

    async def _settle(self, reply: Reply) -> None:
        limits, outcome = self.setup.model, reply.outcome
        assert limits is not None
        body: dict[str, Json] = {
            "asked": self.asked,
            "outcome": outcome.code if isinstance(outcome, Failure) else "answer",
            "answer": self.kept(outcome) if isinstance(outcome, Answer) else None,
            "bytes": reply.received,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "is_counted": reply.is_counted,
            "cost": str(limits.cost(reply.prompt_tokens, reply.completion_tokens)),
        }
        await self.port.append([Draft(self.stream, "model.answered", self.clock.now(), self.actor, self.asked, body)])
