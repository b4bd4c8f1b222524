"""The OAuth providers that Forewatch knows; the client id (and where there is one its secret) is the person's own."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from extractors.oauth_settings import OAuthSettings
from schemas.errors import ConfigError

_PROTOCOL_SCOPES = frozenset({"openid", "offline_access", "profile", "email"})
"""They give no data; providers drop them from what they say was granted."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a provider is asked. Empty: it offers no such thing. ``names_itself``: its redirects must carry ``iss``
    (RFC 9207). ``takes_basic``: a client's secret goes into the header, else into the form."""

    issuer: str
    authorization: str
    token: str
    device: str = ""
    revocation: str = ""
    names_itself: bool = False
    takes_basic: bool = False


@dataclass(frozen=True, slots=True)
class Provider:
    """``also``: scopes asked for beside the connector's. ``asks``: parameters of the consent page. ``redirect``: the
    loopback address as the provider wants it. ``covers``: by scope, what it includes. ``manage``: where a person ends
    consents. ``hint``: why consents end there. ``endpoints`` is None where the issuer publishes them."""

    name: str
    title: str
    endpoints: Endpoints | None
    also: Sequence[str] = ()
    asks: Mapping[str, str] = field(default_factory=dict)
    redirect: str = "http://127.0.0.1:{port}/callback"
    prefixes: Sequence[str] = ()
    covers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    manage: str = ""
    hint: str = ""

    def missing(self, needed: Sequence[str], granted: Sequence[str]) -> list[str]:
        """Which of the needed scopes were not granted, as they were asked for."""
        have = {self._plain(scope) for scope in granted}
        for wide, narrow in self.covers.items():
            if self._plain(wide) in have:
                have |= {self._plain(scope) for scope in narrow}
        return [s for s in needed if s not in _PROTOCOL_SCOPES and self._plain(s) not in have]

    def _plain(self, scope: str) -> str:
        """Providers answer with or without the address of their API before a scope, and in other cases."""
        for prefix in self.prefixes:
            scope = scope.removeprefix(prefix)
        return scope.lower()


_GOOGLE_API = "https://www.googleapis.com/auth/"

GOOGLE = Provider(
    name="google",
    title="Google",
    endpoints=Endpoints(  # its device codes give neither mail nor calendar, so it counts as having none
        issuer="https://accounts.google.com",
        authorization="https://accounts.google.com/o/oauth2/v2/auth",
        token="https://oauth2.googleapis.com/token",
        revocation="https://oauth2.googleapis.com/revoke",
    ),
    asks={"access_type": "offline", "prompt": "consent"},
    covers={
        "https://mail.google.com/": [f"{_GOOGLE_API}gmail.{part}" for part in ("modify", "readonly", "metadata")],
        f"{_GOOGLE_API}gmail.modify": [f"{_GOOGLE_API}gmail.readonly", f"{_GOOGLE_API}gmail.metadata"],
        f"{_GOOGLE_API}gmail.readonly": [f"{_GOOGLE_API}gmail.metadata"],
        f"{_GOOGLE_API}calendar": [
            f"{_GOOGLE_API}calendar.{part}" for part in ("readonly", "events.readonly", "calendarlist.readonly")
        ],
        f"{_GOOGLE_API}calendar.readonly": [
            f"{_GOOGLE_API}calendar.{part}" for part in ("events.readonly", "calendarlist.readonly")
        ],
    },
    manage="https://myaccount.google.com/connections",
    hint="while your Google project is in 'Testing' every consent ends after 7 days: publish it ('In production')",
)

_GRAPH = "https://graph.microsoft.com/"
_MICROSOFT_LOGIN = "https://login.microsoftonline.com"

MICROSOFT = Provider(
    name="microsoft",
    title="Microsoft",
    endpoints=Endpoints(
        issuer="",  # each person's tenant, which is not known before
        authorization=f"{_MICROSOFT_LOGIN}/common/oauth2/v2.0/authorize",
        token=f"{_MICROSOFT_LOGIN}/common/oauth2/v2.0/token",
        device=f"{_MICROSOFT_LOGIN}/common/oauth2/v2.0/devicecode",
    ),
    also=("offline_access",),
    asks={"prompt": "select_account"},
    redirect="http://localhost:{port}",
    prefixes=(_GRAPH, "https://outlook.office.com/", "https://outlook.office365.com/"),
    covers={
        "Mail.ReadWrite": ["Mail.Read", "Mail.ReadBasic"],
        "Mail.Read": ["Mail.ReadBasic"],
        "Calendars.ReadWrite": ["Calendars.Read"],
    },
    manage="https://account.live.com/consent/Manage",
    hint="a password change, 90 days without use or your organisation's rules end a consent there",
)

FASTMAIL = Provider(
    name="fastmail",
    title="Fastmail",
    endpoints=Endpoints(
        issuer="https://api.fastmail.com",
        authorization="https://api.fastmail.com/oauth/authorize",
        token="https://api.fastmail.com/oauth/refresh",
        revocation="https://api.fastmail.com/oauth/revoke",
        names_itself=True,
    ),
    also=("offline_access",),
    manage="https://app.fastmail.com/settings/security/apps",
)

OIDC = Provider(
    name="oidc",
    title="the provider",
    endpoints=None,
    also=("openid", "offline_access"),
    asks={"prompt": "consent"},
)

PROVIDERS: Mapping[str, Provider] = {each.name: each for each in (GOOGLE, MICROSOFT, FASTMAIL, OIDC)}


def provider_of(settings: OAuthSettings) -> Provider:
    """ConfigError for settings that name no OAuth client; it says which one is missing or wrong."""
    if (provider := PROVIDERS.get(settings.provider)) is None:
        near = difflib.get_close_matches(settings.provider, PROVIDERS, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(PROVIDERS)}"
        raise ConfigError(f"setting 'provider': unknown provider {settings.provider!r}", remedy=remedy)
    if not settings.client_id:
        raise ConfigError(
            f"setting 'client_id' is missing: the id of the client that you registered with {provider.title}"
        )
    if provider is OIDC and not settings.issuer:
        raise ConfigError(
            "setting 'issuer' is missing: the address of your provider, such as https://login.example.org"
        )
    return provider


def title_of(provider: Provider, settings: OAuthSettings) -> str:
    """What to call it when speaking to the person."""
    return provider.title if provider.endpoints is not None else settings.issuer


def known_endpoints(provider: Provider, settings: OAuthSettings) -> Endpoints | None:
    """Without a request; None where ``extractors.oauth.discovery`` must ask. A Microsoft tenant is a setting."""
    found = provider.endpoints
    if found is None or provider is not MICROSOFT or not settings.issuer:
        return found
    tenant = settings.issuer.removeprefix(f"{_MICROSOFT_LOGIN}/").removesuffix("/").removesuffix("/v2.0")
    if not tenant or not set(tenant.lower()) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-"):
        raise ConfigError("setting 'issuer': a Microsoft tenant is its id or its domain, such as contoso.example")
    base = f"{_MICROSOFT_LOGIN}/{tenant}/oauth2/v2.0"
    return Endpoints(
        issuer="",
        authorization=f"{base}/authorize",
        token=f"{base}/token",
        device=f"{base}/devicecode",
    )
