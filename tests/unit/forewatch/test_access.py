"""How polls are let in: only who needs the vault opens it, and no secret is seen outside of it."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import structlog
from pydantic import BaseModel, ConfigDict

from extractors.connector import Context, Login, Page, Quota, SecretField
from extractors.oauth.token import Token
from extractors.testing.standin import Asked, Reply
from extractors.vault import GivenKeys, KeyFile, KeyringKeys
from extractors.vault.sealing import Key
from forewatch.access import Credentials, key_source
from forewatch.log import configure
from forewatch.settings import Settings
from forewatch.wiring import build, open_settings_log
from schemas.account import AccountState
from schemas.clock import ManualClock
from schemas.errors import AuthError, ConfigError, RateLimited, TransientError
from streams.accounts import accounts, cursors
from streams.poll import PollAgent, PollDeps
from tests.standins.oauth import TokenServer

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
MARK = "marker-7f3a9c"


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid")
    provider: str = ""
    client_id: str = ""
    issuer: str = ""
    allow_private: bool = False
    api: str = ""


@dataclass
class Remote:
    """Calls its API with a token, with a password in a header, or has a bug."""

    name: str = "remote"
    config: type[BaseModel] = Config
    login: Login = field(
        default_factory=lambda: Login("rows", secrets=[SecretField("password", "Password")], scopes={"oidc": ("mail",)})
    )
    has_bug: bool = False

    async def pull(self, config: Any, cursor: Any, context: Context) -> AsyncIterator[Page]:
        if self.has_bug:
            raise RuntimeError(f"a bug near {context.access!r}")
        headers = {"X-API-Key": context.access.secret("password")}
        await context.access.http.send("GET", config.api, headers=headers, bearer=context.access.token)
        yield Page(next_cursor="end", complete=True)


@dataclass
class File:
    """A source that lets anybody in."""

    name: str = "file"
    config: type[BaseModel] = Config


def desk_at(home: Path, **settings: Any) -> Credentials:
    connectors = {"remote": Remote(), "file": File()}
    return Credentials(Settings(home=home, **settings), ManualClock(NOW), connectors)  # type: ignore[arg-type]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Credentials]:
    desk = desk_at(tmp_path)
    yield desk
    desk.close()


def account(connector: str = "remote", **config: Any) -> AccountState:
    return AccountState(id="nora", owner="me", connector=connector, config=config, created_at=NOW)


def test_an_account_that_needs_no_secret_makes_no_vault(tmp_path: Path, desk: Credentials) -> None:
    async def scenario() -> None:
        for each in (account("file"), account("remote"), account("unknown")):
            async with desk.open(each, False) as access:
                with pytest.raises(AuthError, match=r"account( nora)? has no password; connect it again"):
                    access.secret("password")
        await desk.shred("nora")
        assert await desk.revoke(account()) == ""

    asyncio.run(scenario())
    assert list(tmp_path.iterdir()) == []


def test_what_is_remembered_is_there_at_once_and_in_the_next_poll(desk: Credentials) -> None:
    async def scenario() -> None:
        await desk.keep("nora", {"setup_token": "one", "password": "p"})
        async with desk.open(account(), False) as access:
            await access.remember({"setup_token": "two"})
            assert access.secret("setup_token") == "two"
        async with desk.open(account(), False) as access:
            assert (access.secret("setup_token"), access.secret("password")) == ("two", "p")

    asyncio.run(scenario())


async def parted(home: Path) -> None:
    """By another process."""
    desk = desk_at(home)
    await desk.shred("nora")
    desk.close()


def test_a_poll_that_ends_after_the_account_was_parted_with_brings_nothing_back(
    tmp_path: Path, desk: Credentials
) -> None:
    async def scenario() -> None:
        token = Token(access_token="at", refresh_token="rt", issued_at=NOW, expires_at=NOW, granted_at=NOW)
        await desk.keep("nora", {"password": "p"})
        async with desk.open(account(), False) as access:
            await parted(tmp_path)
            with pytest.raises(AuthError, match="disconnected meanwhile"):
                await access.remember({"password": "q"})
            assert await desk.secrets("nora") == {}
        await desk.consent("nora", token)
        oidc = account(provider="oidc", client_id="c", issuer=api.url, allow_private=True)
        async with desk.open(oidc, False) as access:
            with pytest.raises(TransientError, match="changed while they were renewed"):
                await access.token()
            assert await desk.secrets("nora") == {}

    class Parting(TokenServer):
        def answer(self, asked: Asked) -> Reply:
            if asked.path == "/token":
                asyncio.run(parted(tmp_path))
            return super().answer(asked)

    with Parting([Reply.of({"access_token": "new", "refresh_token": "new"})]) as api:
        asyncio.run(scenario())


def test_a_vault_that_does_not_open_stops_only_the_accounts_that_need_it(tmp_path: Path, desk: Credentials) -> None:
    async def scenario() -> None:
        await desk.keep("nora", {"password": "p"})
        desk.close()
        (tmp_path / "vault.key").chmod(0o644)
        other = desk_at(tmp_path)
        async with other.open(account("file"), False):
            pass
        with pytest.raises(ConfigError, match="others on this machine may read"):
            async with other.open(account(), False):
                raise AssertionError("was let in")

    asyncio.run(scenario())


def test_the_persons_last_call_is_theirs_also_after_a_restart(tmp_path: Path, desk: Credentials) -> None:
    quota = Quota("transactions", 2)

    async def scenario() -> None:
        async with desk.open(account(), False) as access:
            await access.spend(quota)
        desk.close()
        restarted = desk_at(tmp_path)
        async with restarted.open(account(), False) as access:
            with pytest.raises(RateLimited) as limited:
                await access.spend(quota)
            assert limited.value.retry_at == NOW + timedelta(days=1)
        async with restarted.open(account(), True) as access:
            await access.spend(quota)
        restarted.close()

    asyncio.run(scenario())


def test_private_addresses_are_called_only_where_the_account_says_so(desk: Credentials) -> None:
    async def scenario(url: str) -> None:
        async with desk.open(account(allow_private=True), False) as access:
            assert (await access.http.send("GET", f"{url}/revoke")).status == 200
        for config in ({}, {"allow_private": "yes"}, {"allow_private": 1}):
            async with desk.open(account(**config), False) as access:
                with pytest.raises(AuthError, match="private network"):
                    await access.http.send("GET", f"{url}/revoke")

    with TokenServer() as server:
        asyncio.run(scenario(server.url))


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({}, "unknown provider ''"),
        ({"provider": ["oidc"]}, "account 'nora': setting 'provider' names no OAuth client"),
        ({"provider": "google"}, "'client_id' is missing"),
    ],
)
def test_an_account_without_an_oauth_client_says_what_is_missing(
    desk: Credentials, config: dict[str, Any], complaint: str
) -> None:
    async def scenario() -> None:
        async with desk.open(account(**config), False) as access:
            with pytest.raises(ConfigError, match=complaint):
                await access.token()

    asyncio.run(scenario())


def test_the_key_comes_from_the_first_place_that_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_source(Settings.load(tmp_path)) == KeyFile(tmp_path / "vault.key")
    assert isinstance(key_source(Settings(home=tmp_path, vault_keyring=True)), KeyringKeys)
    key = Key.fresh().text
    (tmp_path / "forewatch-vault-key").write_text(f"{key}\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    source = key_source(Settings.load(tmp_path))
    assert source.where == str(tmp_path / "forewatch-vault-key")
    assert source.read()[0].text == key
    monkeypatch.setenv("FOREWATCH_VAULT_KEY", MARK)
    settings = Settings.load(tmp_path)
    assert isinstance(key_source(settings), GivenKeys)
    assert key_source(settings).where == "FOREWATCH_VAULT_KEY"
    for text in (repr(settings), str(settings), settings.model_dump_json(), repr(key_source(settings))):
        assert MARK not in text


def test_a_vault_key_in_the_settings_file_is_refused_without_being_shown(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(f'vault_key = "{MARK}"')
    with pytest.raises(ConfigError, match="set FOREWATCH_VAULT_KEY") as caught:
        Settings.load(tmp_path)
    assert MARK not in str(caught.value)


def test_parting_says_what_is_left_to_do_and_never_fails_for_the_provider(desk: Credentials) -> None:
    token = Token(access_token="at", refresh_token="rt", issued_at=NOW, granted_at=NOW)

    async def scenario(url: str) -> None:
        oidc = account(provider="oidc", client_id="c", issuer=url, allow_private=True)
        await desk.consent("nora", token)
        assert await desk.revoke(oidc) == ""
        left = await desk.revoke(account(provider="microsoft", client_id="c"))
        assert left == "end the consent at https://account.live.com/consent/Manage"
        gone = account(provider="oidc", client_id="c", issuer="http://127.0.0.1:9", allow_private=True)
        assert "could not be ended" in await desk.revoke(gone)
        await desk.keep("nora", {"oauth_token": MARK})
        left = await desk.revoke(oidc)
        assert "could not be ended" in left
        assert MARK not in left

    with TokenServer() as server:
        asyncio.run(scenario(server.url))


def test_a_new_key_is_used_by_a_running_service_at_once(tmp_path: Path, desk: Credentials) -> None:
    async def scenario() -> None:
        await desk.keep("nora", {"password": "p"})
        command = desk_at(tmp_path)
        await command.rekey()
        command.close()
        async with desk.open(account(), False) as access:
            assert access.secret("password") == "p"

    asyncio.run(scenario())


def test_the_service_lets_its_polls_in(tmp_path: Path) -> None:
    async def scenario() -> None:
        service = await build(Settings(home=tmp_path), ManualClock(NOW), random.Random(1))
        assert service.poll._deps.access == service.credentials.open
        assert not service.settings.vault.exists()
        await service.stop()

    asyncio.run(scenario())


class Api(TokenServer):
    """A provider and its API in one; the API sees the token and takes it or not."""

    seen = ""
    refuses = False

    def answer(self, asked: Asked) -> Reply:
        if asked.path != "/api":
            return super().answer(asked)
        self.seen = asked.headers.get("authorization", "")
        return Reply.of({"error": "no"}, 401) if self.refuses else Reply.of({"ok": True})


def test_a_secret_is_in_no_log_line_event_state_file_or_output(
    home: Path,
    forewatch: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Through every way in which a poll can end, a bug included."""
    settings = Settings.load(home)
    clock, source = ManualClock(NOW), Remote()
    home.mkdir()
    configure("debug")

    async def scenario(api: Api) -> None:
        desk = Credentials(settings, clock, {"remote": source})  # type: ignore[dict-item]
        state = account(provider="oidc", client_id="c", issuer=api.url, allow_private=True, api=f"{api.url}/api")
        expired = Token(
            access_token=f"at-{MARK}", refresh_token=f"rt-{MARK}", issued_at=NOW, expires_at=NOW, granted_at=NOW
        )
        await desk.keep("nora", {"password": f"p-{MARK}", "client_secret": f"s-{MARK}"})
        await desk.consent("nora", expired)
        log = await open_settings_log(settings)
        await log.append([accounts(log).output(state)])
        deps = PollDeps(
            log, accounts(log), cursors(log), {"remote": source}, ZoneInfo("UTC"),  # type: ignore[dict-item]
            clock, random.Random(1), access=desk.open,
        )  # fmt: skip
        agent = PollAgent(deps)
        await agent.assigned(0)
        for fault in ("cut", "half", "html", "500", "429"):
            api.arm(fault)
            await agent.poll("nora")
            clock.advance_to(clock.now() + timedelta(hours=2))
        await agent.poll("nora")
        assert api.seen == f"Bearer at2-{MARK}"
        source.has_bug = True
        try:
            await agent.poll("nora")
        except RuntimeError:
            structlog.get_logger().exception("a bug", action="bug", account=state, access=desk)
        source.has_bug = False
        api.refuses = True
        await agent.poll("nora")
        api.script = [Reply.of({"error": "invalid_grant", "error_description": MARK}, 400)]
        clock.advance_to(clock.now() + timedelta(hours=2))
        await agent.poll("nora")
        assert deps.accounts.get("nora").status == "needs_reauth"  # type: ignore[union-attr]
        await log.close()
        desk.close()

    good = {"access_token": f"at2-{MARK}", "expires_in": 3600, "refresh_token": f"rt2-{MARK}"}
    with Api([Reply.of(good)]) as api:
        asyncio.run(scenario(api))
    logged = capsys.readouterr()
    lines = [json.loads(line) for line in logged.err.splitlines() if line.startswith("{")]
    assert {line["action"] for line in lines} >= {"poll_failed", "token_renewed", "needs_reauth", "consent_lost", "bug"}
    assert "AccountAccess('nora')" in logged.err, "the bug was logged with its traceback"
    said = [forewatch("accounts", "list", "--json"), forewatch("doctor", "--json"), forewatch("doctor")]
    assert said[0].json[0]["id"] == "nora"
    shown = logged.out + logged.err + "".join(each.out + each.err for each in said)
    assert MARK not in shown
    held = [path for path in home.rglob("*") if path.is_file() and MARK.encode() in path.read_bytes()]
    assert held == []
