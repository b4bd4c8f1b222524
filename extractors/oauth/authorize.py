"""The authorisation code flow with PKCE (RFC 6749 §4.1, RFC 7636, RFC 9207), without its I/O but one exchange."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

from authlib.oauth2.rfc6749.errors import OAuth2Error
from authlib.oauth2.rfc6749.parameters import parse_authorization_code_response, prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from extractors.http import Http
from extractors.oauth.client import Client, code_word
from extractors.oauth.errors import Denied
from extractors.oauth.grant import granted
from extractors.oauth.token import Token
from schemas.errors import AuthError

_URL_CAP = 16_384
_AGAIN = "begin again, and use the page that is opened then"


@dataclass(frozen=True, slots=True)
class Authorization:
    """One question to a person. ``url`` is for their browser; the rest proves that the answer belongs to it."""

    url: str = field(repr=False)
    state: str = field(repr=False)
    verifier: str = field(repr=False)
    redirect_uri: str
    scopes: tuple[str, ...]


def begin(
    client: Client,
    scopes: Sequence[str],
    redirect_uri: str,
    *,
    hint: str = "",
    token: Callable[[int], str] = secrets.token_urlsafe,
) -> Authorization:
    """``hint``: the address of the account, which spares the person a choice. ``token``: randomness, as text."""
    state, verifier = token(32), token(64)
    wanted = tuple(dict.fromkeys([*client.provider.also, *scopes]))
    url = prepare_grant_uri(
        client.endpoints.authorization,
        client_id=client.client_id,
        response_type="code",
        redirect_uri=redirect_uri,
        scope=" ".join(wanted),
        state=state,
        code_challenge=create_s256_code_challenge(verifier),
        code_challenge_method="S256",
        login_hint=hint or None,
        **client.provider.asks,
    )
    return Authorization(str(url), state, verifier, redirect_uri, wanted)


def is_answer(authorization: Authorization, url: str) -> bool:
    """Whether a redirect belongs to this question: others may call the same port."""
    return hmac.compare_digest(_only(url, "state").encode(), authorization.state.encode())


def code_of(client: Client, authorization: Authorization, url: str) -> str:
    """The code in the address to which the browser was sent. AuthError when it is no, or not from that provider."""
    if len(url) > _URL_CAP or not is_answer(authorization, url):
        raise AuthError("this answer does not belong to the question that was asked", remedy=_AGAIN)
    issuer = _only(url, "iss")
    if client.endpoints.issuer and (issuer or client.endpoints.names_itself) and issuer != client.endpoints.issuer:
        raise AuthError(f"this answer does not come from {client.title}", remedy=_AGAIN)
    if error := _only(url, "error"):
        code = code_word(error)
        said = "was refused" if code == "access_denied" else f"was not given: {code}"
        raise Denied(f"the consent {said}", code=code, remedy="say yes there, if you want this account")
    try:
        found: dict[str, str] = parse_authorization_code_response(url, authorization.state)
    except OAuth2Error:
        raise AuthError(f"the answer of {client.title} holds no code", remedy=_AGAIN) from None
    return found["code"]


async def exchange(http: Http, client: Client, authorization: Authorization, code: str, now: datetime) -> Token:
    """The tokens for a code, which works once. Errors as in ``Client.ask``."""
    answer = await client.ask(
        http,
        client.endpoints.token,
        {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": authorization.redirect_uri,
            "code_verifier": authorization.verifier,
        },
        now,
    )
    return granted(client, answer, now=now, asked=authorization.scopes)


def _only(url: str, name: str) -> str:
    """The one value of a parameter; empty where there is none, or where there are several."""
    try:
        values = parse_qs(urlsplit(url[:_URL_CAP]).query, max_num_fields=50).get(name, [])
    except ValueError:
        return ""
    return values[0] if len(values) == 1 else ""
