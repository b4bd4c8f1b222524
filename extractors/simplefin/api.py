"""The SimpleFIN protocol: a setup token is traded once for an access URL, and that gives the accounts."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import unquote

import httpx

from extractors.address import parse_url
from extractors.connector import Access, Quota
from extractors.simplefin.answer import AccountSet, account_set
from schemas.errors import AuthError

QUOTA = Quota("SimpleFIN", calls=24)
"""What the SimpleFIN Bridge asks for: at most 24 requests a day."""
EARLY = Quota("SimpleFIN, earlier than by itself", calls=1, per=timedelta(minutes=5), reserve=1)
"""A poll soon after the last one, which only a person may ask for."""
SETUP_TOKEN, ACCESS_URL = "setup_token", "access_url"
_HERE = frozenset(["127.0.0.1", "localhost", "::1"])
_NEW_TOKEN = "make a new setup token at your SimpleFIN server and connect the account again"


@dataclass(frozen=True, slots=True)
class Door:
    """An access URL taken apart; ``auth`` never appears in a message."""

    url: str
    auth: tuple[str, str] = field(repr=False)


def door(access_url: str) -> Door:
    """AuthError for what is no access URL: the protocol wants https with a name and a password."""
    try:
        url = httpx.URL(access_url.strip())
        name, _, password = url.userinfo.decode().partition(":")
    except (httpx.InvalidURL, UnicodeDecodeError, ValueError) as error:
        raise AuthError("the SimpleFIN access URL cannot be read", remedy=_NEW_TOKEN) from error
    if not name or not password:
        raise AuthError("the SimpleFIN access URL holds no name and password", remedy=_NEW_TOKEN)
    bare = _safe(str(url.copy_with(userinfo=b"")))
    return Door(bare.rstrip("/"), (unquote(name), unquote(password)))


def _safe(url: str) -> str:
    target = parse_url(url)
    if target.scheme != "https" and target.host not in _HERE:
        raise AuthError(f"{target.host} is addressed without encryption", remedy=_NEW_TOKEN)
    return str(target)


async def claim(setup_token: str, access: Access) -> str:
    """The access URL. Works once: a token that was claimed by somebody else is compromised."""
    try:
        url = base64.b64decode("".join(setup_token.split()) + "==", validate=False).decode()
        target = _safe(url)
    except (binascii.Error, UnicodeDecodeError, ValueError) as error:
        raise AuthError("this is no SimpleFIN setup token", remedy="copy it again, as a whole") from error
    answer = await access.http.send("POST", target, content=b"", passing=(403,))
    if answer.status == 403:
        raise AuthError(
            "the setup token does not exist or was claimed before, perhaps by somebody else",
            remedy="disable it at your SimpleFIN server and make a new one",
        )
    access_url = answer.body.decode("utf-8", "replace").strip()
    door(access_url)
    return access_url


async def accounts(
    access: Access,
    since: date | None = None,
    until: date | None = None,
    *,
    pending: bool = True,
) -> AccountSet:
    """All accounts, with their rows from ``since`` up to ``until`` (exclusive; None: up to now). ``since`` None:
    balances only. Counts one call."""
    target = door(access.secret(ACCESS_URL))
    params: dict[str, str | int] = {"version": 2}
    if since is None:
        params["balances-only"] = 1
    else:
        params |= {"start-date": _midnight(since)} | ({"end-date": _midnight(until)} if until else {})
        params |= {"pending": 1} if pending else {}
    await access.spend(QUOTA)
    answer = await access.http.send("GET", f"{target.url}/accounts", params=params, auth=target.auth, passing=(403,))
    if answer.status == 403:
        raise AuthError(
            "the SimpleFIN server refuses access: it was revoked, or the password is wrong", remedy=_NEW_TOKEN
        )
    return account_set(answer.object())


def _midnight(day: date) -> int:
    """The protocol's days begin at midnight UTC: that is where banks' days, which have no time, are put."""
    return int(datetime.combine(day, time(0), UTC).timestamp())
