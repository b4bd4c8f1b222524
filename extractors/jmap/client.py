"""Asking a JMAP server: reads only, one request at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from extractors.connector import Access
from extractors.http import Answer, Oversized
from extractors.jmap.config import JmapConfig
from extractors.jmap.mailboxes import is_id
from extractors.jmap.session import CORE, MAIL, Session, read_session, session_url
from extractors.mail import limits
from schemas.errors import AuthError, PoisonError, TransientError

Arguments = dict[str, Any]
_FORBIDDEN = frozenset({"accountNotFound", "accountNotSupportedByMethod", "forbidden"})


class MethodError(TransientError):
    """One call failed; ``kind`` is the JMAP error type."""

    def __init__(self, method: str, kind: str) -> None:
        super().__init__(f"{method} failed: {kind}")
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Call:
    """``follows``: argument, and the list in the answer of the first call of the request that is its value
    (a result reference, RFC 8620 section 3.7)."""

    method: str
    arguments: Arguments
    follows: tuple[str, str] | None = None


class Client:
    """The session is asked for with the first call."""

    def __init__(self, access: Access, config: JmapConfig) -> None:
        self._access = access
        self._config = config
        self._session: Session | None = None

    async def session(self) -> Session:
        if self._session is None:
            answer = await self._send("GET", session_url(self._config.base_url))
            self._session = read_session(answer, self._config.jmap_account)
        return self._session

    async def one(self, method: str, arguments: Arguments) -> Arguments:
        (found,) = await self.ask([Call(method, arguments)])
        return found

    async def ask(self, calls: Sequence[Call]) -> list[Arguments]:
        """The answers in order; MethodError for the first call that failed. All in one request if the server takes so
        many calls; references are then resolved here."""
        session = await self.session()
        if len(calls) <= session.calls:
            return await self._ask(session, calls)
        found: list[Arguments] = []
        for call in calls:
            if call.follows is not None:
                name, path = call.follows
                call = Call(call.method, {**call.arguments, name: words(found[0], path)})
            found += await self._ask(session, [call])
        return found

    async def _ask(self, session: Session, calls: Sequence[Call]) -> list[Arguments]:
        asked = [[call.method, _arguments(session, call, calls[0]), str(at)] for at, call in enumerate(calls)]
        answer = await self._send("POST", session.api, {"using": [CORE, MAIL], "methodCalls": asked})
        responses = answer.object().get("methodResponses")
        if not isinstance(responses, list):
            raise TransientError(f"{answer.url.host} answers without methodResponses")
        return [_response(responses, call, str(at)) for at, call in enumerate(calls)]

    async def blob(self, id: str) -> bytes | None:
        """The bytes of a mail; None where they are gone. PoisonError(too_large)."""
        url = (await self.session()).blob(id)
        try:
            answer = await self._send("GET", url, passing=(404,), body_bytes=limits.MESSAGE_BYTES)
        except Oversized as error:
            raise PoisonError(error.message, code="too_large") from error
        if answer.status == 404:
            return None
        if "html" in answer.headers.get("content-type", ""):
            raise TransientError(f"{answer.url.host} answers with a web page, not with a mail")
        return answer.body

    async def _send(
        self, method: str, url: str, document: Any = None, *, passing: Sequence[int] = (), body_bytes: int | None = None
    ) -> Answer:
        """By OAuth where the account has a provider, else with the name and password or the token that was entered."""
        user = self._config.user if not self._config.provider else ""
        return await self._access.http.send(
            method,
            url,
            json=document,
            headers={"Accept": "application/json, */*;q=0.5"},
            auth=(user, self._access.secret("token")) if user else None,
            bearer=None if user else self._bearer(),
            passing=passing,
            body_bytes=body_bytes,
        )

    def _bearer(self) -> Callable[[str], Awaitable[str]]:
        return self._access.token if self._config.provider else self._entered

    async def _entered(self, refused: str) -> str:
        """The token that the person made; there is no newer one."""
        if refused:
            raise AuthError(
                "the mail server does not take the token any more", remedy="make a new one and connect again"
            )
        return self._access.secret("token")


def words(found: Arguments, name: str) -> list[str]:
    """A list of ids in an answer. TransientError for anything else."""
    value = found.get(name)
    if not isinstance(value, list) or not all(map(is_id, value)):
        raise TransientError(f"the mail server answers without {name}")
    return value


def _arguments(session: Session, call: Call, first: Call) -> Arguments:
    arguments = {"accountId": session.account, **call.arguments}
    if call.follows is not None:
        name, path = call.follows
        arguments[f"#{name}"] = {"resultOf": "0", "name": first.method, "path": f"/{path}"}
    return arguments


def _response(responses: list[Any], call: Call, id: str) -> Arguments:
    for response in responses:
        match response:
            case ["error", {"type": str(kind)}, str(answered)] if answered == id:
                if kind in _FORBIDDEN:
                    raise AuthError(
                        f"the mail server refuses {call.method}: {kind}", remedy="allow the token to read mail"
                    )
                raise MethodError(call.method, kind)
            case [str(method), dict(found), str(answered)] if (method, answered) == (call.method, id):
                return found
    raise TransientError(f"the mail server does not answer {call.method}")
