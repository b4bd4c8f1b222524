"""The parts of a consent: question, loopback, answer, discovery, device code."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.http import Http
from extractors.oauth import authorize, device
from extractors.oauth.client import code_word
from extractors.oauth.consent import by_browser
from extractors.oauth.discovery import client_of, discover
from extractors.oauth.errors import Denied
from extractors.oauth.grant import granted
from extractors.oauth.loopback import Loopback
from extractors.oauth.revoke import revoke
from extractors.oauth.token import Token
from extractors.oauth_settings import OAuthSettings
from extractors.providers import GOOGLE, MICROSOFT
from extractors.testing.standin import Reply
from schemas.clock import ManualClock
from schemas.errors import AuthError, ConfigError, ForewatchError, TransientError
from tests.standins.oauth import TokenServer

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
MARK = "marker-7f3a9c"


def opened(clock: ManualClock | None = None) -> Http:
    return Http((clock or ManualClock(NOW)).now, allow_private=True)


def token(**changes: Any) -> Token:
    given = {"access_token": "at", "refresh_token": "rt", "issued_at": NOW, "granted_at": NOW}
    return Token(**{**given, **changes})


# the question and its answer


def test_a_question_holds_what_the_provider_must_see_and_nothing_more() -> None:
    client = TokenServer().client(GOOGLE)
    question = authorize.begin(client, ["a", "b"], "http://127.0.0.1:7/callback", hint="nora@example.org")
    address = urlsplit(question.url)
    sent = {name: values[0] for name, values in parse_qs(address.query).items()}
    challenge = sent.pop("code_challenge")
    assert sent == {
        "response_type": "code",
        "client_id": "my-client",
        "redirect_uri": "http://127.0.0.1:7/callback",
        "scope": "a b",
        "state": question.state,
        "code_challenge_method": "S256",
        "login_hint": "nora@example.org",
        "access_type": "offline",
        "prompt": "consent",
    }
    assert question.verifier not in question.url
    assert len(challenge) == 43
    shown = repr(question)
    assert question.state not in shown
    assert question.verifier not in shown


def test_no_two_questions_share_state_or_verifier() -> None:
    client = TokenServer().client()
    questions = [authorize.begin(client, ["a"], "http://127.0.0.1:7/callback") for _ in range(20)]
    assert len({question.state for question in questions} | {question.verifier for question in questions}) == 40


@pytest.mark.parametrize(
    ("query", "complaint"),
    [
        ("code=c&state=other", "does not belong"),
        ("code=c", "does not belong"),
        ("code=c&state={state}&state={state}", "does not belong"),
        ("state={state}&iss={issuer}", "holds no code"),
        ("code=c&state={state}&iss=https://evil.example", "does not come from"),
        ("error=access_denied&state={state}", "the consent was refused"),
        ("error=server_error&error_description=" + MARK + "&state={state}", "was not given: server_error"),
        ("error=%1b[31mred&state={state}", "was not given: unknown_error"),
        ("x=" + "y" * 20_000 + "&code=c&state={state}", "does not belong"),
        ("&".join(f"x{n}=1" for n in range(60)) + "&code=c&state={state}", "does not belong"),
    ],
)
def test_an_answer_is_taken_only_from_the_provider_that_was_asked(query: str, complaint: str) -> None:
    with TokenServer() as server:
        client = server.client()
        question = authorize.begin(client, ["a"], "http://127.0.0.1:7/callback")
        url = f"{question.redirect_uri}?{query.replace('{state}', question.state).replace('{issuer}', server.url)}"
        with pytest.raises(AuthError, match=complaint) as caught:
            authorize.code_of(client, question, url)
    assert MARK not in str(caught.value)
    assert question.state not in str(caught.value)


def test_an_answer_without_issuer_is_taken_unless_the_provider_always_names_itself() -> None:
    client = TokenServer().client()
    question = authorize.begin(client, ["a"], "http://127.0.0.1:7/callback")
    assert authorize.code_of(client, question, f"http://127.0.0.1:7/callback?code=c&state={question.state}") == "c"


@given(st.text(max_size=300))
def test_any_pasted_text_is_an_answer_or_an_error_of_ours(text: str) -> None:
    client = TokenServer().client()
    question = authorize.begin(client, ["a"], "http://127.0.0.1:7/callback")
    with pytest.raises(AuthError):
        authorize.code_of(client, question, text)


@given(st.one_of(st.text(), st.none(), st.integers(), st.lists(st.text())))
def test_an_error_code_is_a_word(error: object) -> None:
    word = code_word(error)
    assert word.isascii()
    assert word.isprintable()
    assert 0 < len(word) <= 60


# the loopback


def test_the_loopback_takes_one_answer_and_is_deaf_to_everything_else() -> None:
    async def scenario() -> None:
        async with Loopback() as listener, httpx.AsyncClient(trust_env=False) as browser:
            base = f"http://127.0.0.1:{listener.port}"
            waiting = asyncio.create_task(listener.answer(lambda url: "state=right" in url))
            await asyncio.sleep(0)
            statuses = [
                (await browser.get(f"{base}/favicon.ico")).status_code,
                (await browser.get(f"{base}/callback?code=c&state=wrong")).status_code,
                (await browser.post(f"{base}/callback?code=c&state=right")).status_code,
                (await browser.get(f"{base}/callback?state=right", headers={"Host": "evil.example"})).status_code,
            ]
            assert statuses == [404, 404, 400, 400]
            assert not waiting.done()
            page = await browser.get(
                f"http://localhost:{listener.port}/callback?code=c&state=right", follow_redirects=False
            )
            assert page.status_code == 200
            assert "close this page" in page.text
            assert page.headers["cache-control"] == "no-store"
            assert "default-src 'none'" in page.headers["content-security-policy"]
            assert await waiting == f"{base}/callback?code=c&state=right"
            assert (await browser.get(f"{base}/callback?code=d&state=right")).status_code == 404
        with pytest.raises(OSError, match=r".*"):
            await asyncio.open_connection("127.0.0.1", listener.port)

    asyncio.run(scenario())


def test_the_loopback_gives_up_and_is_not_held_up_by_silent_or_endless_callers() -> None:
    async def scenario() -> None:
        async with Loopback() as listener:
            idle = [await asyncio.open_connection("127.0.0.1", listener.port) for _ in range(20)]
            endless = await asyncio.open_connection("127.0.0.1", listener.port)
            endless[1].write(b"GET /" + b"x" * 100_000)
            with pytest.raises(AuthError, match="nobody consented"):
                await listener.answer(lambda url: True, limit_s=0.2)
        for _, writer in [*idle, endless]:
            writer.close()

    asyncio.run(scenario())


def test_the_loopback_listens_on_this_machine_only() -> None:
    async def scenario() -> None:
        async with Loopback() as listener:
            assert listener._server is not None
            assert [socket.getsockname()[0] for socket in listener._server.sockets] == ["127.0.0.1"]

    asyncio.run(scenario())


def consented(server: TokenServer, *, pastes: list[str], opens: str = "") -> tuple[Token | ForewatchError, str]:
    """A consent in a browser: on this machine, or on another one whose last address is pasted."""
    shown: list[str] = []

    async def scenario() -> Token | ForewatchError:
        def answer(address: str) -> str:
            asked = parse_qs(urlsplit(shown[0]).query)
            return address.format(redirect=asked["redirect_uri"][0], state=asked["state"][0], iss=server.url)

        async def pasted() -> str:
            if pastes:
                return answer(pastes.pop(0))
            async with httpx.AsyncClient(trust_env=False) as browser:
                await browser.get(answer(opens))
            await asyncio.Event().wait()
            raise AssertionError

        async with opened() as http:
            try:
                return await by_browser(server.client(), ["mail"], http, ManualClock(NOW), shown.append, pasted=pasted)
            except ForewatchError as error:
                return error

    return asyncio.run(scenario()), "".join(shown)


ANSWER = "{redirect}?code=c&state={state}&iss={iss}"


def test_an_address_that_is_pasted_counts_like_one_that_is_opened_here() -> None:
    for way in ({"pastes": [ANSWER]}, {"pastes": [], "opens": ANSWER}):
        with TokenServer([Reply.of({"access_token": "a", "refresh_token": "r", "expires_in": 60})]) as server:
            token, url = consented(server, **way)  # type: ignore[arg-type]
            assert isinstance(token, Token)
            assert token.scope == ("openid", "offline_access", "mail")
            sent = server.tokens_asked()[0].form()
            assert (sent["code"], sent["grant_type"]) == ("c", "authorization_code")
            assert sent["redirect_uri"] == parse_qs(urlsplit(url).query)["redirect_uri"][0]
            assert len(sent["code_verifier"]) >= 43


def test_a_wrong_address_that_is_pasted_is_told_at_once() -> None:
    with TokenServer([Reply.of({})]) as server:
        for wrong in ("", "http://127.0.0.1:1/callback?code=c&state=other", "yes"):
            error, _ = consented(server, pastes=[wrong])
            assert isinstance(error, AuthError)
            assert "does not belong" in str(error)
        assert server.tokens_asked() == []


# what providers answer


def parsed(answer: Mapping[str, Any], **more: Any) -> Token:
    return granted(TokenServer().client(), answer, now=NOW, **more)


@pytest.mark.parametrize(
    ("expires_in", "refresh", "seconds"),
    [
        (3600, "rt", 3600),
        ("3600", "rt", 3600),
        (3599.5, "rt", 3599.5),
        (None, "rt", 3600),
        ("soon", "rt", 3600),
        (True, "rt", 3600),
        (-5, "rt", 0),
        (1e10, "rt", 3660 * 86400),
        (1e300, "rt", 3600),
        (float("nan"), "rt", 3600),
        (None, "", None),
    ],
)
def test_the_life_of_a_token_is_read_however_it_is_told(expires_in: Any, refresh: str, seconds: float | None) -> None:
    found = parsed({"access_token": "a", "expires_in": expires_in, "refresh_token": refresh})
    assert (found.expires_at and (found.expires_at - NOW).total_seconds()) == seconds


@pytest.mark.parametrize("access", [None, "", 7, "with\nline", "ünicode", "x" * 40_000, ["a"]])
def test_an_answer_without_a_usable_token_may_work_later(access: Any) -> None:
    with pytest.raises(TransientError, match="without a token"):
        parsed({"access_token": access})


def test_a_token_of_another_kind_is_refused() -> None:
    with pytest.raises(Denied, match="not supported"):
        parsed({"access_token": "a", "token_type": "DPoP"})
    assert parsed({"access_token": "a", "token_type": "BEARER"}).access_token == "a"


def test_the_end_of_a_consent_is_kept_where_the_provider_tells_it() -> None:
    first = parsed({"access_token": "a", "refresh_token": "r", "refresh_token_expires_in": 604799})
    assert first.ends_at == NOW + timedelta(seconds=604799)
    later = granted(TokenServer().client(), {"access_token": "b"}, now=NOW + timedelta(days=1), before=first)
    assert (later.ends_at, later.granted_at, later.refresh_token) == (first.ends_at, NOW, "r")


def test_a_short_lived_token_is_not_renewed_on_every_call() -> None:
    short = token(expires_at=NOW + timedelta(seconds=30))
    assert short.is_good(NOW)
    assert short.is_good(NOW + timedelta(seconds=23))
    assert not short.is_good(NOW + timedelta(seconds=25))
    assert not token(expires_at=NOW + timedelta(hours=1)).is_good(NOW + timedelta(minutes=59, seconds=1))
    assert token().is_good(NOW + timedelta(days=900))
    assert not token().is_good(NOW, refused="at")
    assert not token(lost="invalid_grant").is_good(NOW)


def test_tokens_show_nothing_and_survive_the_vault() -> None:
    held = token(access_token=MARK, refresh_token=MARK + "2", scope=("a",), ends_at=NOW)
    assert MARK not in f"{held!r}{held!s}{[held]}"
    assert Token.load(held.dump()) == held
    for text in ("", "{}", '{"access_token": "' + MARK + '"}', held.dump().replace("scope", MARK)):
        with pytest.raises(AuthError, match="cannot be read") as caught:
            Token.load(text)
        assert MARK not in str(caught.value)
        assert caught.value.__cause__ is None


ODD_ANSWERS = [
    Reply(200, b"<html>Wi-Fi</html>", {"Content-Type": "text/html"}),
    Reply(200, b"access_token=a&token_type=bearer", {"Content-Type": "application/x-www-form-urlencoded"}),
    Reply(200, b"[1, 2]", {"Content-Type": "application/json"}),
    Reply(200, b"[" * 100_000, {"Content-Type": "application/json"}),
    Reply(200, b"", {}),
    Reply(302, b"", {"Location": "https://evil.example/"}),
    Reply(400, b"<h1>Bad Request</h1>", {"Content-Type": "text/html"}),
    Reply(401, b"nginx", {}),
    Reply(403, b"blocked by the firewall", {}),
    Reply(404, b"nothing here", {}),
    Reply.of({"error": "invalid_grant"}, 503),
    Reply.of({"error": "invalid_grant"}, 429),
    Reply.of({"error": "temporarily_unavailable"}, 400),
    Reply.of({"error": "server_error"}, 400),
]


@pytest.mark.parametrize("reply", ODD_ANSWERS, ids=lambda reply: f"{reply.status} {reply.body[:24]!r}")
def test_what_is_not_oauth_may_work_later(reply: Reply) -> None:
    async def scenario(server: TokenServer) -> None:
        async with opened() as http:
            with pytest.raises(TransientError):
                await server.client().ask(http, f"{server.url}/token", {"grant_type": "x"}, NOW)

    with TokenServer([reply]) as server:
        asyncio.run(scenario(server))


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply.of({"error": "invalid_grant", "error_description": MARK}, 400), "invalid_grant"),
        (Reply.of({"error": "invalid_grant"}), "invalid_grant"),
        (Reply.of({"error": "invalid_client"}, 401), "invalid_client"),
        (Reply.of({"error": "interaction_required"}, 400), "interaction_required"),
        (Reply.of({"error": {"code": MARK}}, 400), "unknown_error"),
    ],
)
def test_an_oauth_error_needs_a_person_whatever_its_status(reply: Reply, code: str) -> None:
    async def scenario(server: TokenServer) -> None:
        async with opened() as http:
            with pytest.raises(Denied) as denied:
                await server.client().ask(http, f"{server.url}/token", {"grant_type": "x"}, NOW)
        assert denied.value.code == code
        assert MARK not in str(denied.value)
        assert denied.value.remedy

    with TokenServer([reply]) as server:
        asyncio.run(scenario(server))


@pytest.mark.parametrize("takes_basic", [True, False])
def test_a_client_secret_goes_where_the_provider_takes_it(takes_basic: bool) -> None:
    async def scenario(server: TokenServer) -> None:
        client = server.client(secret="s+c/r=t", takes_basic=takes_basic)
        assert "s+c/r=t" not in repr(client)
        async with opened() as http:
            await client.ask(http, f"{server.url}/token", {"grant_type": "refresh_token", "refresh_token": "a&b"}, NOW)

    with TokenServer([Reply.of({})]) as server:
        asyncio.run(scenario(server))
        (asked,) = server.asked
    form = asked.form()
    assert form["refresh_token"] == "a&b"
    assert asked.query == {}
    if takes_basic:
        word = base64.b64decode(asked.headers["authorization"].removeprefix("Basic ")).decode()
        assert word == f"my-client:{quote('s+c/r=t', safe='')}"
        assert "client_secret" not in form
    else:
        assert (form["client_id"], form["client_secret"]) == ("my-client", "s+c/r=t")
        assert "authorization" not in asked.headers


# discovery


@pytest.mark.parametrize(
    ("published", "complaint"),
    [
        ({"issuer": "https://evil.example"}, "answers for another issuer"),
        ({"issuer": None}, "answers for another issuer"),
        ({"token_endpoint": ""}, "publishes no token_endpoint"),
        ({"authorization_endpoint": 7}, "publishes no authorization_endpoint"),
        ({"token_endpoint": "http://token.example/"}, "token.example is not encrypted"),
        ({"revocation_endpoint": "javascript:alert(1)"}, "not a web address"),
        ({"token_endpoint": "https://user:pass@token.example/"}, "holds a password"),
    ],
)
def test_an_issuer_that_publishes_nonsense_is_not_followed(published: dict[str, Any], complaint: str) -> None:
    async def scenario(server: TokenServer) -> None:
        server.metadata["published"] = published
        async with opened() as http:
            with pytest.raises(ForewatchError, match=complaint):
                await discover(http, server.url)

    with TokenServer() as server:
        asyncio.run(scenario(server))


def test_an_issuer_without_encryption_is_only_for_this_machine() -> None:
    async def scenario() -> None:
        async with opened() as http:
            with pytest.raises(ConfigError, match="use its https address"):
                await discover(http, "http://login.example.org")

    asyncio.run(scenario())


def test_known_providers_are_not_asked_for_their_addresses() -> None:
    async def scenario() -> None:
        async with Http(lambda: NOW) as http:
            client = await client_of(OAuthSettings(provider="microsoft", client_id="c"), "", http)
            assert client.endpoints == MICROSOFT.endpoints
            assert client.title == "Microsoft"

    asyncio.run(scenario())


# the device flow


def code_for(server: TokenServer, **changes: Any) -> None:
    server.metadata["device"] = {
        "device_code": MARK,
        "user_code": "WDJB-MJHT",
        "verification_uri": "https://as.example.org/device",
        "expires_in": 60,
        "interval": 5,
        **changes,
    }


def play_device(replies: list[Reply], **changes: Any) -> tuple[Token | ForewatchError, list[float]]:
    waits: list[float] = []

    async def scenario(server: TokenServer) -> Token | ForewatchError:
        clock = ManualClock(NOW)

        async def sleep(seconds: float) -> None:
            waits.append(seconds)
            clock.advance_to(clock.now() + timedelta(seconds=seconds))

        code_for(server, **changes)
        async with opened(clock) as http:
            try:
                asked = await device.begin(http, server.client(), ["mail"], clock.now())
                return await device.wait(http, server.client(), asked, clock, sleep)
            except ForewatchError as error:
                return error

    with TokenServer(replies) as server:
        return asyncio.run(scenario(server)), waits


PENDING = Reply.of({"error": "authorization_pending"}, 400)
DONE = Reply.of({"access_token": "a", "token_type": "Bearer", "expires_in": 60})


def test_a_code_that_nobody_types_expires() -> None:
    ended, waits = play_device([PENDING])
    assert isinstance(ended, AuthError)
    assert "not typed in time" in str(ended)
    assert sum(waits) < 60


@pytest.mark.parametrize(("code", "words"), [("access_denied", "refused"), ("expired_token", "expired")])
def test_the_device_flow_ends_when_the_provider_says_so(code: str, words: str) -> None:
    ended, waits = play_device([PENDING, Reply.of({"error": code}, 400)])
    assert isinstance(ended, Denied)
    assert words in str(ended)
    assert MARK not in str(ended)
    assert waits == [5, 5]


def test_a_provider_that_asks_for_fewer_calls_is_obeyed() -> None:
    ended, waits = play_device([Reply(429, b"", {"Retry-After": "20"}), DONE])
    assert isinstance(ended, Token)
    assert waits == [5, 20]


@pytest.mark.parametrize(
    "changes",
    [
        {"device_code": ""},
        {"user_code": "AB\x1b[31mCD"},
        {"verification_uri": None},
        {"verification_uri": "javascript:alert(1)"},
        {"verification_uri_complete": "file:///etc/passwd"},
    ],
)
def test_a_device_answer_that_a_terminal_must_not_show_is_refused(changes: dict[str, Any]) -> None:
    ended, _ = play_device([DONE], **changes)
    assert isinstance(ended, ForewatchError)


@pytest.mark.parametrize(("changes", "first"), [({"interval": 0}, 5), ({"interval": "x"}, 5), ({"interval": 0.01}, 1)])
def test_a_strange_interval_does_not_become_a_storm(changes: dict[str, Any], first: float) -> None:
    ended, waits = play_device([DONE], **changes)
    assert isinstance(ended, Token)
    assert waits == [first]


def test_a_provider_without_device_codes_says_so() -> None:
    async def scenario() -> None:
        async with opened() as http:
            client = await client_of(OAuthSettings(provider="fastmail", client_id="c"), "", http)
            with pytest.raises(ConfigError, match="Fastmail offers no device codes; consent in a browser"):
                await device.begin(http, client, ["mail"], NOW)

    asyncio.run(scenario())


# revocation


def test_revocation_tells_the_refresh_token_and_takes_an_unknown_one_as_ended() -> None:
    class Revoking(TokenServer):
        reply = Reply()

        def answer(self, asked: Any) -> Reply:
            return self.reply

    async def scenario(server: Revoking) -> None:
        async with opened() as http:
            end = partial(revoke, http, server.client(), now=NOW)
            assert await end(token())
            assert server.asked[-1].form() == {
                "token": "rt",
                "token_type_hint": "refresh_token",
                "client_id": "my-client",
            }
            assert await end(token(refresh_token=""))
            assert server.asked[-1].form()["token_type_hint"] == "access_token"
            server.reply = Reply.of({"error": "invalid_token"}, 400)
            assert await end(token())
            server.reply = Reply.of({"error": "invalid_client"}, 401)
            with pytest.raises(Denied):
                await end(token())
            server.reply = Reply(503)
            with pytest.raises(TransientError):
                await end(token())
            microsoft = await client_of(OAuthSettings(provider="microsoft", client_id="c"), "", http)
            assert not await revoke(http, microsoft, token(), NOW)

    with Revoking() as server:
        asyncio.run(scenario(server))
