"""Renewals under everything that goes wrong: a consent is lost only where nobody could have kept it."""

from __future__ import annotations

import asyncio
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from extractors.http import Http, Limits
from extractors.oauth.client import Client
from extractors.oauth.errors import ConsentLost
from extractors.oauth.store import VaultTokens
from extractors.oauth.token import Token
from extractors.oauth.tokens import TokenManager, install
from extractors.providers import OIDC
from extractors.vault import KeyFile, Vault
from schemas.clock import ManualClock
from schemas.errors import TransientError
from tests.standins.oauth import TokenServer

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)


class Killed(BaseException):
    """The process is gone."""


class DyingTokens(VaultTokens):
    """Dies at a point of a renewal."""

    point = ""

    async def replace(self, old: Token | None, new: Token) -> bool:
        is_mark = new.renewing_since is not None
        if self.point == "killed before storing" and not is_mark:
            raise Killed
        done = await super().replace(old, new)
        if self.point == "killed before asking" and is_mark:
            raise Killed
        if self.point == "killed after storing" and not is_mark:
            raise Killed
        return done


class Renewals(RuleBasedStateMachine):
    """``doubt``: a rotation whose answer was lost since the last consent or success."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.home = Path(self.folder.name)
        self.clock = ManualClock(NOW)
        self.server = TokenServer(rotating="rt-1")
        self.server.start()
        self.vaults = [Vault.open(self.home / "vault.db", KeyFile(self.home / "vault.key")) for _ in range(2)]
        self.doubt = False
        self.consent()

    def teardown(self) -> None:
        if hasattr(self, "server"):
            self.server.stop()
            for vault in self.vaults:
                vault.close()
            self.folder.cleanup()

    def manager(self, number: int, http: Http, point: str = "") -> TokenManager:
        async def client() -> Client:
            return self.server.client()

        store = DyingTokens(self.vaults[number % 2], self.home / "locks", "nora")
        object.__setattr__(store, "point", point)
        return TokenManager("nora", OIDC, "the provider", client, store, http, self.clock)

    async def ask(self, number: int, point: str = "", refused: str = "") -> str:
        async with Http(self.clock.now, allow_private=True, limits=Limits(read_s=2, total_s=5)) as http:
            try:
                return await self.manager(number, http, point).token(refused)
            except ConsentLost as lost:
                return f"lost: {lost.reason}"
            except TransientError:
                return "later"
            except Killed:
                return "killed"

    @property
    def stored(self) -> Token:
        return Token.load(self.vaults[0].secrets("nora")["oauth_token"])

    @rule(hours=st.integers(1, 3))
    def time_passes(self, hours: int) -> None:
        self.clock.advance_to(self.clock.now() + timedelta(hours=hours))

    @rule(count=st.integers(1, 4))
    def polls(self, count: int) -> None:
        async def together() -> list[str]:
            return await asyncio.gather(*(self.ask(number) for number in range(count)))

        calls, was_good = len(self.server.tokens_asked()), self.stored.is_good(self.clock.now())
        was_lost = bool(self.stored.lost)
        said = asyncio.run(together())
        assert len(set(said)) == 1, said
        assert len(self.server.tokens_asked()) - calls == (0 if was_good or was_lost else 1)
        if said[0].startswith("lost"):
            assert self.doubt, "nothing went wrong that could have cost the consent"
            assert said[0] == "lost: refresh_interrupted"
        else:
            assert said[0] == self.stored.access_token
            self.doubt = False

    @rule(fault=st.sampled_from(["cut", "half", "html", "500", "429"]))
    def provider_fails(self, fault: str) -> None:
        if self.stored.is_good(self.clock.now()) or self.stored.lost:
            return
        self.server.arm(fault)
        rotations = self.server.renewals
        assert asyncio.run(self.ask(0)) == "later"
        self.doubt = self.doubt or self.server.renewals > rotations

    @rule(point=st.sampled_from(["killed before asking", "killed before storing", "killed after storing"]))
    def process_is_killed(self, point: str) -> None:
        if self.stored.is_good(self.clock.now()) or self.stored.lost or self.doubt:
            return
        assert asyncio.run(self.ask(1, point)) == "killed"
        self.doubt = point == "killed before storing"

    @rule()
    def source_refuses_the_token(self) -> None:
        if self.stored.lost or self.doubt:
            return
        token = self.stored.access_token
        fresh = asyncio.run(self.ask(0, refused=token))
        assert fresh == self.stored.access_token != token
        assert asyncio.run(self.ask(1, refused=token)) == fresh
        self.doubt = False

    @rule()
    def consent(self) -> None:
        self.server.is_ended = False
        self.server.renewals += 1
        self.server.current = f"rt-{self.server.renewals + 1}"
        now = self.clock.now()
        token = Token(
            access_token=f"at-{self.server.renewals + 1}",
            refresh_token=self.server.current,
            issued_at=now,
            expires_at=now + timedelta(hours=1),
            granted_at=now,
        )
        asyncio.run(install(VaultTokens(self.vaults[1], self.home / "locks", "nora"), token))
        self.doubt = False

    @invariant()
    def what_is_stored_is_the_last_that_the_provider_gave_unless_its_answer_was_lost(self) -> None:
        if hasattr(self, "server") and not self.doubt and not self.stored.lost:
            assert self.stored.refresh_token == self.server.current
            assert not self.server.is_ended


Renewals.TestCase.settings = settings(max_examples=25, stateful_step_count=14, deadline=None)
TestRenewals = Renewals.TestCase
