"""A whole sign-in: discovery, a real authorisation server, consent in a browser, a try at the source, the vault."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from extractors import registry
from extractors.oauth.store import CLIENT_SECRET
from forewatch.access import Credentials
from forewatch.connect import Connected, Connecting, Wishes
from forewatch.settings import Settings
from schemas.account import AccountState
from schemas.clock import SystemClock
from schemas.errors import AuthError
from tests.peers.oidc import CLIENT, Oidc, consent
from tests.standins.google import FakeCalendar

CLOCK = SystemClock()


class Everybody(set[str]):
    """The source takes any token; that it is a good one is the authorisation server's business."""

    def __contains__(self, token: object) -> bool:
        return True


class Somebody:
    """Opens the page, and says yes or no there."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses = refuses
        self.told: list[str] = []
        self.pages: list[asyncio.Task[str]] = []

    def tell(self, text: str) -> None:
        self.told.append(text)

    def visit(self, url: str) -> None:
        self.pages.append(asyncio.ensure_future(consent(url, refuse=self.refuses)))

    async def ask(self, question: str, *, hidden: bool = False) -> str:
        await asyncio.Event().wait()
        raise AssertionError("nobody types anything")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, timezone="Europe/Berlin")


def wishes(oidc: Oidc, calendar: FakeCalendar) -> Wishes:
    return Wishes(
        {
            "provider": "oidc", "issuer": oidc.url, "client_id": CLIENT,
            "base_url": calendar.url, "allow_private": True,
        },
        {CLIENT_SECRET: ""},
    )  # fmt: skip


def test_a_person_consents_and_the_account_can_be_read_ever_after(oidc_server: Oidc, settings: Settings) -> None:
    async def scenario(calendar: FakeCalendar) -> tuple[Connected, Somebody, str]:
        person = Somebody()
        connector = registry.connector("google_calendar")
        connected = await Connecting(settings, CLOCK, person, wishes(oidc_server, calendar)).add(connector, "")
        credentials = Credentials(settings, CLOCK, registry.Connectors())
        await connected.keep(credentials, "post")
        account = AccountState(
            id="post", owner="me", connector="google_calendar", config=connected.config, created_at=CLOCK.now()
        )
        async with credentials.open(account, False) as access:
            token = await access.token()
            refreshed = await access.token(token)
        left = await credentials.revoke(account)
        credentials.close()
        await asyncio.gather(*person.pages)
        assert refreshed != token
        return connected, person, left

    with FakeCalendar() as calendar:
        calendar.tokens = Everybody()
        connected, person, left = asyncio.run(scenario(calendar))
    assert connected.found
    assert "client_id" in connected.config
    assert "token" not in str(connected.config)
    assert any("will read" in line for line in person.told)
    assert left == ""


def test_a_person_who_says_no_is_believed(oidc_server: Oidc, settings: Settings) -> None:
    async def scenario(calendar: FakeCalendar) -> None:
        person = Somebody(refuses=True)
        attempt = Connecting(settings, CLOCK, person, wishes(oidc_server, calendar))
        try:
            await attempt.add(registry.connector("google_calendar"), "")
        finally:
            await asyncio.gather(*person.pages, return_exceptions=True)

    with FakeCalendar() as calendar, pytest.raises(AuthError):
        asyncio.run(scenario(calendar))
    assert not settings.vault.exists()
