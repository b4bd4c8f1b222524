"""Asking Google's APIs: one table from their answers to our errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Self, TypeVar

from pydantic import Field, model_validator

from extractors import http
from extractors.connector import Context
from extractors.http import Answer
from extractors.oauth_settings import OAuthSettings
from extractors.pace import Pace
from schemas.errors import AuthError, ForewatchError, RateLimited, TransientError

T = TypeVar("T")

_READ_HERE = (400, 403, 404, 410, 429)
"""Statuses whose meaning is in the body."""
_FEWER = frozenset({"rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED", "concurrentLimitExceeded"})
_TODAY = frozenset({"quotaExceeded", "dailyLimitExceeded", "dailyLimitExceededUnreg", "variableTermLimitExceeded"})
_SCOPE = frozenset({"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"})
_DISABLED = frozenset({"accessNotConfigured", "SERVICE_DISABLED"})
_ABSENT = frozenset({"failedPrecondition", "notACalendarUser"})
_WORD = re.compile(r"[A-Za-z][A-Za-z_]{0,60}")


class GoogleSettings(OAuthSettings):
    """What the settings of all Google connectors have in common."""

    base_url: str = Field(default="https://www.googleapis.com", max_length=2_000)
    """Where the API is: another address is for tests."""
    allow_private: bool = False
    """Whether ``base_url`` may lead into a private network or to this machine, unencrypted too."""

    @model_validator(mode="after")
    def _is_encrypted(self) -> Self:
        """The access token goes there."""
        if not self.base_url.startswith("https://") and not self.allow_private:
            raise ValueError("base_url must begin with https://")
        return self


@dataclass(frozen=True, slots=True)
class Service:
    """``scope`` is what the person is asked for where the permission is missing."""

    name: str
    base_url: str
    scope: str


class Google:
    """One poll's way to one service. ``pace``: at most so many calls a second."""

    def __init__(self, service: Service, context: Context, pace: Pace) -> None:
        self._service = service
        self._context = context
        self._pace = pace

    async def ask(
        self,
        path: str,
        params: Mapping[str, str | int] | None = None,
        *,
        missing: Collection[int] = (),
        body_bytes: int | None = None,
    ) -> dict[str, Any] | None:
        """The JSON object; None for a status in ``missing``. Errors as in ``Http.send``, and ``refused``."""
        await self._pace.turn()
        access = self._context.access
        url = f"{self._service.base_url.rstrip('/')}/{path}"
        passing = {*_READ_HERE, *missing}
        answer = await access.http.send(
            "GET", url, params=params, bearer=access.token, passing=passing, body_bytes=body_bytes
        )
        if answer.status in missing:
            return None
        if answer.status in _READ_HERE:
            raise refused(answer, self._service, self._context.now)
        return answer.object()


def refused(answer: Answer, service: Service, now: datetime) -> ForewatchError:
    """Google says 403 for "slower", for "not with this consent" and for "not at all"; the reason tells them apart."""
    reasons = reasons_of(answer)
    retry_at = http.wished(answer.headers, now)
    if reasons & _TODAY:
        return RateLimited(f"{service.name}: today's calls are used up", retry_at=retry_at or now + timedelta(hours=1))
    if reasons & _FEWER or answer.status == 429:
        return RateLimited(f"{service.name} asks for fewer calls", retry_at=retry_at or now + timedelta(minutes=1))
    if reasons & _SCOPE:
        return AuthError(
            f"{service.name}: the consent lacks {service.scope}",
            remedy="authorise the account again and leave every box ticked",
        )
    if reasons & _DISABLED:
        return AuthError(
            f"{service.name} is not enabled for your OAuth client",
            remedy="enable its API in the Google Cloud project that the client id belongs to",
        )
    if reasons & _ABSENT:
        return AuthError(f"this Google account has no {service.name}", remedy="connect another account")
    if reasons & {"domainPolicy"}:
        return AuthError(f"your organisation does not allow {service.name}", remedy="ask its administrator")
    if answer.status == 400:
        return TransientError(f"{service.name} does not understand the question ({_told(reasons)})")
    if answer.status == 403 and not reasons:
        answer.object()  # a web page in between is no word of Google's
    return http.refused(answer, now)


def reasons_of(answer: Answer) -> frozenset[str]:
    """The reason words of an error, old style and new; none for what is no error of Google's."""
    try:
        error = answer.object().get("error")
    except TransientError:
        return frozenset()
    if not isinstance(error, dict):
        return frozenset()
    listed = [*_objects(error.get("errors")), *_objects(error.get("details"))]
    words = (str(each.get("reason", "")) for each in listed)
    return frozenset(word for word in words if _WORD.fullmatch(word))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _told(reasons: frozenset[str]) -> str:
    return ", ".join(sorted(reasons)) or "no reason given"


def objects(answer: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """A list of objects that may be left out, as Google does with empty lists. TransientError for anything else."""
    value = answer.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise TransientError(f"Google answers with {key!r} of another shape")
    return value


def word(answer: Mapping[str, Any], key: str) -> str:
    """A string that may be left out. TransientError for anything else."""
    value = answer.get(key, "")
    if not isinstance(value, str):
        raise TransientError(f"Google answers with {key!r} of another shape")
    return value


class Tokens:
    """The page tokens of one listing. TransientError for one that comes twice, and after ``cap`` pages."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._seen: set[str] = set()

    def next(self, answer: Mapping[str, Any]) -> str:
        token = word(answer, "nextPageToken")
        if token in self._seen:
            raise TransientError("Google gives the same page token twice")
        if token:
            self._seen.add(token)
        if len(self._seen) >= self._cap:
            raise TransientError(f"Google lists more than {self._cap} pages")
        return token


async def together(questions: Sequence[Awaitable[T]]) -> list[T]:
    """The answers, in order. The first error ends the others."""
    tasks: list[asyncio.Task[T]] = []
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_awaited(question)) for question in questions]
    except BaseExceptionGroup as errors:
        ours = errors.subgroup(ForewatchError)
        raise _first(ours or errors) from None
    return [task.result() for task in tasks]


async def _awaited(question: Awaitable[T]) -> T:
    return await question


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    inner = errors.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner
