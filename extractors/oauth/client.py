"""The OAuth client of one account, and what it says to a provider's endpoints."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from authlib.oauth2.rfc6749.parameters import prepare_token_request

from extractors.http import Answer, Http, wished
from extractors.oauth.errors import Denied, TurnedAway
from extractors.providers import Endpoints, Provider
from schemas.errors import RateLimited, TransientError

_ANSWER_CAP = 1_000_000
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
_REFUSALS = range(300, 600)
_LATER = frozenset({"temporarily_unavailable", "server_error"})
_CODE_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-.")

_MEANING: Mapping[str, tuple[str, str]] = {
    "invalid_client": ("does not know this client id, or its secret is wrong", "check client_id and the client secret"),
    "unauthorized_client": ("does not let this client ask that way", "check the kind of client that you registered"),
    "invalid_scope": ("does not know a permission that is needed", "enable its API for the client that you registered"),
    "access_denied": ("says that the consent was refused", "say yes there, if you want this account"),
    "invalid_grant": ("does not accept the consent any more", "connect the account again"),
    "expired_token": ("says that the code has expired", "begin again"),
}


@dataclass(frozen=True, slots=True)
class Client:
    """``secret`` is empty for a public client, which is what a program on a person's machine is."""

    provider: Provider
    endpoints: Endpoints
    client_id: str
    secret: str = field(default="", repr=False)

    @property
    def title(self) -> str:
        """What to call the provider when speaking to the person."""
        return self.endpoints.issuer if self.provider.endpoints is None else self.provider.title

    async def ask(self, http: Http, url: str, parameters: Mapping[str, str], now: datetime) -> dict[str, Any]:
        """A JSON object. Denied for an OAuth error; TransientError for everything that is not OAuth: HTML, a form,
        a 429, a 5xx. ``parameters`` hold ``grant_type`` for the token endpoint."""
        found = _object(answer := await self.tell(http, url, parameters, now))
        if found is None:
            raise _later(answer, now)
        if found.get("error"):  # null or empty beside a token is no error
            raise self._denial(code_word(found["error"]), answer, now)
        return found

    async def tell(self, http: Http, url: str, parameters: Mapping[str, str], now: datetime) -> Answer:
        """Like ``ask``, where only the status counts: a 2xx with any body."""
        answer = await self._post(http, url, parameters)
        if answer.status < 300:
            return answer
        if answer.status == 429:
            raise RateLimited(f"{self.title} asks for fewer calls", retry_at=wished(answer.headers, now))
        found = _object(answer) or {}
        if answer.status >= 500 or "error" not in found:
            raise _later(answer, now)
        raise self._denial(code_word(found["error"]), answer, now)

    async def _post(self, http: Http, url: str, parameters: Mapping[str, str]) -> Answer:
        """Whatever its status. Secrets are in the header or in the form, never in the address."""
        fields = dict(parameters)
        auth = None
        if self.secret and self.endpoints.takes_basic:
            auth = (quote(self.client_id, safe=""), quote(self.secret, safe=""))
        else:
            fields |= {"client_id": self.client_id} | ({"client_secret": self.secret} if self.secret else {})
        grant_type = fields.pop("grant_type", "")
        body = prepare_token_request(grant_type, **fields) if grant_type else urlencode(fields)
        return await http.send("POST", url, content=body.encode(), headers=_FORM, auth=auth, passing=_REFUSALS)

    def _denial(self, code: str, answer: Answer, now: datetime) -> Denied | TransientError:
        if code in _LATER:
            return _later(answer, now)
        said, remedy = _MEANING.get(code, (f"refuses: {code}", "look at the client that you registered there"))
        return Denied(f"{self.title} {said}", code=code, remedy=remedy)


def code_word(error: object) -> str:
    """An OAuth error code, cleaned: it is outside text that goes into messages."""
    word = error.lower()[:60] if isinstance(error, str) else ""
    return word if word and set(word) <= _CODE_LETTERS else "unknown_error"


def _object(answer: Answer) -> dict[str, Any] | None:
    if len(answer.body) > _ANSWER_CAP:
        return None
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _later(answer: Answer, now: datetime) -> TransientError:
    kind = answer.headers.get("content-type", "no type").partition(";")[0][:80]
    text = f"{answer.url.host} answers {answer.status} with {kind}, not as OAuth does"
    did_nothing = 400 <= answer.status < 500 or answer.status == 503
    return (TurnedAway if did_nothing else TransientError)(text, retry_at=wished(answer.headers, now))
