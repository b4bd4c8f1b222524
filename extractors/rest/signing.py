"""Signing: the credentials of an account on its requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from extractors.connector import Access, SecretField
from extractors.http import Bearer
from extractors.rest.auth import Auth, BasicAuth, BearerAuth, ClientCredentials, HeaderKey, NoAuth, OAuth2
from schemas.errors import AuthError, TransientError


@dataclass(frozen=True, slots=True)
class Signature:
    """What goes with a request so that it is let in."""

    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    params: Mapping[str, str] = field(default_factory=dict, repr=False)
    basic: tuple[str, str] | None = field(default=None, repr=False)
    bearer: Bearer | None = None


class Signer:
    """For one poll."""

    def __init__(self, auth: Auth, access: Access) -> None:
        self._auth = auth
        self._access = access
        self._token = ""

    def signature(self) -> Signature:
        """AuthError where a secret is missing, or is none that can be sent."""
        access = self._access
        match self._auth:
            case BasicAuth():
                return Signature(basic=(access.secret("username"), access.secret("password")))
            case BearerAuth():
                return Signature({"Authorization": f"Bearer {_sendable(access.secret('token'))}"})
            case HeaderKey(place="header", name=name, prefix=prefix):
                return Signature({name: prefix + _sendable(access.secret("api_key"))})
            case HeaderKey(name=name):
                return Signature(params={name: access.secret("api_key")})
            case OAuth2():
                return Signature(bearer=access.token)
            case ClientCredentials():
                return Signature(bearer=self._client_token)
            case NoAuth():
                return Signature()

    async def _client_token(self, refused: str = "") -> str:
        """RFC 6749, 4.4: traded once a poll, and once more when the source does not take it."""
        auth = self._auth
        if not isinstance(auth, ClientCredentials):
            raise TypeError("these are no client credentials")
        if self._token and self._token != refused:
            return self._token
        access = self._access
        client = access.secret("client_id"), access.secret("client_secret")
        form = {"grant_type": "client_credentials"}
        form |= {"scope": " ".join(auth.scopes)} if auth.scopes else {}
        form |= {"audience": auth.audience} if auth.audience else {}
        form |= {"client_id": client[0], "client_secret": client[1]} if auth.style == "form" else {}
        basic = client if auth.style == "basic" else None
        answer = await access.http.send("POST", auth.token_url, form=form, auth=basic, passing=(400, 401))
        if answer.status != 200:
            raise AuthError(f"{answer.url.host} does not accept the client", remedy="check its id and secret")
        token = answer.object().get("access_token")
        if not isinstance(token, str) or not token:
            raise TransientError(f"{answer.url.host} gives no access token")
        self._token = _sendable(token)
        return self._token


def secrets(auth: Auth) -> tuple[SecretField, ...]:
    """What the person is asked for."""
    match auth:
        case BasicAuth():
            return SecretField("username", "User name", auth.help), SecretField("password", "Password", auth.help)
        case BearerAuth():
            return (SecretField("token", "Access token", auth.help),)
        case HeaderKey():
            return (SecretField("api_key", "API key", auth.help),)
        case ClientCredentials():
            return SecretField("client_id", "Client id", auth.help), SecretField("client_secret", "Secret", auth.help)
        case NoAuth() | OAuth2():
            return ()


def _sendable(secret: str) -> str:
    """AuthError for what no header can hold, without showing it."""
    text = secret.strip()
    if not text or not (text.isascii() and text.isprintable()):
        raise AuthError("a stored secret has characters that cannot be sent", remedy="enter it again")
    return text
