"""The only home of ``openai``: one client for any server that speaks chat completions, streaming, without retries.

``openai`` takes long to import and is needed only where a model is configured, so it is imported at the first request.
Which way a server takes a schema is found out once, from strict to free text, and remembered (acting.md 1.3).
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from actions.planning.ask import (
    RUNGS,
    Answer,
    Failure,
    Form,
    Limits,
    Message,
    Meter,
    Outcome,
    Reply,
    Request,
    Rung,
    tokens_in,
)
from actions.planning.reply import read
from actions.planning.request import QUIRKS, as_sent, build
from schemas.clock import Clock
from schemas.model import Json

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_DOWNGRADES = frozenset({"rejected", "broken"})
"""Answers to a way of asking that is not known to work: try the next. Servers without json_schema say so, or 500."""
_SLACK = 16
"""Characters per allowed token after which an answer counts as endless."""
_UNSAID = (
    "X-Stainless-Lang", "X-Stainless-Package-Version", "X-Stainless-OS", "X-Stainless-Arch", "X-Stainless-Runtime",
    "X-Stainless-Runtime-Version", "X-Stainless-Async", "OpenAI-Organization", "OpenAI-Project",
)  # fmt: skip
"""Headers that would tell the server about this machine."""


@dataclass(frozen=True, slots=True)
class Server:
    """``base_url`` ends in /v1 as a rule; ``key`` is empty for local servers."""

    base_url: str
    model: str
    key: SecretStr


@dataclass(slots=True)
class _Habits:
    """What this server was found to take."""

    rung: Rung = "strict"
    is_known: bool = False
    left_out: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Received:
    """A stream so far. ``finish`` is None until the server said why it ended."""

    begun: bool = False
    text: list[str] = field(default_factory=list)
    size: int = 0
    chunks: int = 0
    finish: str | None = None
    refused: bool = False
    usage: tuple[int, int] | None = None


class ServerModel:
    """One per (base_url, model): its habits are remembered here."""

    def __init__(self, server: Server, clock: Clock) -> None:
        self._server = server
        self._clock = clock
        self._client: AsyncOpenAI | None = None
        self._habits = _Habits()

    @property
    def name(self) -> str:
        return self._server.model

    @property
    def rung(self) -> Rung | None:
        """The way of asking that was found to work; None before the first answer."""
        return self._habits.rung if self._habits.is_known else None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def ask(self, messages: tuple[Message, ...], form: Form, limits: Limits, meter: Meter) -> Outcome:
        if self._habits.is_known:
            known = await self._asked_twice(self._habits.rung, messages, form, limits, meter)
            # a server that no longer takes what it took was replaced: find out anew, the next time
            self._habits.is_known = not (isinstance(known, Failure) and known.code == "rejected")
            return known
        outcome: Outcome = Failure("rejected")
        for rung in RUNGS:
            outcome = await self._asked_twice(rung, messages, form, limits, meter)
            if not isinstance(outcome, Failure):
                self._habits.rung, self._habits.is_known = rung, True
                return outcome
            if outcome.code not in _DOWNGRADES | {"invalid"}:
                return outcome
        return outcome

    async def embed(
        self, model: str, texts: Sequence[str], limits: Limits, meter: Meter
    ) -> list[list[float]] | Failure:
        """One vector a text, in order, all of one length; ``model`` is the name of the one that makes vectors."""
        body: dict[str, Json] = {"model": model, "input": list(texts), "encoding_format": "float"}
        size = len(as_sent(body))
        request = Request("text", body, size, tokens_in(size), 0)
        forbidden = await meter.reserve(request)
        if forbidden:
            return forbidden
        found = await self._embedded(request, len(texts), limits)
        outcome = found if isinstance(found, Failure) else Answer({"vectors": len(found)})
        await meter.settle(request, Reply(outcome, request.prompt_tokens, 0, False))
        return found

    async def _embedded(self, request: Request, count: int, limits: Limits) -> list[list[float]] | Failure:
        client = self._open(limits)
        try:
            async with asyncio.timeout(limits.timeout_s):
                got = await client.embeddings.create(**_typed(request.body), timeout=limits.timeout_s)
            vectors = [list(map(float, one.embedding)) for one in sorted(got.data, key=lambda one: one.index)]
        except Exception as error:  # narrowed by the table; what has no such shape is no answer
            failure = translate(error, self._clock.now())
            if failure is None and not isinstance(error, ValueError | TypeError | AttributeError):
                raise
            return failure or Failure("invalid")
        whole = len(vectors) == count and len({len(vector) for vector in vectors}) == 1 and all(vectors)
        return vectors if whole and all(math.isfinite(n) for vector in vectors for n in vector) else Failure("invalid")

    async def _asked_twice(
        self, rung: Rung, messages: tuple[Message, ...], form: Form, limits: Limits, meter: Meter
    ) -> Outcome:
        """Once more where a parameter was refused, and where the answer was no JSON (with another seed)."""
        tries = 2
        outcome: Outcome = Failure("invalid")
        while tries:
            request = build(self.name, rung, messages, form, limits, left_out=self._habits.left_out, again=tries == 1)
            forbidden = await meter.reserve(request)
            if forbidden:
                return forbidden
            before = len(self._habits.left_out)
            reply = await self._sent(request, form, limits)
            await meter.settle(request, reply)
            outcome = reply.outcome
            if len(self._habits.left_out) > before:
                continue
            if not isinstance(outcome, Failure) or outcome.code != "invalid":
                return outcome
            tries -= 1
        return outcome

    async def _sent(self, request: Request, form: Form, limits: Limits) -> Reply:
        got = _Received()
        client = self._open(limits)  # the first time, this imports for a second or two
        try:
            async with asyncio.timeout(limits.timeout_s):
                await _receive(client, request, limits, got)
            outcome = _ended(got, request.rung, form)
        except Exception as error:  # narrowed by the table: what it does not know is raised again
            failure = translate(error, self._clock.now())
            if failure is None:
                raise
            self._learn(request, error, failure)
            # the client says the same of a server that is not there and of one that leaves in the middle
            outcome = Failure("cut") if got.begun and failure.code == "unreachable" else failure
        prompt, completion = got.usage or (request.prompt_tokens, tokens_in(got.size))
        return Reply(outcome, prompt, completion, got.usage is not None, got.size)

    def _open(self, limits: Limits) -> AsyncOpenAI:
        if self._client is None:
            import openai

            # Omit() removes a header; the client's annotation knows only text
            headers: Any = {name: openai.Omit() for name in _UNSAID} | {"User-Agent": "forewatch"}
            self._client = openai.AsyncOpenAI(
                base_url=self._server.base_url,
                api_key=self._server.key.get_secret_value() or "none",
                max_retries=0,
                timeout=limits.timeout_s,
                default_headers=headers,
                http_client=openai.DefaultAsyncHttpxClient(follow_redirects=False),
            )
        return self._client

    def _learn(self, request: Request, error: Exception, failure: Failure) -> None:
        """A refused parameter is one that the refusal names and that we sent."""
        if failure.code != "rejected":
            return
        said = f"{getattr(error, 'param', '')} {error}"
        for name in QUIRKS:
            if name in said and name in request.body:
                self._habits.left_out.add(name)
                return


async def _receive(client: AsyncOpenAI, request: Request, limits: Limits, got: _Received) -> None:
    chunks = await client.chat.completions.create(**_typed(request.body), timeout=limits.timeout_s)
    got.begun = True
    async with aclosing(chunks):
        async for chunk in _until(chunks, got, limits.max_tokens):
            _take(chunk, got)


def _typed(body: dict[str, Json]) -> dict[str, Any]:
    """The body as keyword arguments of the client, which knows all of these names."""
    return dict(body)


async def _until(chunks: Any, got: _Received, max_tokens: int) -> AsyncIterator[Any]:
    """Chunks, until the answer is longer than its limit allows; then ``finish`` says so."""
    async for chunk in chunks:
        yield chunk
        got.chunks += 1
        if got.size > max_tokens * _SLACK or got.chunks > max_tokens * 2 + 100:
            got.finish = "endless"
            return


def _take(chunk: Any, got: _Received) -> None:
    if chunk.usage is not None:
        got.usage = chunk.usage.prompt_tokens, chunk.usage.completion_tokens
    for choice in chunk.choices or ():
        text = getattr(choice.delta, "content", None) or ""
        got.refused = got.refused or bool(getattr(choice.delta, "refusal", None))
        got.text.append(text)
        got.size += len(text.encode())
        got.finish = choice.finish_reason or got.finish


def _ended(got: _Received, rung: Rung, form: Form) -> Outcome:
    if got.refused or got.finish == "content_filter":
        return Failure("refused")
    match got.finish:
        case None:
            return Failure("cut")
        case "endless":
            return Failure("endless")
        case "length":
            return Failure("truncated")
    return read("".join(got.text), rung, form)


def translate(error: Exception, now: datetime) -> Failure | None:
    """Every failure of the client and of its HTTP stack as a value; None for what is none of theirs: a bug."""
    import httpx2
    import openai

    match error:
        case openai.APITimeoutError() | httpx2.TimeoutException() | TimeoutError():
            return Failure("timed_out")
        case openai.APIStatusError():
            return by_status(error.status_code, error.code, error.response.headers.get("retry-after"), now)
        case openai.APIConnectionError():
            return Failure("unreachable")
        case openai.APIResponseValidationError() | json.JSONDecodeError() | UnicodeDecodeError():
            return Failure("invalid")
        case openai.LengthFinishReasonError():
            return Failure("truncated")
        case openai.ContentFilterFinishReasonError():
            return Failure("refused")
        case openai.OpenAIError():
            return Failure("broken")
        case httpx2.HTTPError() | httpx2.StreamError():
            return Failure("cut")
        case httpx2.InvalidURL():
            return Failure("unreachable")
    return None


def by_status(status: int, code: str | None, retry_after: str | None, now: datetime) -> Failure:
    if status == 429 and code != "insufficient_quota":
        return Failure("rate_limited", _instant(retry_after, now), status)
    if status in (401, 402, 403, 429):
        return Failure("denied", None, status)
    if status == 503:
        return Failure("broken", _instant(retry_after, now), status)
    if status == 408:
        return Failure("timed_out", None, status)
    return Failure("broken" if status >= 500 else "rejected", None, status)


def _instant(retry_after: str | None, now: datetime) -> datetime | None:
    """Retry-After in seconds or as an HTTP date; None if it says nothing usable. At most a year from now."""
    try:
        return now + timedelta(seconds=min(max(float(retry_after or ""), 0.0), 31_536_000.0))
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(retry_after or "").astimezone(UTC)
    except ValueError:
        return None
