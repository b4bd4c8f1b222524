"""What a model may cost, and what it did: reserved before each request and settled after, as a fold of the journal.

A reservation that was never settled (the process died with the request under way) counts in full: it may have cost it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from schemas import clock
from schemas.journal import JournalEntry

_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """``host`` is where requests go, as the ledger shows it; prices are per million tokens, in ``currency``.

    ``patience``: after this long a proposal is offered without the model. ``None`` as a cost: only tokens are bounded.
    """

    name: str
    host: str
    timeout_s: float = 60.0
    max_tokens: int = 1200
    patience: timedelta = timedelta(minutes=5)
    tokens_per_plan: int = 40_000
    tokens_per_day: int = 400_000
    price_in: Decimal = Decimal(0)
    price_out: Decimal = Decimal(0)
    currency: str = "EUR"
    cost_per_day: Decimal | None = None

    def cost(self, prompt: int, completion: int) -> Decimal:
        return (prompt * self.price_in + completion * self.price_out) / _MILLION


@dataclass(frozen=True, slots=True)
class Spent:
    """One request. ``stream`` is the proposal that it was made for."""

    stream: str
    at: datetime
    tokens: int
    cost: Decimal


@dataclass
class Spending:
    """By the id of the ``model.asked`` entry."""

    requests: dict[str, Spent] = field(default_factory=dict)

    def apply(self, entry: JournalEntry) -> None:
        body: dict[str, Any] = entry.body
        if entry.type == "model.asked":
            tokens = int(body["prompt_tokens"]) + int(body["max_tokens"])
            self.requests[entry.id] = Spent(entry.stream, entry.at, tokens, Decimal(body["cost"]))
        elif entry.type == "model.answered" and body["asked"] in self.requests:
            known = self.requests[body["asked"]]
            tokens = int(body["prompt_tokens"]) + int(body["completion_tokens"])
            self.requests[body["asked"]] = Spent(known.stream, known.at, tokens, Decimal(body["cost"]))

    def allows(self, stream: str, tokens: int, cost: Decimal, now: datetime, zone: ZoneInfo, of: ModelSettings) -> bool:
        """Days are the owner's. A plan's tokens count over the life of its proposal, replanning included."""
        if sum(s.tokens for s in self.requests.values() if s.stream == stream) + tokens > of.tokens_per_plan:
            return False
        spent, paid = self.today(now, zone)
        if spent + tokens > of.tokens_per_day:
            return False
        return of.cost_per_day is None or paid + cost <= of.cost_per_day

    def today(self, now: datetime, zone: ZoneInfo) -> tuple[int, Decimal]:
        """Tokens and money of the owner's day."""
        day = clock.local_day(now, zone)
        today = [s for s in self.requests.values() if clock.local_day(s.at, zone) == day]
        return sum(s.tokens for s in today), sum((s.cost for s in today), Decimal(0))
