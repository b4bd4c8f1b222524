"""Asking a model: what is asked, how it can end (as values), and the two ports it rests on.

A model is never trusted: its answer is data for a validator. Every request that leaves goes through a ``Meter``, which
reserves its tokens before and settles them after, so that no byte leaves unaccounted for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

from schemas.model import Json

Rung = Literal["strict", "flat", "object", "text"]
"""How the shape of the answer is asked for: a strict schema; a flat one for servers that refuse the former; any JSON
object, the schema in the prompt; free text, of which the first balanced object is taken."""
RUNGS: tuple[Rung, ...] = ("strict", "flat", "object", "text")

FailureCode = Literal[
    "invalid", "truncated", "refused", "rate_limited", "denied", "rejected", "broken", "unreachable", "timed_out",
    "cut", "endless", "over_budget", "stopped",
]  # fmt: skip
"""invalid: no JSON object; truncated: the token limit cut it; denied: key or quota, a person must act; rejected: the
server does not take such a request; broken: the server failed; cut: the stream ended early; endless: it did not end
where the token limit said; over_budget, stopped: it was never sent."""


@dataclass(frozen=True, slots=True)
class Message:
    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Form:
    """The shape of the answer. ``expand`` turns an answer in the flat shape into one in the strict shape; ``flat_says``
    tells a model of the flat shape what its schema cannot."""

    name: str
    strict: dict[str, Json]
    flat: dict[str, Json]
    expand: Callable[[Json], Json]
    flat_says: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one request. ``timeout_s`` is the whole of it, from connecting to the last byte."""

    max_tokens: int = 1200
    timeout_s: float = 60.0
    temperature: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """``retry_at``: the server's own word for when to come back; ``status``: the HTTP status, if there was one."""

    code: FailureCode
    retry_at: datetime | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON object in the strict shape, as the model wrote it: nothing about it is checked but that it is one."""

    json: dict[str, Json]


Outcome = Answer | Failure


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. ``body`` is all of it, ``size`` its bytes; ``tokens`` is what it may cost at most."""

    rung: Rung
    body: dict[str, Json]
    size: int
    prompt_tokens: int
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    """How a request ended. Tokens are the server's own count if ``is_counted``, else our estimate from the bytes."""

    outcome: Outcome
    prompt_tokens: int
    completion_tokens: int
    is_counted: bool
    received: int = 0


class Meter(Protocol):
    """Reserves and settles requests, durably."""

    async def reserve(self, request: Request) -> Failure | None:
        """Before anything is sent. A Failure (``over_budget``, ``stopped``) forbids it; then nothing is sent, and
        nothing settled."""
        ...

    async def settle(self, request: Request, reply: Reply) -> None:
        """Exactly once for each request that was reserved and came to an end in this process."""
        ...


class Model(Protocol):
    """A planner's model. Expected failures are values; what ``ask`` raises is a bug, or cancellation."""

    @property
    def name(self) -> str:
        """Of the model, as the person configured it."""
        ...

    async def ask(self, messages: tuple[Message, ...], form: Form, limits: Limits, meter: Meter) -> Outcome:
        """May send several requests, each of them metered: a server's way to say JSON is found out by trying.

        Never longer than ``limits.timeout_s`` for each of them, and never retried beyond that.
        """
        ...


@dataclass
class FreeMeter:
    """Counts and never refuses: for a look at a server (``forewatch doctor``) and for tests."""

    requests: list[Request] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)

    async def reserve(self, request: Request) -> Failure | None:
        self.requests.append(request)
        return None

    async def settle(self, request: Request, reply: Reply) -> None:
        self.replies.append(reply)


def tokens_in(size: int) -> int:
    """An estimate on the high side: common tokenizers make one token of 3 to 4 bytes of English or JSON."""
    return -(-size // 3)
