"""TokenManager: when it renews, what it keeps, and what it tells the person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from extractors.http import Http, Limits
from extractors.oauth.client import Client
from extractors.oauth.errors import ConsentLost, MissingScope
from extractors.oauth.store import VaultTokens
from extractors.oauth.token import Token
from extractors.oauth.tokens import TokenManager, install
from extractors.providers import GOOGLE, OIDC
from extractors.testing.standin import Asked, Reply
from extractors.vault import KeyFile, Vault
from schemas.clock import ManualClock
from schemas.errors import AuthError, RateLimited, TransientError
from tests.standins.oauth import TokenServer

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
OLD = Token(
    access_token="at-1",
    refresh_token="rt-1",
    issued_at=NOW - timedelta(hours=2),
    expires_at=NOW - timedelta(hours=1),
    scope=("mail",),
    granted_at=NOW - timedelta(days=3),
)
GOOD = Reply.of({"access_token": "at-2", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-2"})
GONE = Reply.of({"error": "invalid_grant"}, 400)


class Desk:
    """A manager over a real vault, and the provider that it asks."""

    def __init__(self, home: Path, server: TokenServer) -> None:
        self.server = server
        self.clock = ManualClock(NOW)
        self.vault = Vault.open(home / "vault.db", KeyFile(home / "vault.key"))
        self.store = VaultTokens(self.vault, home / "locks", "nora")
        self.changes: dict[str, Any] = {}

    def manager(self, http: Http) -> TokenManager:
        async def client() -> Client:
            return self.server.client()

        made = TokenManager("nora", OIDC, "the provider", client, self.store, http, self.clock, ("mail",))
        return replace(made, **self.changes)

    async def token(self, refused: str = "") -> str:
        limits = Limits(connect_s=30, read_s=30, total_s=60)
        async with Http(self.clock.now, allow_private=True, limits=limits) as http:
            return await self.manager(http).token(refused)

    async def stored(self) -> Token:
        found = await self.store.read()
        assert found is not None
        return found

    @property
    def asked(self) -> int:
        return len(self.server.tokens_asked())


@pytest.fixture
def server() -> Iterator[TokenServer]:
    with TokenServer([GOOD]) as server:
        yield server


@pytest.fixture
def desk(tmp_path: Path, server: TokenServer) -> Iterator[Desk]:
    desk = Desk(tmp_path, server)
    asyncio.run(install(desk.store, OLD))
    yield desk
    desk.vault.close()


def test_a_token_that_is_good_is_given_without_a_call(desk: Desk) -> None:
    async def scenario() -> None:
        await install(desk.store, OLD.model_copy(update={"expires_at": NOW + timedelta(hours=1)}))
        assert await desk.token() == "at-1"
        assert desk.asked == 0

    asyncio.run(scenario())


def test_a_renewed_token_is_durable_before_it_is_given(desk: Desk) -> None:
    async def scenario() -> None:
        assert await desk.token() == "at-2"
        stored = await desk.stored()
        assert (stored.access_token, stored.refresh_token, stored.scope) == ("at-2", "rt-2", ("mail",))
        assert (stored.granted_at, stored.renewing_since) == (OLD.granted_at, None)
        assert await desk.token() == "at-2"
        assert desk.asked == 1

    asyncio.run(scenario())


def test_a_refused_token_is_renewed_although_it_has_not_expired(desk: Desk) -> None:
    async def scenario() -> None:
        await install(desk.store, OLD.model_copy(update={"expires_at": None}))
        assert await desk.token() == "at-1"
        assert await desk.token(refused="at-1") == "at-2"
        assert await desk.token(refused="at-1") == "at-2"
        assert desk.asked == 1

    asyncio.run(scenario())


def test_a_consent_that_has_ended_is_remembered_until_a_person_asks_or_consents(desk: Desk) -> None:
    async def scenario() -> None:
        desk.server.script = [GONE]
        for _ in range(3):
            with pytest.raises(ConsentLost, match="forewatch accounts auth nora") as caught:
                await desk.token()
            assert caught.value.reason == "invalid_grant"
        assert desk.asked == 1
        desk.changes = {"asked": True}
        with pytest.raises(ConsentLost) as again:
            await desk.token()
        assert (again.value.reason, desk.asked) == ("invalid_grant", 2)
        desk.server.script = [GOOD]
        assert await desk.token() == "at-2", "the person mended it at the provider and asked again"
        assert (await desk.stored()).lost == ""

    asyncio.run(scenario())


def test_google_tells_why_its_consents_end_after_a_week(desk: Desk) -> None:
    desk.server.script = [GONE]
    desk.changes = {"provider": GOOGLE, "needed": ()}
    with pytest.raises(ConsentLost, match="'Testing' every consent ends after 7 days"):
        asyncio.run(desk.token())


def test_a_client_that_is_not_known_is_told_apart_from_a_lost_consent(desk: Desk) -> None:
    desk.server.script = [Reply.of({"error": "invalid_client"}, 401)]
    with pytest.raises(ConsentLost, match="check client_id and the client secret") as caught:
        asyncio.run(desk.token())
    assert caught.value.reason == "invalid_client"


@pytest.mark.parametrize("reply", [Reply(429, b"", {"Retry-After": "30"}), Reply(503, b"down"), Reply(404, b"x")])
def test_a_provider_that_did_nothing_leaves_no_mark(desk: Desk, reply: Reply) -> None:
    async def scenario() -> None:
        desk.server.script = [reply, GONE]
        with pytest.raises(TransientError) as caught:
            await desk.token()
        assert (await desk.stored()) == OLD
        assert isinstance(caught.value, RateLimited) is (reply.status == 429)
        with pytest.raises(ConsentLost) as lost:
            await desk.token()
        assert lost.value.reason == "invalid_grant"

    asyncio.run(scenario())


@pytest.mark.parametrize("fault", ["cut", "half", "html"])
def test_a_provider_that_was_cut_off_may_have_rotated(desk: Desk, fault: str) -> None:
    async def scenario() -> None:
        desk.server.arm(fault)
        with pytest.raises(TransientError):
            await desk.token()
        assert (await desk.stored()).renewing_since == NOW
        desk.server.script = [GONE]
        with pytest.raises(ConsentLost, match="cut off the last time") as lost:
            await desk.token()
        assert lost.value.reason == "refresh_interrupted"

    asyncio.run(scenario())


def test_a_cut_off_renewal_is_forgotten_when_the_next_one_works(desk: Desk) -> None:
    async def scenario() -> None:
        desk.server.arm("cut")
        with pytest.raises(TransientError):
            await desk.token()
        assert await desk.token() == "at-2"
        desk.clock.advance_to(NOW + timedelta(days=1))
        desk.server.script = [GONE]
        with pytest.raises(ConsentLost) as lost:
            await desk.token()
        assert lost.value.reason == "invalid_grant"

    asyncio.run(scenario())


def test_a_scope_that_a_renewal_narrowed_is_named(desk: Desk) -> None:
    async def scenario() -> None:
        desk.server.script = [Reply.of({"access_token": "at-2", "expires_in": 3600, "scope": "calendar openid"})]
        for _ in range(2):
            with pytest.raises(MissingScope, match=r"did not grant mail; .* forewatch accounts auth nora") as caught:
                await desk.token()
            assert caught.value.missing == ("mail",)
        assert desk.asked == 1
        assert (await desk.stored()).refresh_token == "rt-1"

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("kept", "reason"), [(None, "never_connected"), (OLD.model_copy(update={"refresh_token": ""}), "no_refresh_token")]
)
def test_what_cannot_be_renewed_is_told_without_a_call(
    tmp_path: Path, server: TokenServer, kept: Token | None, reason: str
) -> None:
    async def scenario() -> None:
        desk = Desk(tmp_path, server)
        if kept is not None:
            await install(desk.store, kept)
        with pytest.raises(ConsentLost) as caught:
            await desk.token()
        assert caught.value.reason == reason
        assert desk.asked == 0
        desk.vault.close()

    asyncio.run(scenario())


class Meanwhile(TokenServer):
    """Does something while it is being asked."""

    deed: Callable[[], None]

    def answer(self, asked: Asked) -> Reply:
        self.deed()
        return super().answer(asked)


@pytest.mark.parametrize("reply", [GOOD, GONE])
def test_a_consent_that_is_given_during_a_renewal_wins(tmp_path: Path, reply: Reply) -> None:
    fresh = OLD.model_copy(update={"access_token": "at-new", "refresh_token": "rt-new", "expires_at": None})

    async def scenario(server: Meanwhile) -> None:
        desk = Desk(tmp_path, server)
        await install(desk.store, OLD)
        other = Vault.open(tmp_path / "vault.db", KeyFile(tmp_path / "vault.key"))
        server.deed = lambda: other.update("nora", {"oauth_token": fresh.dump()}) and None
        assert await desk.token() == "at-new"
        assert await desk.stored() == fresh
        other.close()
        desk.vault.close()

    with Meanwhile([reply]) as server:
        asyncio.run(scenario(server))


def test_a_service_that_stops_during_a_renewal_keeps_the_new_tokens(tmp_path: Path) -> None:
    async def scenario(server: Meanwhile) -> None:
        desk = Desk(tmp_path, server)
        await install(desk.store, OLD)
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        server.deed = lambda: loop.call_soon_threadsafe(begun.set) and None
        asking = asyncio.create_task(desk.token())
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await desk.stored()).refresh_token == "rt-2"
        async with desk.store.locked():
            pass
        desk.vault.close()

    with Meanwhile([GOOD]) as server:
        asyncio.run(scenario(server))


def test_a_renewal_that_takes_too_long_may_work_later(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extractors.oauth.tokens.RENEWAL_S", 0.01)

    async def never() -> Client:
        await asyncio.Event().wait()
        raise AssertionError

    desk.changes = {"client": never}
    with pytest.raises(TransientError, match=r"took longer than 0.01 s"):
        asyncio.run(desk.token())


def test_stored_tokens_that_cannot_be_read_are_replaced_by_a_new_consent(desk: Desk) -> None:
    async def scenario() -> None:
        desk.vault.update("nora", {"oauth_token": "rubbish"})
        with pytest.raises(AuthError, match="cannot be read"):
            await desk.token()
        await install(desk.store, OLD)
        assert await desk.token() == "at-2"

    asyncio.run(scenario())


def test_no_log_line_holds_a_token(desk: Desk) -> None:
    async def scenario() -> None:
        await desk.token()
        desk.clock.advance_to(NOW + timedelta(days=1))
        desk.server.script = [GONE]
        with pytest.raises(ConsentLost):
            await desk.token()

    with capture_logs() as lines:
        asyncio.run(scenario())
    assert [line["action"] for line in lines] == ["token_renewed", "consent_lost"]
    assert all(line["account"] == "nora" for line in lines)
    written = repr(lines)
    assert not any(secret in written for secret in ("at-1", "at-2", "rt-1", "rt-2"))
