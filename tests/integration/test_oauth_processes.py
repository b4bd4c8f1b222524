"""Many processes and one consent that dies when its refresh token is used twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from extractors.oauth.consent import by_browser
from extractors.oauth.token import Token
from forewatch.access import Credentials
from schemas.clock import SystemClock
from schemas.errors import AuthError
from tests import forks
from tests.integration.renewing import account_at, credentials
from tests.peers.oidc import Oidc, consent
from tests.peers.process import CHECKOUT

CLOCK = SystemClock()
RENEWING = "import sys; from tests.integration.renewing import start; start(*sys.argv[1:])"


class Life:
    """A home with one consent whose access token has expired."""

    def __init__(self, home: Path, oidc: Oidc) -> None:
        self.home = home
        self.oidc = oidc
        self.started: list[subprocess.Popen[str]] = []
        asyncio.run(self._consent())

    async def _consent(self) -> None:
        account, desk = account_at(self.oidc.url), self.desk()
        async with desk.http(account) as http:
            pages: list[asyncio.Task[str]] = []
            client = await desk.client(account, http)
            token = await by_browser(
                client, ["mail"], http, CLOCK, lambda url: pages.append(asyncio.ensure_future(consent(url))), limit_s=30
            )
            await asyncio.gather(*pages)
        past = CLOCK.now() - timedelta(hours=2)
        await desk.consent(account.id, token.model_copy(update={"issued_at": past, "expires_at": past}))
        desk.close()

    def desk(self) -> Credentials:
        return credentials(self.home)

    def stored(self) -> Token:
        async def read() -> Token:
            desk = self.desk()
            text = (await desk.secrets("nora"))["oauth_token"]
            desk.close()
            return Token.load(text)

        return asyncio.run(read())

    def process(self, point: str = "") -> subprocess.Popen[str]:
        program = [sys.executable, "-c", RENEWING, str(self.home), self.oidc.url, point]
        pipe = subprocess.PIPE
        started = forks.Popen(program, cwd=CHECKOUT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self.started.append(started)
        return started

    def end(self) -> None:
        for process in self.started:
            process.kill()
            process.communicate()

    def token(self, *, asked: bool = False) -> str:
        async def ask() -> str:
            desk = self.desk()
            try:
                async with desk.open(account_at(self.oidc.url), asked) as access:
                    return await access.token()
            finally:
                desk.close()

        return asyncio.run(ask())

    def renewals(self) -> int:
        return self.oidc.events("granted", "refresh_token")

    def refusals(self) -> int:
        return self.oidc.events("refused", "refresh_token")

    def is_alive(self, token: str) -> bool:
        return self.oidc.introspect(token)["active"] is True


@pytest.fixture
def life(tmp_path: Path, oidc_server: Oidc) -> Iterator[Life]:
    life = Life(tmp_path, oidc_server)
    yield life
    life.end()


def go(*processes: subprocess.Popen[str]) -> None:
    """All at once, when all are ready."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def said(process: subprocess.Popen[str]) -> dict[str, str]:
    output, logged = process.communicate(timeout=150)
    found: dict[str, str] = json.loads(output)
    assert found.get("token", "no token") not in logged
    return found


def killed_at(life: Life, point: str) -> None:
    process = life.process(point)
    go(process)
    process.communicate(timeout=150)
    assert process.returncode == -signal.SIGKILL


def test_eight_processes_renew_one_token_once_and_the_consent_survives(life: Life) -> None:
    before = life.renewals()
    processes = [life.process() for _ in range(8)]
    go(*processes)
    answers = [said(process) for process in processes]
    tokens = {answer.get("token", answer.get("error")) for answer in answers}
    assert len(tokens) == 1, answers
    assert life.renewals() - before == 1
    (token,) = tokens
    assert token is not None
    assert life.is_alive(token)
    assert life.stored().access_token == token
    assert life.token() == token
    assert life.is_alive(life.stored().refresh_token)


def test_a_kill_before_the_provider_is_asked_costs_nothing(life: Life) -> None:
    killed_at(life, "before asking")
    assert life.stored().renewing_since is not None
    assert life.is_alive(life.token())
    assert life.stored().renewing_since is None


def test_a_kill_after_the_new_tokens_are_stored_costs_nothing(life: Life) -> None:
    before = life.renewals()
    killed_at(life, "after storing")
    assert life.is_alive(life.token())
    assert life.renewals() - before == 1


def test_a_kill_between_rotation_and_storing_is_explained_and_not_repeated(life: Life) -> None:
    renewals, refusals = life.renewals(), life.refusals()
    killed_at(life, "before storing")
    assert life.renewals() - renewals == 1
    for _ in range(3):
        with pytest.raises(AuthError, match=r"cut off .* forewatch accounts auth nora"):
            life.token()
    assert life.refusals() - refusals == 1, "asked once, and not again until the person has done something"
    assert life.stored().lost == "refresh_interrupted"
    asyncio.run(life._consent())
    assert life.is_alive(life.token()), "consenting again mends it"


def test_a_killed_holder_of_the_lock_stops_nobody(life: Life) -> None:
    process = life.process("before asking")
    waiting = life.process()
    go(process, waiting)
    process.communicate(timeout=150)
    assert life.is_alive(said(waiting)["token"])


def test_a_revoked_account_leaves_nothing_behind(life: Life) -> None:
    token = life.stored()

    async def part() -> str:
        desk = life.desk()
        left = await desk.revoke(account_at(life.oidc.url))
        await desk.shred("nora")
        desk.close()
        return left

    assert asyncio.run(part()) == ""
    assert not life.is_alive(token.refresh_token)
    with pytest.raises(AuthError, match="there is no consent yet"):
        life.token()
    assert list(life.home.glob("locks/nora*")) == []


def test_a_refused_token_is_renewed_at_once(life: Life) -> None:
    first = life.token()

    async def ask(refused: str) -> str:
        desk = life.desk()
        async with desk.open(account_at(life.oidc.url), asked=False) as access:
            fresh = await access.token(refused)
        desk.close()
        return fresh

    second = asyncio.run(ask(first))
    assert second != first
    assert asyncio.run(ask(first)) == second, "another one had been told the same before"
    assert os.stat(life.home / "vault.db").st_mode & 0o077 == 0
