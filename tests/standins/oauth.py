"""An authorisation server that says what it is told to say, or rotates its refresh tokens and notices reuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from extractors.oauth.client import Client
from extractors.providers import OIDC, Endpoints, Provider
from extractors.testing.standin import Asked, Reply, StandIn


class TokenServer(StandIn):
    """``script``: what the token endpoint answers, one by one; the last one for ever. Without one it rotates: each
    refresh token works once, and using it again ends the consent."""

    def __init__(self, script: Sequence[Reply] = (), *, rotating: str = "") -> None:
        super().__init__()
        self.script = list(script)
        self.current = rotating
        self.renewals = 0
        self.is_ended = False
        self.metadata: dict[str, Any] = {}

    def answer(self, asked: Asked) -> Reply:
        match asked.path:
            case "/.well-known/openid-configuration":
                return Reply.of(self.published())
            case "/token":
                return self._scripted() if self.script else self._rotated(asked.form())
            case "/device":
                return Reply.of(self.metadata["device"])
            case "/revoke":
                return Reply()
            case _:
                return Reply(404, b"<h1>nothing here</h1>", {"Content-Type": "text/html"})

    def published(self) -> dict[str, Any]:
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "device_authorization_endpoint": f"{self.url}/device",
            "revocation_endpoint": f"{self.url}/revoke",
            "authorization_response_iss_parameter_supported": True,
            **self.metadata.get("published", {}),
        }

    def tokens_asked(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.path == "/token"]

    def client(self, provider: Provider = OIDC, secret: str = "", *, takes_basic: bool = False) -> Client:
        endpoints = Endpoints(
            issuer=self.url,
            authorization=f"{self.url}/authorize",
            token=f"{self.url}/token",
            device=f"{self.url}/device",
            revocation=f"{self.url}/revoke",
            takes_basic=takes_basic,
        )
        return Client(provider, endpoints, "my-client", secret)

    def _scripted(self) -> Reply:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def _rotated(self, form: dict[str, str]) -> Reply:
        if self.is_ended or form.get("refresh_token") != self.current:
            self.is_ended = True
            return Reply.of({"error": "invalid_grant"}, 400)
        self.renewals += 1
        self.current = f"rt-{self.renewals + 1}"
        return Reply.of(
            {
                "access_token": f"at-{self.renewals + 1}",
                "token_type": "Bearer",
                "expires_in": 3600,
                "refresh_token": self.current,
            }
        )
