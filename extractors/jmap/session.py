"""The session of a JMAP login: where to ask, and how much at once (RFC 8620, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from extractors.address import origin, parse_url
from extractors.http import Answer
from schemas.errors import AuthError, TransientError

CORE, MAIL = "urn:ietf:params:jmap:core", "urn:ietf:params:jmap:mail"
WELL_KNOWN = "/.well-known/jmap"
OBJECTS, CALLS = 500, 16
"""The most that we ask for at once, whatever the server would give."""


@dataclass(frozen=True, slots=True)
class Session:
    """``api`` and ``download`` are whole addresses; the latter has variables. ``objects``: that a get or a changes may
    ask for, ``calls``: that a request may hold."""

    account: str
    name: str
    api: str
    download: str
    objects: int
    calls: int

    def blob(self, id: str) -> str:
        """Where the bytes of a mail are."""
        values = {"accountId": self.account, "blobId": id, "type": "message/rfc822", "name": "mail.eml"}
        url = self.download
        for name, value in values.items():
            url = url.replace(f"{{{name}}}", quote(value, safe=""))
        return url


def session_url(base_url: str) -> str:
    """A bare host is asked where its session is."""
    url = parse_url(base_url)
    return base_url if url.path not in ("", "/") else str(url.copy_with(path=WELL_KNOWN))


def read_session(answer: Answer, account: str) -> Session:
    """``account``: the wished one; '' for the login's own. AuthError where it has no mail.

    Addresses may be relative to that of the session, and on another host; never without encryption where the session
    has it: the credentials go there.
    """
    found = answer.object()
    capabilities, accounts = _mapping(found, "capabilities"), _mapping(found, "accounts")
    if CORE not in capabilities:
        raise TransientError(f"{answer.url.host} does not speak JMAP")
    id = account or _text(_mapping(found, "primaryAccounts").get(MAIL))
    if MAIL not in capabilities or not isinstance(owned := accounts.get(id), dict):
        what = f"no account {account!r}" if account else "no mail"
        raise AuthError(f"this login has {what} at {answer.url.host}", remedy="allow the token to read mail")
    core = _mapping(capabilities, CORE)
    return Session(
        account=id,
        name=_text(owned.get("name"))[:320] or id,
        api=_address(found, "apiUrl", answer.url),
        download=_address(found, "downloadUrl", answer.url),
        objects=_bound(core, "maxObjectsInGet", OBJECTS),
        calls=_bound(core, "maxCallsInRequest", CALLS),
    )


def _address(session: Mapping[str, Any], name: str, base: httpx.URL) -> str:
    """Joined as text: what is between braces is no address yet."""
    value = session.get(name)
    if not isinstance(value, str) or not value:
        raise TransientError(f"the JMAP session of {base.host} has no {name}")
    path, brace, rest = value.partition("{")
    target = parse_url(str(base.join(path)))
    if target.scheme != base.scheme and base.scheme == "https":
        raise AuthError(f"{base.host} names an address without encryption", remedy="tell its administrator")
    if origin(target) != origin(base) and base.scheme != "https":
        raise AuthError(f"{base.host} sends us to {target.host} without encryption", remedy="use its https address")
    return f"{target}{brace}{rest}"


def _mapping(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _bound(core: Mapping[str, Any], name: str, most: int) -> int:
    value = core.get(name)
    return max(1, min(value, most)) if isinstance(value, int) and value is not True else most
