"""How the IMAP connector gets in, and how it is kept out: encryption, passwords, tokens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import replace
from functools import partial

import pytest
from imapclient import IMAPClient

from extractors.http import Http
from extractors.imap import ImapConnector, discover
from extractors.imap.config import ImapConfig
from extractors.imap.login import Door
from extractors.imap.wire import Client
from extractors.oauth.consent import by_browser
from extractors.oauth.discovery import client_of
from extractors.oauth_settings import OAuthSettings
from extractors.testing import Key, Poll, context_for, poll
from extractors.testing.standin import Asked, Reply, StandIn
from schemas.clock import SystemClock
from schemas.errors import AuthError, TransientError
from tests.integration.imap_source import LETTERS, MailboxSource, config_of, letter
from tests.peers.dovecot import ODD_PASSWORDS, PASSWORD, Dovecot, dovecot
from tests.peers.oidc import CLIENT, INTROSPECTING, Oidc, consent
from tests.peers.process import free_port, provided


class Introspection(StandIn):
    """Says which tokens are good, as an authorisation server says it to a mail server (RFC 7662)."""

    def __init__(self) -> None:
        super().__init__()
        self.good: dict[str, str] = {}

    def answer(self, asked: Asked) -> Reply:
        user = self.good.get(asked.form().get("token", ""))
        return Reply.of({"active": True, "sub": user} if user else {"active": False})


@pytest.fixture(scope="module")
def tokens() -> Iterator[Introspection]:
    with Introspection() as server:
        yield server


@pytest.fixture(scope="module")
def server(tokens: Introspection, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dovecot]:
    start = partial(dovecot, introspection=f"{tokens.url}/")
    yield from provided(start, tmp_path_factory.mktemp("dovecot"))


def looked(config: ImapConfig, key: Key) -> Poll:
    return poll(LETTERS, config, None, context_for(), key=key)


def with_password(config: ImapConfig, password: str = PASSWORD) -> Poll:
    return looked(config, Key(secrets={"password": password}))


def checked(config: ImapConfig, key: Key) -> list[str]:
    async def run() -> list[str]:
        async with key.open(context_for().now) as access:
            return list(await LETTERS.check(config, replace(context_for(), access=access)))

    return asyncio.run(run())


@pytest.mark.parametrize("security", ["tls", "starttls"])
def test_mail_is_read_over_an_encrypted_connection(server: Dovecot, security: str) -> None:
    user = server.user()
    with server.client(user) as client:
        client.append("INBOX", letter("a"))
    port = server.imaps if security == "tls" else server.imap
    result = with_password(config_of(server, user, port=port, security=security))
    assert result.error is None
    assert len(result.upserts) == 1


def test_nothing_is_encrypted_on_this_machine_alone(server: Dovecot) -> None:
    config = config_of(server, server.user(), port=server.imap, security="none")
    assert with_password(config).error is None

    async def elsewhere(host: str, port: int) -> list[str]:
        return ["192.0.2.1"]

    far = ImapConnector(door=Door(resolve=elsewhere))
    result = poll(far, config, None, context_for(), key=Key(secrets={"password": PASSWORD}))
    assert isinstance(result.error, AuthError)
    assert "not be encrypted" in str(result.error)


def test_a_certificate_of_another_name_or_maker_is_refused(server: Dovecot) -> None:
    user = server.user()
    for security, port in (("tls", server.imaps), ("starttls", server.imap)):
        unknown = with_password(config_of(server, user, port=port, security=security, ca_file=""))
        assert isinstance(unknown.error, AuthError)
        assert "certificate" in str(unknown.error)

    async def here(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    other = ImapConnector(door=Door(resolve=here))
    config = config_of(server, user, host="mail.example.org")
    result = poll(other, config, None, context_for(), key=Key(secrets={"password": PASSWORD}))
    assert isinstance(result.error, AuthError)
    assert "certificate" in str(result.error)


def test_tls_on_a_port_without_it_says_what_to_check(server: Dovecot) -> None:
    result = with_password(config_of(server, server.user(), port=server.imap))
    assert isinstance(result.error, TransientError)
    assert "check port and security" in str(result.error)


def test_a_server_inside_the_network_is_refused_unless_it_is_meant(server: Dovecot) -> None:
    result = with_password(config_of(server, server.user(), allow_private=False))
    assert isinstance(result.error, AuthError)
    assert "private network" in str(result.error)


def test_a_wrong_password_is_for_the_person(server: Dovecot) -> None:
    user = server.user()
    result = with_password(config_of(server, user), "wrong")
    assert isinstance(result.error, AuthError)
    assert f"does not let {user} in" in str(result.error)
    assert "app password" in str(result.error)
    assert "wrong" not in str(result.error)


def test_a_missing_password_is_for_the_person(server: Dovecot) -> None:
    assert isinstance(looked(config_of(server, server.user()), Key()).error, AuthError)


@pytest.mark.parametrize(("user", "password"), ODD_PASSWORDS.items())
def test_any_password_is_said_right(server: Dovecot, user: str, password: str) -> None:
    assert with_password(config_of(server, user), password).error is None


def test_a_password_cannot_smuggle_a_command(server: Dovecot) -> None:
    result = with_password(config_of(server, server.user()), f"{PASSWORD}\r\nx LOGOUT")
    assert isinstance(result.error, AuthError)
    assert "control character" in str(result.error)


@pytest.fixture(params=["XOAUTH2", "OAUTHBEARER"])
def mechanism(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of the two, the server offers this one alone."""
    other = {"XOAUTH2": "AUTH=OAUTHBEARER", "OAUTHBEARER": "AUTH=XOAUTH2"}[request.param]
    monkeypatch.setattr(
        Client, "has_capability", lambda self, name: name != other and IMAPClient.has_capability(self, name)
    )
    return str(request.param)


def test_a_token_opens_the_mailbox(server: Dovecot, tokens: Introspection, mechanism: str) -> None:
    user = server.user()
    tokens.good = {"good": user}
    result = looked(config_of(server, user, provider="oidc"), Key(tokens=lambda refused: "good"))
    assert result.error is None
    assert f"user=<{user}>, method={mechanism}" in (server.folder / "dovecot.log").read_text()


def test_a_refused_token_is_exchanged_once(server: Dovecot, tokens: Introspection, mechanism: str) -> None:
    user = server.user()
    tokens.good = {"newer": user}
    asked: list[str] = []

    def token(refused: str) -> str:
        asked.append(refused)
        return "newer" if refused else "old"

    assert looked(config_of(server, user, provider="oidc"), Key(tokens=token)).error is None
    assert asked == ["", "old"]


def test_a_token_that_is_refused_again_is_for_the_person(
    server: Dovecot, tokens: Introspection, mechanism: str
) -> None:
    user = server.user()
    tokens.good = {}
    asked: list[str] = []

    def token(refused: str) -> str:
        asked.append(refused)
        return f"token{len(asked)}"

    result = looked(config_of(server, user, provider="oidc"), Key(tokens=token))
    assert isinstance(result.error, AuthError)
    assert "connect the account again" in str(result.error)
    assert asked == ["", "token1"]


def test_tokens_of_a_real_authorisation_server_open_the_mailbox(
    oidc_server: Oidc, tmp_path_factory: pytest.TempPathFactory
) -> None:
    clock = SystemClock()

    async def consented() -> str:
        async with Http(clock.now, allow_private=True) as http:
            settings = OAuthSettings(provider="oidc", client_id=CLIENT, issuer=oidc_server.url)
            client = await client_of(settings, "", http)
            pages: list[asyncio.Task[str]] = []
            first = await by_browser(
                client, ["mail"], http, clock, lambda url: pages.append(asyncio.ensure_future(consent(url))), limit_s=30
            )
            await asyncio.gather(*pages)
            question = {"grant_type": "refresh_token", "refresh_token": first.refresh_token}
            renewed = await client.ask(http, client.endpoints.token, question, clock.now())
            return str(renewed["access_token"])

    fresh = asyncio.run(consented())
    user, secret = INTROSPECTING
    address = f"http://{user}:{secret}@{oidc_server.url.removeprefix('http://')}/token/introspection"
    start = partial(dovecot, introspection=address)
    with start(tmp_path_factory.mktemp("dovecot")) as mailbox:
        config = config_of(mailbox, "nora@example.org", provider="oidc", client_id=CLIENT, issuer=oidc_server.url)
        refused: list[str] = []

        def token(old: str) -> str:
            refused.append(old)
            return fresh if old else "expired"

        result = looked(config, Key(tokens=token))
        assert result.error is None
        assert refused == ["", "expired"]


def test_check_says_what_is_there(server: Dovecot) -> None:
    user = server.user()
    with server.client(user) as client:
        for number in range(3):
            client.append("INBOX", letter(number))
        client.append("Sent", letter("out"))
        client.create_folder("Büro")
    key = Key(secrets={"password": PASSWORD})
    assert checked(config_of(server, user), key) == ["INBOX: 3 mails", "Sent: 1 mail", "not read: Büro, Trash"]
    chosen = config_of(server, user, folders=["Büro", "Nowhere"])
    assert checked(chosen, key)[:2] == ["Büro: 0 mails", "not there: Nowhere"]


def test_check_says_that_the_password_is_wrong(server: Dovecot) -> None:
    with pytest.raises(AuthError, match="does not let"):
        checked(config_of(server, server.user()), Key(secrets={"password": "wrong"}))


def test_a_guessed_server_is_one_that_greets_with_a_good_certificate(server: Dovecot) -> None:
    good = config_of(server, "nora@example.org")
    strange = config_of(server, "nora@example.org", ca_file="")
    plain = config_of(server, "nora@example.org", port=server.imap)
    nobody = config_of(server, "nora@example.org", port=free_port())

    async def run() -> list[bool]:
        return [await discover._answers(config, Door()) for config in (good, strange, plain, nobody)]

    assert asyncio.run(run()) == [True, False, False, False]


@pytest.mark.parametrize("turn", range(8))
def test_a_cancelled_poll_ends_at_once_and_leaves_no_thread(server: Dovecot, turn: int) -> None:
    """Whatever it waits for: the server says nothing any more from this turn on."""
    source = MailboxSource(server)
    source.add()
    source.proxy.arm("stall", turn)
    connector = ImapConnector(door=Door(read_s=300))
    threads = set(threading.enumerate())

    async def run() -> None:
        async with source.key.open(context_for().now) as access:
            context = replace(context_for(), access=access)
            async with aclosing(connector.pull(source.config, None, context)) as pages:  # type: ignore[type-var]
                task = asyncio.ensure_future(_all(pages))
                async with asyncio.timeout(20):
                    while source.proxy.turns <= turn and not task.done():
                        await asyncio.sleep(0.005)
                task.cancel()
                await asyncio.wait([task], timeout=20)
                assert task.done()

    asyncio.run(run())
    source.close()
    assert set(threading.enumerate()) <= threads


async def _all(pages: object) -> None:
    async for _ in pages:  # type: ignore[attr-defined]
        pass
