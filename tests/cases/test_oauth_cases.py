"""Every OAuth case ends as its expected.json says: the provider is a stand-in, the rest is what the service uses."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, ConfigDict
from structlog.testing import capture_logs

from extractors.connector import Context, Login, Page, Upsert
from extractors.http import Http
from extractors.oauth import device
from extractors.oauth.errors import MissingScope
from extractors.oauth.grant import granted
from extractors.oauth.store import VaultTokens
from extractors.oauth.token import Token
from extractors.testing.standin import Reply
from forewatch.access import Credentials
from forewatch.settings import Settings
from schemas.account import AccountState, CursorState
from schemas.clock import ManualClock
from schemas.errors import RateLimited, TransientError
from schemas.event import Event
from schemas.record import PollDue
from streams import topics
from streams.accounts import accounts, cursors
from streams.codec import decode, encode
from streams.poll import PollAgent, PollDeps
from streams.testing import MemoryLog, batch_of
from streams.work import Output
from tests.standins.oauth import TokenServer

FOLDER = Path(__file__).parent / "oauth"


def case(name: str) -> tuple[Any, Any]:
    expected = next(FOLDER.glob(f"{name}_*.expected.json"))
    given = expected.with_name(expected.name.replace(".expected", ""))
    return json.loads(given.read_text()), json.loads(expected.read_text())


def replies(answers: Sequence[dict[str, Any]]) -> list[Reply]:
    return [
        Reply.of(answer["json"], answer["status"])
        if "json" in answer
        else Reply(
            answer["status"], answer["html"].encode(), {"Content-Type": "text/html", **answer.get("headers", {})}
        )
        for answer in answers
    ]


def token_of(given: dict[str, Any]) -> Token:
    expires = datetime.fromtimestamp(given["expires_at"], UTC)
    return Token(
        access_token=given["access_token"],
        refresh_token=given["refresh_token"],
        issued_at=expires - timedelta(hours=1),
        expires_at=expires,
        scope=tuple(given["scope"].split()),
        granted_at=expires - timedelta(days=3),
    )


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid")
    provider: str = "oidc"
    client_id: str = "my-client"
    issuer: str
    allow_private: bool = True


@dataclass
class Source:
    """A connector that needs a token and then has one message."""

    scope: str = "mail"
    name: str = "source"
    config: type[BaseModel] = Config
    agreed_until: datetime | None = None
    login: Login = field(init=False)

    def __post_init__(self) -> None:
        self.login = Login(reads="everything", scopes={"oidc": (self.scope,)})

    async def pull(self, config: BaseModel, cursor: Any, context: Context) -> AsyncIterator[Page]:
        if self.agreed_until is not None:
            yield Page(consent_expires_at=self.agreed_until)
        token = await context.access.token()
        yield Page(upserts=[Upsert("m1", "1", token.encode(), "text/plain")], next_cursor="end", complete=True)


class Stage:
    """One account, from its poll to its provider: vault, lock and log as in the service."""

    def __init__(self, home: Path, server: TokenServer, now: datetime, source: Source | None = None) -> None:
        self.server = server
        self.clock = ManualClock(now)
        self.log = MemoryLog()
        self.source = source or Source()
        self.settings = Settings(home=home)
        self.credentials = self.another()
        config = {"provider": "oidc", "client_id": "my-client", "issuer": server.url, "allow_private": True}
        self.state = AccountState(id="a", owner="me", connector="source", config=config, created_at=now)

    def another(self) -> Credentials:
        """As another process would have it."""
        return Credentials(self.settings, self.clock, {"source": self.source})  # type: ignore[dict-item]

    async def connect(self, token: Token) -> None:
        await self.credentials.consent("a", token)
        await self.log.append([accounts(self.log).output(self.state)])

    async def poll(self) -> CursorState:
        deps = PollDeps(
            self.log, accounts(self.log), cursors(self.log), {"source": self.source},  # type: ignore[dict-item]
            ZoneInfo("UTC"), self.clock, random.Random(1), access=self.credentials.open,
        )  # fmt: skip
        agent = PollAgent(deps)
        due = Output(topics.POLLS, b"a", encode(PollDue(account="a", due_at=self.clock.now())))
        await self.log.append([due])
        await agent.assigned(0)
        await agent.handle(batch_of(self.log.entries(topics.POLLS)[-1:]))
        fold = cursors(self.log)
        await fold.refresh()
        return fold.get("a") or CursorState(account="a")

    async def account(self) -> AccountState:
        fold = accounts(self.log)
        await fold.refresh()
        found = fold.get("a")
        assert found is not None
        return found

    async def stored(self) -> Token:
        return Token.load((await self.credentials.secrets("a"))["oauth_token"])

    def events(self, kind: str) -> list[Event]:
        found = [decode(Event, entry.value or b"") for entry in self.log.entries(topics.EVENTS)]
        return [event for event in found if event.kind == kind]


def state_word(account: AccountState) -> str:
    return "ok" if account.status == "active" else account.status


def test_o01_parallel_requests_of_two_processes_renew_once(tmp_path: Path) -> None:
    given, expected = case("o01")

    async def scenario(server: TokenServer) -> None:
        stage = Stage(tmp_path, server, datetime.fromtimestamp(given["now"], UTC))
        await stage.connect(token_of(given["token"]))
        processes = [stage.credentials, *(stage.another() for _ in range(given["processes"] - 1))]

        async def request(number: int) -> str:
            async with processes[number % len(processes)].open(stage.state, False) as access:
                return await access.token()

        tokens = await asyncio.gather(*(request(number) for number in range(given["parallel_requests"])))
        assert len(tokens) == expected["requests_ok"]
        assert set(tokens) == {"at-2"}
        for process in processes:
            process.close()

    with TokenServer(rotating="rt-1") as server:
        asyncio.run(scenario(server))
        assert server.renewals == len(server.tokens_asked()) == expected["refresh_calls"]
        assert server.is_ended is expected["needs_reauth"]


def test_o02_a_consent_that_is_gone_is_told_once_and_not_asked_for_again(tmp_path: Path) -> None:
    given, expected = case("o02")

    async def scenario(server: TokenServer) -> None:
        stage = Stage(tmp_path, server, datetime.fromtimestamp(given["now"], UTC))
        await stage.connect(token_of(given["token"]))
        await stage.log.append([cursors(stage.log).output(CursorState(account="a", cursor="what was read"))])
        for hour in range(1, 4):
            state = await stage.poll()
            stage.clock.advance_to(stage.clock.now() + timedelta(hours=hour))
        account = await stage.account()
        assert account.status == expected["connection_state"]
        assert "forewatch accounts auth a" in account.reason
        assert (state.cursor == "what was read") is expected["data_kept"]
        assert len(stage.events("account.needs_reauth")) == expected["user_notified_times"]
        stage.credentials.close()

    with TokenServer(replies(given["token_endpoint"])) as server:
        asyncio.run(scenario(server))
        assert len(server.tokens_asked()) == expected["refresh_calls"] + expected["retries"]


def test_o03_an_outage_of_the_token_endpoint_is_no_loss_of_consent(tmp_path: Path) -> None:
    given, expected = case("o03")

    async def scenario(server: TokenServer) -> None:
        stage = Stage(tmp_path, server, datetime.fromtimestamp(given["now"], UTC))
        await stage.connect(token_of(given["token"]))
        for _ in range(expected["refresh_calls"]):
            before = stage.clock.now()
            state = await stage.poll()
            assert state_word(await stage.account()) == expected["connection_state"]
            assert (await stage.stored()).renewing_since is None
            if state.retry_at is not None:
                waits.append((state.retry_at - before).total_seconds())
                stage.clock.advance_to(state.retry_at)
        assert state.failures == 0
        assert (await stage.stored()).refresh_token == expected["stored_refresh_token"]
        stage.credentials.close()

    waits: list[float] = []
    with TokenServer(replies(given["token_endpoint"])) as server:
        asyncio.run(scenario(server))
        assert len(server.tokens_asked()) == expected["refresh_calls"]
    assert all(wait >= least for wait, least in zip(waits, expected["waits_min_s"], strict=True))


def test_o04_a_refresh_token_that_is_not_replaced_is_kept(tmp_path: Path) -> None:
    given, expected = case("o04")

    async def scenario(server: TokenServer) -> None:
        stage = Stage(tmp_path, server, datetime.fromtimestamp(given["now"], UTC))
        await stage.connect(token_of(given["token"]))
        await stage.poll()
        assert state_word(await stage.account()) == expected["connection_state"]
        stored = await stage.stored()
        assert stored.expires_at is not None
        kept = {
            "access_token": stored.access_token,
            "refresh_token": stored.refresh_token,
            "expires_at": int(stored.expires_at.timestamp()),
        }
        assert kept == expected["stored"]
        assert stored.scope == ("mail", "calendar"), "a provider that names no scope has not changed it"
        stage.credentials.close()

    with TokenServer(replies(given["token_endpoint"])) as server:
        asyncio.run(scenario(server))


def test_o06_the_device_flow_slows_down_for_good_and_survives_a_timeout() -> None:
    given, expected = case("o06")
    gaps: list[float] = []

    async def scenario(server: TokenServer) -> Token:
        clock = ManualClock(datetime(2026, 3, 2, tzinfo=UTC))

        async def sleep(seconds: float) -> None:
            gaps.append(seconds)
            clock.advance_to(clock.now() + timedelta(seconds=seconds))

        async with Http(clock.now, allow_private=True) as http:
            asked = await device.begin(http, server.client(), ["mail"], clock.now())
            for number, poll in enumerate(given["polls"]):
                if "network_error" in poll:
                    server.arm("cut", after=number)
            return await device.wait(http, server.client(), asked, clock, sleep)

    with TokenServer(replies([poll for poll in given["polls"] if "json" in poll])) as server:
        server.metadata["device"] = given["device"]
        token = asyncio.run(scenario(server))
        assert len(server.tokens_asked()) == len(given["polls"])
    assert (token.access_token, token.refresh_token) == ("a", "r")
    assert gaps[0] == given["device"]["interval"]
    assert all(gap >= least for gap, least in zip(gaps[1:], expected["min_gaps_s"], strict=True))


def test_o08_an_unticked_box_stops_only_the_connector_that_needs_it(tmp_path: Path) -> None:
    given, expected = case("o08")
    now = datetime(2026, 3, 2, tzinfo=UTC)

    async def state(server: TokenServer, scope: str) -> str:
        stage = Stage(tmp_path / scope, server, now, Source(scope))
        asked = given["requested_scope"].split()
        token = granted(server.client(), given["token_response"], now=now, asked=asked)
        assert list(token.scope) == expected["granted"]
        await stage.connect(token)
        await stage.poll()
        account = await stage.account()
        stage.credentials.close()
        if account.status == "active":
            return "ok"
        with pytest.raises(MissingScope) as caught:
            async with stage.another().open(stage.state, False) as access:
                await access.token()
        assert list(caught.value.missing) == expected["missing"]
        assert f"did not grant {scope}" in account.reason
        return "missing_scope"

    with TokenServer() as server:
        assert asyncio.run(state(server, "mail")) == expected["mail_state"]
        assert asyncio.run(state(server, "calendar")) == expected["calendar_state"]
        assert server.tokens_asked() == [], "asking again would not help"


class Killed(BaseException):
    """The process is gone."""


def test_o10_a_crash_after_rotation_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, expected = case("o10")
    original = VaultTokens.replace

    async def dying(self: VaultTokens, old: Token | None, new: Token) -> bool:
        if new.refresh_token == "rt-2":
            raise Killed
        return await original(self, old, new)

    async def scenario(server: TokenServer) -> None:
        stage = Stage(tmp_path, server, datetime.fromtimestamp(given["now"], UTC))
        await stage.connect(token_of(given["token"]))
        monkeypatch.setattr(VaultTokens, "replace", dying)
        with pytest.raises(Killed):
            await stage.poll()
        monkeypatch.setattr(VaultTokens, "replace", original)
        for _ in range(3):
            await stage.poll()
        account = await stage.account()
        assert account.status == expected["connection_state"]
        assert (await stage.stored()).lost == expected["reason"]
        assert "cut off" in account.reason
        assert len(stage.events("account.needs_reauth")) == 1
        stage.credentials.close()

    with TokenServer(rotating="rt-1") as server, capture_logs() as logs:
        asyncio.run(scenario(server))
        assert len(server.tokens_asked()) == 2, "no storm"
    written = json.dumps(logs, default=repr)
    assert any(line["action"] == "consent_lost" for line in logs)
    leaked = [token for token in ("rt-1", "rt-2", "at-old", "at-2") if token in written]
    assert (leaked == []) is expected["log_has_no_token"]


def test_o11_the_end_of_a_bank_consent_is_told_before_and_after(tmp_path: Path) -> None:
    given, expected = case("o11")
    now = datetime.fromisoformat(given["now"])
    agreement = given["agreement"]
    until = datetime.fromisoformat(agreement["accepted"]) + timedelta(days=agreement["access_valid_for_days"])
    assert until == datetime.fromisoformat(expected["expires_at"])

    async def scenario(server: TokenServer) -> None:
        stage = Stage(tmp_path, server, now, Source(agreed_until=until))
        good = Token(access_token="at", issued_at=now, granted_at=now, scope=("mail",))
        await stage.connect(good)
        await stage.poll()
        (warning,) = stage.events("account.consent_expiring")
        assert expected["warn_now"] is True
        assert warning.due_at == until
        assert (until - stage.clock.now()).days == expected["days_left"]
        stage.clock.advance_to(until)
        await stage.credentials.consent("a", good.model_copy(update={"expires_at": until}))
        await stage.poll()
        assert (await stage.account()).status == expected["on_api_error"]
        assert len(stage.events("account.consent_expiring")) == 1
        stage.credentials.close()

    with TokenServer() as server:
        asyncio.run(scenario(server))


RENEWALS = sorted(
    path for path in FOLDER.glob("*.json") if json.loads(path.read_text("utf-8")).get("kind") == "renewals"
)
ROUNDS = [(path, number) for path in RENEWALS for number in range(len(json.loads(path.read_text("utf-8"))["rounds"]))]


@pytest.mark.parametrize(("path", "number"), ROUNDS, ids=lambda value: getattr(value, "stem", str(value)))
def test_a_renewal_ends_as_its_case_says(path: Path, number: int, tmp_path: Path) -> None:
    """Each round begins with the same tokens and a token endpoint of its own."""
    case = json.loads(path.read_text("utf-8"))
    given = case["rounds"][number]
    expected = json.loads(path.with_suffix(".expected.json").read_text("utf-8"))["rounds"][number]
    now = datetime.fromtimestamp(case["now"], UTC)

    async def played(server: TokenServer) -> dict[str, Any]:
        stage = Stage(tmp_path, server, now, Source(given["needs"]))
        await stage.connect(token_of({**case["token"], **given["token"]}))
        for _ in range(given["polls"]):
            state = await stage.poll()
            stage.clock.advance_to(max(stage.clock.now(), state.retry_at or now))
        account, stored = await stage.account(), await stage.stored()
        stage.credentials.close()
        return {
            "state": state_word(account),
            "reason": account.reason,
            "told": len(stage.events("account.needs_reauth")),
            "retry_in_s": (state.retry_at - now).total_seconds() if state.retry_at else 0,
            "access_token": stored.access_token,
            "refresh_token": stored.refresh_token,
            "scope": list(stored.scope),
            "expires_in_s": (stored.expires_at - now).total_seconds() if stored.expires_at else None,
        }

    with TokenServer(replies(given["answers"])) as server:
        found = {**asyncio.run(played(server)), "refresh_calls": len(server.tokens_asked())}
    assert expected.pop("reason_contains", "") in found["reason"]
    assert expected.pop("retry_in_at_least_s", 0) <= found["retry_in_s"]
    assert expected.pop("retry_in_at_most_s", 1e9) >= found["retry_in_s"]
    assert {key: found[key] for key in expected} == expected
    assert found["told"] == (found["state"] != "ok")


def test_every_case_is_played() -> None:
    names = {path.name[:3] for path in FOLDER.glob("*.json")} - {path.name[:3] for path in RENEWALS}
    played = {name[5:8] for name in globals() if name.startswith("test_o")}
    assert played == names


def test_a_429_says_when_and_other_failures_do_not(tmp_path: Path) -> None:
    async def scenario(server: TokenServer) -> None:
        now = datetime(2026, 3, 2, tzinfo=UTC)
        async with Http(lambda: now, allow_private=True) as http:
            question = {"grant_type": "refresh_token", "refresh_token": "rt"}
            with pytest.raises(RateLimited) as limited:
                await server.client().ask(http, f"{server.url}/token", question, now)
            assert limited.value.retry_at == now + timedelta(seconds=30)
            with pytest.raises(TransientError) as down:
                await server.client().ask(http, f"{server.url}/token", question, now)
            assert down.value.retry_at is None

    scripted = [Reply(429, b"slow", {"Retry-After": "30"}), Reply(503, b"<h1>down</h1>")]
    with TokenServer(scripted) as server:
        asyncio.run(scenario(server))
