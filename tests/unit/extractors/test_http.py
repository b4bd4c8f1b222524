"""Fetching from addresses that people type, against servers on this machine."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from extractors.address import parse_url, refusal
from extractors.fetch import Fetched, Fetcher, Stamp
from extractors.http import Answer, Http, Limits, Oversized, _Request, translated
from schemas.errors import AuthError, ForewatchError, RateLimited, TransientError

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
# a certificate for calendar.example that signs itself, and the same with its key: made for this test, used nowhere
CERTIFICATE = Path(__file__).parent / "tls" / "calendar.example.pem"
CHAIN = CERTIFICATE.with_name("calendar.example.chain.pem")


@dataclass
class Server:
    """``answers`` maps a path to (status, headers, body); ``asked`` collects path and headers."""

    port: int = 0
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            state.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            status, headers, body = state.answers.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return "Mon, 02 Mar 2026 08:00:00 GMT"

        def log_message(self, format: str, *args: Any) -> None:
            """Tests are silent."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = False

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that hangs up is what some tests are about."""

    with Quiet(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        state.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def get(url: str, fetcher: Fetcher | None = None, stamp: Stamp | None = None) -> Fetched:
    return asyncio.run((fetcher or Fetcher(allow_private=True)).get(url, now=NOW, stamp=stamp))


def test_a_body_comes_with_what_makes_the_next_call_cheap(server: Server) -> None:
    server.answers["/a"] = (200, {"ETag": '"7"', "Last-Modified": "Mon, 02 Mar 2026 08:00:00 GMT"}, b"hello")
    first = get(server.url("/a"))
    assert (first.body, first.stamp.etag) == (b"hello", '"7"')
    server.answers["/a"] = (304, {}, b"")
    second = get(server.url("/a"), stamp=first.stamp)
    assert (second.body, second.stamp) == (None, first.stamp)
    asked = server.asked[1][1]
    assert (asked["if-none-match"], asked["if-modified-since"]) == ('"7"', "Mon, 02 Mar 2026 08:00:00 GMT")
    assert asked["host"] == f"127.0.0.1:{server.port}"


def test_this_machine_is_out_of_bounds_unless_allowed(server: Server) -> None:
    server.answers["/"] = (200, {}, b"secret")
    for host in ("127.0.0.1", "localhost", "2130706433", "127.1"):
        with pytest.raises(AuthError, match="allow_private") as refused:
            get(server.url(host=host), Fetcher())
        assert "inside a private network" in str(refused.value)
    assert server.asked == []


def test_a_redirect_goes_through_the_same_door(server: Server) -> None:
    server.answers["/open"] = (302, {"Location": "http://169.254.169.254/latest/meta-data"}, b"")
    with pytest.raises(AuthError, match="no address of a web server"):
        get(server.url("/open"))
    server.answers["/file"] = (302, {"Location": "file:///etc/passwd"}, b"")
    with pytest.raises(AuthError, match="not a web address"):
        get(server.url("/file"))


def test_redirects_are_followed_a_few_times_and_no_further(server: Server) -> None:
    server.answers["/1"] = (301, {"Location": "/2"}, b"")
    server.answers["/2"] = (307, {"Location": server.url("/3")}, b"")
    server.answers["/3"] = (200, {}, b"there")
    assert get(server.url("/1")).body == b"there"
    server.answers["/loop"] = (302, {"Location": "/loop"}, b"")
    with pytest.raises(TransientError, match="redirects more than 5 times"):
        get(server.url("/loop"))
    server.answers["/nowhere"] = (302, {}, b"")
    with pytest.raises(TransientError, match="redirects to nowhere"):
        get(server.url("/nowhere"))


def test_a_name_is_resolved_once_and_the_checked_address_is_called(server: Server) -> None:
    """DNS rebinding: the second answer would be the forbidden one."""
    answers = [["127.0.0.1"], ["169.254.169.254"]]

    async def rebinding(host: str, port: int) -> Sequence[str]:
        return answers.pop(0)

    server.answers["/"] = (200, {}, b"hello")
    fetched = get(server.url(host="calendar.example"), Fetcher(allow_private=True, resolve=rebinding))
    assert fetched.body == b"hello"
    assert len(answers) == 1
    assert server.asked[0][1]["host"] == f"calendar.example:{server.port}"


def test_one_forbidden_address_among_good_ones_forbids_the_name() -> None:
    async def mixed(host: str, port: int) -> Sequence[str]:
        return ["203.0.113.9", "10.0.0.1"]

    with pytest.raises(AuthError):
        get("http://calendar.example/", Fetcher(resolve=mixed))


def test_the_next_address_is_tried_when_one_does_not_answer(server: Server) -> None:
    async def two(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.2", "127.0.0.1"]

    server.answers["/"] = (200, {}, b"hello")
    assert get(server.url(host="calendar.example"), Fetcher(allow_private=True, resolve=two)).body == b"hello"


def test_the_certificate_must_be_the_names_although_the_address_is_called() -> None:
    async def here(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CHAIN)
    trusting = Fetcher(allow_private=True, resolve=here, tls=ssl.create_default_context(cafile=str(CERTIFICATE)))
    with serving(context) as secure:
        secure.answers["/"] = (200, {}, b"hello")
        assert get(secure.url(host="calendar.example", scheme="https"), trusting).body == b"hello"
        with pytest.raises(TransientError, match=r"other\.example cannot be reached"):
            get(secure.url(host="other.example", scheme="https"), trusting)
        with pytest.raises(TransientError, match=r"calendar\.example cannot be reached"):
            get(secure.url(host="calendar.example", scheme="https"), Fetcher(allow_private=True, resolve=here))
        secure.answers["/"] = (302, {"Location": "http://calendar.example/"}, b"")
        with pytest.raises(AuthError, match="without encryption"):
            get(secure.url(host="calendar.example", scheme="https"), trusting)


def test_a_body_that_never_ends_is_cut_off(server: Server) -> None:
    server.answers["/"] = (200, {}, b"x" * 2_000_000)
    with pytest.raises(TransientError, match="more than 1 MB"):
        get(server.url(), Fetcher(allow_private=True, limits=Limits(body_bytes=1_000_000)))


def test_one_answer_may_be_larger_than_the_others(server: Server) -> None:
    server.answers["/"] = (200, {}, b"x" * 2_000_000)

    async def read(most: int) -> Answer:
        async with Http(lambda: NOW, allow_private=True, limits=Limits(body_bytes=1_000_000)) as http:
            return await http.send("GET", server.url(), body_bytes=most)

    assert len(asyncio.run(read(3_000_000)).body) == 2_000_000
    with pytest.raises(Oversized, match="more than 1 MB"):
        asyncio.run(read(1_500_000))


def test_what_is_sent_and_answered_shows_no_secret() -> None:
    url = httpx.URL("https://bank.example/?key=MARK")
    asked = _Request("POST", url, {"Authorization": "Bearer MARK"}, b"refresh_token=MARK", auth=("me", "MARK"))
    answer = Answer(200, httpx.Headers({"set-cookie": "MARK"}), b'{"access_token": "MARK"}', url)
    assert "MARK" not in repr(asked.authorised("MARK")) + repr(asked) + repr(answer)


def test_a_compressed_body_is_not_unpacked(server: Server) -> None:
    server.answers["/"] = (200, {"Content-Encoding": "gzip"}, b"bomb")
    with pytest.raises(TransientError, match="gzip"):
        get(server.url())
    assert server.asked[0][1]["accept-encoding"] == "identity"


def test_a_server_that_says_nothing_is_given_up(server: Server) -> None:
    server.answers["/"] = (200, {"Content-Length": "100"}, b"only this")
    with pytest.raises(TransientError):
        get(server.url(), Fetcher(allow_private=True, limits=Limits(read_s=0.05, total_s=0.2)))


@pytest.mark.parametrize(
    ("status", "headers", "error", "retry_after"),
    [
        (401, {}, AuthError, None),
        (403, {}, AuthError, None),
        (404, {}, AuthError, None),
        (410, {}, AuthError, None),
        (429, {"Retry-After": "120"}, RateLimited, timedelta(seconds=120)),
        (429, {"Retry-After": "Mon, 02 Mar 2026 08:05:00 GMT"}, RateLimited, timedelta(minutes=5)),
        (429, {"Retry-After": "99999999"}, RateLimited, timedelta(hours=24)),
        (429, {"Retry-After": "soon"}, RateLimited, None),
        (429, {}, RateLimited, None),
        (503, {"Retry-After": "1.5"}, TransientError, timedelta(seconds=1.5)),
        (500, {}, TransientError, None),
        (204, {}, TransientError, None),
    ],
)
def test_each_answer_says_who_has_to_do_what(
    server: Server, status: int, headers: dict[str, str], error: type[ForewatchError], retry_after: timedelta | None
) -> None:
    server.answers["/"] = (status, headers, b"")
    with pytest.raises(error) as raised:
        get(server.url())
    assert "127.0.0.1" in str(raised.value)
    if isinstance(raised.value, TransientError):
        assert raised.value.retry_at == (NOW + retry_after if retry_after else None)


def test_nobody_there_and_no_such_name_may_work_later(server: Server) -> None:
    async def unknown(host: str, port: int) -> Sequence[str]:
        raise OSError("Name or service not known")

    with pytest.raises(TransientError, match="has no address now"):
        get("https://calendar.example/", Fetcher(resolve=unknown))
    url = server.url()
    with serving() as gone:
        url = gone.url()
    with pytest.raises(TransientError, match="cannot be reached"):
        get(url)


@pytest.mark.parametrize(
    ("address", "public", "private"),
    [
        ("93.184.215.14", True, True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True, True),
        ("127.0.0.1", False, True),
        ("::1", False, True),
        ("10.1.2.3", False, True),
        ("192.168.1.10", False, True),
        ("172.16.0.1", False, True),
        ("100.64.0.1", False, True),
        ("fd12:3456::1", False, True),
        ("::ffff:192.168.1.10", False, True),
        ("2002:c0a8:010a::1", False, True),
        ("64:ff9b::c0a8:010a", False, True),
        ("169.254.169.254", False, False),
        ("::ffff:169.254.169.254", False, False),
        ("64:ff9b::a9fe:a9fe", False, False),
        ("fe80::1%eth0", False, False),
        ("fd00:ec2::254", False, False),
        ("100.100.100.200", False, False),
        ("168.63.129.16", False, False),
        ("0.0.0.0", False, False),
        ("::", False, False),
        ("224.0.0.1", False, False),
        ("ff02::1", False, False),
        ("255.255.255.255", False, False),
    ],
)
def test_which_addresses_may_be_called(address: str, public: bool, private: bool) -> None:
    assert (refusal(address, allow_private=False) is None) is public
    assert (refusal(address, allow_private=True) is None) is private


@pytest.mark.parametrize(
    ("given", "fetched"),
    [
        ("webcal://calendar.example/a.ics", "https://calendar.example/a.ics"),
        (" WEBCAL://calendar.example/a.ics", "https://calendar.example/a.ics"),
        ("http://calendar.example/a.ics?key=1#top", "http://calendar.example/a.ics?key=1"),
    ],
)
def test_a_subscription_link_is_a_web_address(given: str, fetched: str) -> None:
    assert str(parse_url(given)) == fetched


@pytest.mark.parametrize(
    "url", ["", "calendar", "ftp://a/b", "file:///etc/passwd", "https://", "https://me:pass@calendar.example/"]
)
def test_what_is_no_web_address_or_holds_a_password_is_refused(url: str) -> None:
    with pytest.raises(AuthError) as refused:
        parse_url(url)
    assert "pass@" not in str(refused.value)


def every(error: type[Exception]) -> Iterator[type[Exception]]:
    yield error
    for child in error.__subclasses__():
        yield from every(child)


@pytest.mark.parametrize("error", [*every(httpx.HTTPError), httpx.InvalidURL, OSError, ssl.SSLError])
def test_every_error_of_the_client_has_a_translation(error: type[Exception]) -> None:
    made = error.__new__(error)
    made.args = ("what happened",)
    assert isinstance(translated(made, "calendar.example"), TransientError | AuthError)
