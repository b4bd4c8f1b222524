"""Provider profiles: which client an account names, and whether what was granted is enough."""

from __future__ import annotations

import pytest

from extractors.oauth_settings import OAuthSettings
from extractors.providers import FASTMAIL, GOOGLE, MICROSOFT, OIDC, PROVIDERS, known_endpoints, provider_of, title_of
from schemas.errors import ConfigError

GOOGLE_API = "https://www.googleapis.com/auth/"
GRAPH = "https://graph.microsoft.com/"


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (OAuthSettings(), "unknown provider ''; known: google, microsoft, fastmail, oidc"),
        (OAuthSettings(provider="gogle", client_id="c"), "did you mean 'google'"),
        (OAuthSettings(provider="google"), "'client_id' is missing: .* registered with Google"),
        (OAuthSettings(provider="oidc", client_id="c"), "'issuer' is missing"),
    ],
)
def test_settings_that_name_no_client_say_what_is_missing(settings: OAuthSettings, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        provider_of(settings)


def test_settings_that_name_a_client_give_its_provider() -> None:
    named = OAuthSettings(provider="oidc", client_id="c", issuer="https://login.example.org")
    assert provider_of(named) is OIDC
    assert known_endpoints(OIDC, named) is None
    assert title_of(OIDC, named) == "https://login.example.org"
    assert provider_of(OAuthSettings(provider="google", client_id="c")) is GOOGLE
    assert title_of(GOOGLE, named) == "Google"


@pytest.mark.parametrize("tenant", ["contoso.example", "https://login.microsoftonline.com/contoso.example/v2.0"])
def test_a_microsoft_tenant_has_its_own_addresses(tenant: str) -> None:
    found = known_endpoints(MICROSOFT, OAuthSettings(provider="microsoft", client_id="c", issuer=tenant))
    assert found is not None
    assert found.token == "https://login.microsoftonline.com/contoso.example/oauth2/v2.0/token"
    assert MICROSOFT.endpoints is not None
    assert found.device.endswith("/contoso.example/oauth2/v2.0/devicecode")


@pytest.mark.parametrize(
    "tenant", ["https://evil.example/x", "a/../b", "tenant?x=1", "https://login.microsoftonline.com/"]
)
def test_what_is_no_tenant_is_refused(tenant: str) -> None:
    with pytest.raises(ConfigError, match="its id or its domain"):
        known_endpoints(MICROSOFT, OAuthSettings(provider="microsoft", client_id="c", issuer=tenant))


@pytest.mark.parametrize(
    ("provider", "needed", "granted", "missing"),
    [
        (GOOGLE, [f"{GOOGLE_API}gmail.readonly"], [f"{GOOGLE_API}gmail.readonly", "openid"], []),
        (GOOGLE, [f"{GOOGLE_API}gmail.readonly"], ["https://mail.google.com/"], []),
        (
            GOOGLE,
            [f"{GOOGLE_API}calendar.readonly"],
            [f"{GOOGLE_API}gmail.readonly"],
            [f"{GOOGLE_API}calendar.readonly"],
        ),
        (GOOGLE, [f"{GOOGLE_API}calendar.events.readonly"], [f"{GOOGLE_API}calendar.readonly"], []),
        (MICROSOFT, [f"{GRAPH}Mail.Read", "offline_access"], ["Mail.Read", "User.Read"], []),
        (MICROSOFT, [f"{GRAPH}Mail.Read"], [f"{GRAPH}mail.readwrite"], []),
        (MICROSOFT, [f"{GRAPH}Calendars.Read"], [f"{GRAPH}Mail.Read"], [f"{GRAPH}Calendars.Read"]),
        (MICROSOFT, ["https://outlook.office.com/IMAP.AccessAsUser.All"], ["IMAP.AccessAsUser.All"], []),
        (FASTMAIL, ["urn:ietf:params:oauth:scope:mail"], [], ["urn:ietf:params:oauth:scope:mail"]),
        (OIDC, ["openid", "offline_access", "mail"], ["mail"], []),
    ],
)
def test_what_was_granted_is_compared_as_each_provider_writes_it(
    provider: object, needed: list[str], granted: list[str], missing: list[str]
) -> None:
    assert provider in PROVIDERS.values()
    assert next(p for p in PROVIDERS.values() if p is provider).missing(needed, granted) == missing


def test_every_profile_is_encrypted_and_comes_back_to_this_machine() -> None:
    for name, provider in PROVIDERS.items():
        assert provider.name == name
        assert provider.redirect.format(port=1).startswith(("http://127.0.0.1:1", "http://localhost:1"))
        if provider.endpoints is not None:
            found = provider.endpoints
            urls = (found.authorization, found.token, found.device, found.revocation)
            assert all(url.startswith("https://") for url in urls if url)
