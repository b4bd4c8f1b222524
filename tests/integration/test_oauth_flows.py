"""The flows against a real authorisation server."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from extractors.http import Http
from extractors.oauth import authorize
from extractors.oauth.client import Client
from extractors.oauth.consent import by_browser, by_device
from extractors.oauth.device import DeviceCode
from extractors.oauth.discovery import client_of, discover
from extractors.oauth.errors import Denied
from extractors.oauth.revoke import revoke
from extractors.oauth.token import Token
from extractors.oauth_settings import OAuthSettings
from schemas.clock import SystemClock
from schemas.errors import AuthError
from tests.peers.oidc import CLIENT, CONFIDENTIAL, Oidc, consent

CLOCK = SystemClock()


def opened() -> Http:
    return Http(CLOCK.now, allow_private=True)


async def client_at(issuer: str, http: Http, client_id: str = CLIENT, secret: str = "") -> Client:
    return await client_of(OAuthSettings(provider="oidc", client_id=client_id, issuer=issuer), secret, http)


async def consented(client: Client, http: Http, *scopes: str) -> Token:
    pages: list[asyncio.Task[str]] = []
    token = await by_browser(
        client, scopes, http, CLOCK, lambda url: pages.append(asyncio.ensure_future(consent(url))), limit_s=30
    )
    await asyncio.gather(*pages)
    return token


async def renewed(client: Client, http: Http, token: Token) -> dict[str, object]:
    question = {"grant_type": "refresh_token", "refresh_token": token.refresh_token}
    return await client.ask(http, client.endpoints.token, question, CLOCK.now())


def test_a_person_consents_in_a_browser(oidc_server: Oidc) -> None:
    async def scenario() -> Token:
        async with opened() as http:
            return await consented(await client_at(oidc_server.url, http), http, "mail", "calendar")

    token = asyncio.run(scenario())
    assert set(token.scope) == {"openid", "offline_access", "mail", "calendar"}
    assert token.expires_at is not None
    assert 3500 < (token.expires_at - datetime.now(UTC)).total_seconds() <= 3600
    told = oidc_server.introspect(token.access_token)
    assert (told["active"], told["sub"], told["client_id"]) == (True, "nora@example.org", CLIENT)
    assert oidc_server.introspect(token.refresh_token)["active"] is True


def test_a_person_who_says_no_in_the_browser_is_believed(oidc_server: Oidc) -> None:
    async def scenario() -> None:
        async with opened() as http:
            client = await client_at(oidc_server.url, http)
            pages: list[asyncio.Task[str]] = []
            with pytest.raises(Denied) as caught:
                await by_browser(
                    client,
                    ["mail"],
                    http,
                    CLOCK,
                    lambda url: pages.append(asyncio.ensure_future(consent(url, refuse=True))),
                    limit_s=30,
                )
            await asyncio.gather(*pages)
            assert caught.value.code == "access_denied"

    asyncio.run(scenario())


def test_a_client_with_a_secret_consents_too(oidc_server: Oidc) -> None:
    async def scenario() -> Token:
        async with opened() as http:
            client = await client_at(oidc_server.url, http, *CONFIDENTIAL)
            token = await consented(client, http, "bank")
            with pytest.raises(Denied, match="does not know this client id, or its secret is wrong"):
                await renewed(await client_at(oidc_server.url, http, CONFIDENTIAL[0], "wrong"), http, token)
            return token

    assert "bank" in asyncio.run(scenario()).scope


def test_an_answer_pasted_by_hand_works_once_and_only_with_its_question(oidc_server: Oidc) -> None:
    async def scenario() -> None:
        async with opened() as http:
            client = await client_at(oidc_server.url, http)
            question = authorize.begin(client, ["mail"], "http://127.0.0.1:9/callback")
            with pytest.raises(Exception, match="connect") as caught:
                await consent(question.url)
            url = str(caught.value.request.url)  # type: ignore[attr-defined]
            other = authorize.begin(client, ["mail"], "http://127.0.0.1:9/callback")
            with pytest.raises(AuthError, match="does not belong"):
                authorize.code_of(client, other, url)
            with pytest.raises(AuthError, match="does not come from"):
                authorize.code_of(client, question, re.sub("iss=[^&]*", "iss=https%3A%2F%2Fevil.example", url))
            with pytest.raises(AuthError, match="does not come from"):
                authorize.code_of(client, question, re.sub("&iss=[^&]*", "", url))
            code = authorize.code_of(client, question, url)
            token = await authorize.exchange(http, client, question, code, CLOCK.now())
            assert oidc_server.introspect(token.access_token)["active"] is True
            with pytest.raises(Denied) as again:
                await authorize.exchange(http, client, question, code, CLOCK.now())
            assert again.value.code == "invalid_grant"
            assert oidc_server.introspect(token.access_token)["active"] is False, "a code used twice ends the consent"

    asyncio.run(scenario())


def test_a_code_that_somebody_else_caught_is_worth_nothing(oidc_server: Oidc) -> None:
    """PKCE: without the verifier there is no token."""

    async def scenario() -> None:
        async with opened() as http:
            client = await client_at(oidc_server.url, http)
            question = authorize.begin(client, ["mail"], "http://127.0.0.1:9/callback")
            with pytest.raises(Exception, match="connect") as caught:
                await consent(question.url)
            code = authorize.code_of(client, question, str(caught.value.request.url))  # type: ignore[attr-defined]
            thief = authorize.begin(client, ["mail"], question.redirect_uri)
            with pytest.raises(Denied) as denied:
                await authorize.exchange(http, client, thief, code, CLOCK.now())
            assert denied.value.code == "invalid_grant"

    asyncio.run(scenario())


def test_a_person_consents_on_another_device(oidc_server: Oidc) -> None:
    seen: list[DeviceCode] = []

    async def scenario() -> Token:
        async with opened() as http:
            client = await client_at(oidc_server.url, http)
            waits = 0

            async def sleep(seconds: float) -> None:
                nonlocal waits
                waits += 1
                if waits == 2:  # the first question comes too early, and is told so
                    await consent(seen[0].direct)

            return await by_device(client, ["mail"], http, CLOCK, seen.append, sleep=sleep)

    token = asyncio.run(scenario())
    assert "mail" in token.scope
    assert oidc_server.introspect(token.access_token)["active"] is True
    assert seen[0].user_code in seen[0].direct
    assert seen[0].device_code not in repr(seen)


def test_a_refresh_token_that_is_used_twice_ends_the_consent(oidc_server: Oidc) -> None:
    async def scenario() -> None:
        async with opened() as http:
            client = await client_at(oidc_server.url, http)
            token = await consented(client, http, "mail")
            fresh = await renewed(client, http, token)
            assert fresh["refresh_token"] != token.refresh_token
            with pytest.raises(Denied) as denied:
                await renewed(client, http, token)
            assert denied.value.code == "invalid_grant"
            with pytest.raises(Denied):
                await renewed(client, http, token.model_copy(update={"refresh_token": fresh["refresh_token"]}))

    asyncio.run(scenario())


def test_a_revoked_consent_is_over_at_the_provider(oidc_server: Oidc) -> None:
    async def scenario() -> None:
        async with opened() as http:
            client = await client_at(oidc_server.url, http)
            token = await consented(client, http, "mail")
            assert await revoke(http, client, token, CLOCK.now()) is True
            assert oidc_server.introspect(token.refresh_token)["active"] is False
            with pytest.raises(Denied):
                await renewed(client, http, token)
            assert await revoke(http, client, token, CLOCK.now()) is True, "ending it again does no harm"

    asyncio.run(scenario())


def test_an_issuer_is_found_by_what_it_publishes(oidc_server: Oidc) -> None:
    async def scenario() -> None:
        async with opened() as http:
            found = await discover(http, f"{oidc_server.url}/")
            assert found.issuer == oidc_server.url
            assert found.names_itself
            assert found.device.startswith(oidc_server.url)
            assert found.revocation.startswith(oidc_server.url)
            with pytest.raises(AuthError, match="publishes no OAuth settings"):
                await discover(http, f"{oidc_server.url}/elsewhere")
        async with Http(CLOCK.now) as guarded:
            with pytest.raises(AuthError, match="private network"):
                await discover(guarded, oidc_server.url)

    asyncio.run(scenario())


def test_authlib_brings_no_http_client_of_its_own() -> None:
    code = (
        "import sys, extractors.oauth.consent, extractors.oauth.tokens, extractors.oauth.revoke;"
        "sys.exit(any(name.startswith(('authlib.integrations', 'httpx2', 'requests')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
