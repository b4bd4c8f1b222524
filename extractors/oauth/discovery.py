"""What an issuer publishes about itself (RFC 8414, OpenID Connect Discovery)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx
from authlib.oauth2.rfc8414 import get_well_known_url

from extractors.address import parse_url
from extractors.http import Http
from extractors.oauth.client import Client
from extractors.oauth_settings import OAuthSettings
from extractors.providers import Endpoints, known_endpoints, provider_of
from schemas.errors import AuthError, ConfigError

_OWN_MACHINE = frozenset({"127.0.0.1", "localhost", "::1"})


async def client_of(settings: OAuthSettings, secret: str, http: Http) -> Client:
    """ConfigError for settings that name no client; otherwise errors as in ``discover``."""
    provider = provider_of(settings)
    endpoints = known_endpoints(provider, settings) or await discover(http, settings.issuer)
    return Client(provider, endpoints, settings.client_id, secret)


async def discover(http: Http, issuer: str) -> Endpoints:
    """AuthError when nothing is published there, or for another issuer; TransientError when nobody answers."""
    base = str(_guarded(issuer, "issuer")).rstrip("/")
    for url in (f"{base}/.well-known/openid-configuration", get_well_known_url(base, external=True)):
        answer = await http.send("GET", url, passing=(401, 403, 404, 405, 410))
        if answer.status == 200:
            return _endpoints(answer.object(), base)
    raise AuthError(f"{base} publishes no OAuth settings", remedy="check the setting 'issuer'")


def _endpoints(found: Mapping[str, Any], issuer: str) -> Endpoints:
    said = found.get("issuer")
    if not isinstance(said, str) or said.rstrip("/") != issuer:
        raise AuthError(f"{issuer} answers for another issuer", remedy="check the setting 'issuer'")
    return Endpoints(
        issuer=said,
        authorization=_url(found, "authorization_endpoint", issuer) or _missing(issuer, "authorization_endpoint"),
        token=_url(found, "token_endpoint", issuer) or _missing(issuer, "token_endpoint"),
        device=_url(found, "device_authorization_endpoint", issuer),
        revocation=_url(found, "revocation_endpoint", issuer),
        names_itself=found.get("authorization_response_iss_parameter_supported") is True,
        takes_basic="client_secret_basic"
        in (found.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]),
    )


def _missing(issuer: str, name: str) -> str:
    raise AuthError(f"{issuer} publishes no {name}", remedy="check the setting 'issuer'")


def _url(found: Mapping[str, Any], name: str, issuer: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value:
        return ""
    url = _guarded(value, name)
    if url.scheme == "http" and not issuer.startswith("http:"):
        raise AuthError(f"{issuer} publishes a {name} without encryption")
    return str(url)


def _guarded(text: str, name: str) -> httpx.URL:
    """https, or http on this machine."""
    try:
        url = parse_url(text)
    except AuthError as error:
        raise ConfigError(f"{name}: {error}") from error
    if url.scheme != "https" and url.host not in _OWN_MACHINE:
        raise ConfigError(f"{name}: {url.host} is not encrypted", remedy="use its https address")
    return url
