"""A bank that misbehaves: its own ledger tells what really happened, whatever it answered."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from actions.testing.points import nowhere
from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas.clock import Clock
from schemas.errors import NotSent, OutcomeUnknown, RateLimited, StepFailed
from schemas.model import Json
from schemas.plan import EffectClass, Retry
from schemas.value import Integrity

Behaviour = Literal[
    "ok", "slow", "not_sent", "rate", "no", "fail_before", "fail_after", "lie", "schema", "hang", "broken", "lost",
]  # fmt: skip
"""slow: lands after the client gave up; fail_before and fail_after: an error before and after it landed; lie: says
yes and does nothing; hang: never answers and lands; broken: the tool itself raises after it landed; lost: the request
leaves and never lands."""


ROUNDS = 8
"""Turns of the event loop that a call takes, so that others can be under way beside it."""


@dataclass(frozen=True, slots=True)
class Row:
    key: str
    args: dict[str, Json]
    lands_at: datetime


@dataclass
class Ledger:
    """What was done, by the other side's own account. ``remembers``: a key is acted on once (idempotent)."""

    clock: Clock
    rows: list[Row] = field(default_factory=list)
    transit: list[tuple[Row, bool]] = field(default_factory=list)
    under_way: Counter[str] = field(default_factory=Counter)
    """Calls that have begun and not ended, by the tool's family."""
    peak: int = 0
    """The most calls that were ever under way at once."""
    crowded: set[str] = field(default_factory=set)
    """Families of tools of which two calls were under way at once."""

    @contextmanager
    def call(self, tool: str) -> Iterator[None]:
        family = tool.partition(".")[0]
        self.under_way[family] += 1
        self.peak = max(self.peak, self.under_way.total())
        self.crowded |= {family} if self.under_way[family] > 1 else set()
        try:
            yield
        finally:
            self.under_way[family] -= 1

    def submit(self, key: str, args: Args, after: timedelta, *, remembers: bool) -> None:
        """A request is on its way; it lands whatever becomes of the client."""
        self.transit.append((Row(key, dict(args), self.clock.now() + after), remembers))

    def landed(self) -> list[Row]:
        """Everything that has landed by now, each in its time."""
        now = self.clock.now()
        due = sorted((t for t in self.transit if t[0].lands_at <= now), key=lambda t: t[0].lands_at)
        self.transit = [t for t in self.transit if t[0].lands_at > now]
        for row, remembers in due:
            if not (remembers and any(done.key == row.key for done in self.rows)):
                self.rows.append(row)
        return self.rows

    def find(self, key: str) -> Row | None:
        return next((row for row in self.landed() if row.key == key), None)


def manifest(name: str, effect_class: EffectClass, **changes: object) -> Manifest:
    """A payment of the given class; ``pure`` makes it a question about a price."""
    reads = effect_class == "pure"
    fields: dict[str, object] = {
        "name": name,
        "version": "1.0.0",
        "description": "a bank for tests",
        "says": "Pay {amount} to {payee}" if not reads else "Look up the invoice of {payee}",
        "args": {"payee": Arg(type="Text"), "amount": Arg(type="Money", required=not reads)},
        "returns": {"amount": "Money", "payee": "Text"} if reads else {"payment_id": "Text"},
        "integrity_out": Integrity.KNOWN,
        "effect": "read" if reads else "payment",
        "effect_class": effect_class,
        "key_ttl_s": 86_400.0 if effect_class == "keyed" else None,
        "look_up": effect_class in ("reconcile", "keyed"),
        "timeout_s": 5.0,
        "settle_s": 0.0 if reads else 60.0,
        "retry": Retry(max=6, base_s=1.0, cap_s=8.0),
    }
    return Manifest.model_validate(fields | changes)


class BankTool:
    """Answers by ``script``, one behaviour a call, then ``ok`` for ever. ``latency`` is how long a request travels."""

    def __init__(
        self,
        manifest: Manifest,
        ledger: Ledger,
        script: Iterable[Behaviour] = (),
        point: Callable[[str], None] = nowhere,
        latency: timedelta = timedelta(0),
    ) -> None:
        self.manifest = manifest
        self.ledger = ledger
        self.point = point
        self._script: Iterator[Behaviour] = iter(script)
        self._latency = latency
        self.calls: list[tuple[dict[str, Json], str]] = []

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        name = self.manifest.name
        self.point(f"before call {name}")
        behaviour: Behaviour = next(self._script, "ok")
        self.calls.append((dict(args), key))
        if behaviour in ("not_sent", "rate", "no", "fail_before", "lost", "lie"):
            return self._without_effect(behaviour, key)
        self._submit(args, key, behaviour)
        with self.ledger.call(name):
            self.point(f"during call {name}")
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            answer = await self._after_effect(behaviour, key)
        self.point(f"after call {name}")
        return answer

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        self.point(f"before look-up {self.manifest.name}")
        await asyncio.sleep(0)
        return self._answer(key) if self.ledger.find(key) else None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        self.point(f"before verify {self.manifest.name}")
        row = self.ledger.find(key)
        return Receipt(what="seen in the ledger", where=key, details=row.args) if row else None

    def _submit(self, args: Args, key: str, behaviour: Behaviour) -> None:
        if self.manifest.effect == "read":
            return
        late = timedelta(seconds=self.manifest.timeout_s + 1) if behaviour == "slow" else self._latency
        self.ledger.submit(key, args, late, remembers=self.manifest.effect_class == "keyed")

    def _without_effect(self, behaviour: Behaviour, key: str) -> dict[str, Json]:
        match behaviour:
            case "not_sent":
                raise NotSent("connection refused")
            case "rate":
                raise RateLimited("too many requests", retry_at=self.ledger.clock.now() + timedelta(seconds=30))
            case "no":
                raise StepFailed("the account is closed", code="denied")
            case "lie":
                return self._answer(key)
        raise OutcomeUnknown("503 from the bank")

    async def _after_effect(self, behaviour: Behaviour, key: str) -> dict[str, Json]:
        match behaviour:
            case "slow":
                raise OutcomeUnknown("read time-out")
            case "hang":
                await asyncio.Event().wait()
            case "fail_after":
                raise OutcomeUnknown("500 from the bank")
            case "broken":
                raise ValueError("a bug in the tool")
            case "schema":
                return {"status": "fine"}
        if self._latency and self.manifest.effect != "read":
            raise OutcomeUnknown("connection reset")
        return self._answer(key)

    def _answer(self, key: str) -> dict[str, Json]:
        if self.manifest.effect == "read":
            return {"amount": {"amount": "82.50", "currency": "EUR"}, "payee": "Acme"}
        return {"payment_id": f"pay-{key[:8]}"}
