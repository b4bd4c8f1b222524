"""IMAP servers that are broken or mean harm: a poll ends soon, with mails or with an error that says what to do."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extractors.imap import ImapConnector
from extractors.imap.config import ImapConfig
from extractors.imap.login import Door
from extractors.testing import Key, Poll, context_for, poll
from schemas.errors import AuthError, ForewatchError, RateLimited, TransientError
from schemas.model import Json
from tests.unit.extractors.fake_imap import FakeImap, Mangle

CONNECTOR = ImapConnector(door=Door(read_s=2))
MAILS = [f"From: a@example.org\r\nSubject: {number}\r\n\r\nBody {number}\r\n".encode() for number in range(4)]


def polled(server: FakeImap, cursor: Json = None, **settings: object) -> Poll:
    place = {"host": "127.0.0.1", "port": server.port, "security": "none", "username": "nora", "allow_private": True}
    config = ImapConfig.model_validate({**place, **settings})
    return poll(CONNECTOR, config, cursor, context_for(), key=Key(secrets={"password": "s3cret"}))


def mangled(mangle: Mangle) -> Poll:
    with FakeImap(MAILS, mangle) as server:
        return polled(server)


def instead(at: int, what: bytes) -> Mangle:
    return lambda number, answer: what if number == at else answer


def after(at: int, what: bytes) -> Mangle:
    """More of it before the answer."""
    return lambda number, answer: what + answer if number == at else answer


CAPABILITY, LOGIN, MORE_CAPABILITY, LIST, STATUS, EXAMINE, LISTING, ENVELOPES, BODIES = range(1, 10)


def test_a_plain_server_without_any_extension_is_read() -> None:
    with FakeImap(MAILS) as server:
        first = polled(server)
        assert first.error is None
        assert [upsert.raw for upsert in first.upserts] == MAILS
        second = polled(server, first.cursor)
        assert (second.upserts, second.deletes, second.error) == ([], [], None)
        verbs = {" ".join(line.split()[1:3]).split(" (")[0].upper() for line in server.said if "FETCH" not in line}
        assert {verb.split()[0] for verb in verbs} == {"CAPABILITY", "LOGIN", "LIST", "STATUS", "EXAMINE", "LOGOUT"}
        assert not any("BODY[]" in line for line in server.said)


@pytest.mark.parametrize(
    "greeting",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"* BYE too many connections\r\n",
        b"220 smtp.example.org ESMTP\r\n",
        b"\x16\x03\x01\x02\x00",
        b"* OK " + b"x" * 2_000_000,
        b"",
    ],
    ids=["web", "bye", "smtp", "tls", "endless", "silent"],
)
def test_what_is_no_imap_server_is_told_apart(greeting: bytes) -> None:
    assert isinstance(mangled(instead(0, greeting)).error, TransientError)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("NO [AUTHENTICATIONFAILED] Invalid credentials", AuthError),
        ("NO login failed", AuthError),
        ("NO [ALERT] Application-specific password required", AuthError),
        ("NO [PRIVACYREQUIRED] not like this", AuthError),
        ("NO [UNAVAILABLE] the user database is away", TransientError),
        ("NO [INUSE] busy", TransientError),
        ("NO Temporary failure, try again later", TransientError),
        ("NO [LIMIT] Rate limit hit", RateLimited),
        ("NO Too many simultaneous connections", RateLimited),
        ("BAD what?", AuthError),
    ],
)
def test_a_no_to_the_login_is_understood(said: str, kind: type[ForewatchError]) -> None:
    with FakeImap(MAILS) as server:
        server.login = said
        result = polled(server)
    assert type(result.error) is kind
    assert "s3cret" not in str(result.error)


def test_big_providers_are_told_by_name_what_they_want() -> None:
    from extractors.imap.errors import no_entry

    config = ImapConfig(host="imap.gmail.com", username="nora@gmail.com")
    assert "apppasswords" in str(no_entry("Invalid credentials", config))


@pytest.mark.parametrize("greeting", [b"* OK ready\r\n", b"* PREAUTH welcome\r\n"])
def test_nothing_is_told_to_a_server_that_hides_its_encryption(greeting: bytes) -> None:
    with FakeImap(MAILS, instead(0, greeting)) as server:
        result = polled(server, security="starttls")
    assert result.error is not None
    assert not any("LOGIN" in line or "s3cret" in line for line in server.said)


def test_a_name_of_a_folder_cannot_smuggle_a_command() -> None:
    evil = b'* LIST (\\Sent) "/" {14}\r\na"\r\nx DELETE y\r\n'
    with FakeImap(MAILS, after(LIST, evil)) as server:
        polled(server)
    assert {line.split()[1] for line in server.said} <= {
        "CAPABILITY", "LOGIN", "LIST", "STATUS", "EXAMINE", "FETCH", "UID", "LOGOUT"
    }  # fmt: skip


def test_an_announced_mountain_is_not_waited_for() -> None:
    result = mangled(instead(BODIES, b"* 1 FETCH (UID 1 BODY[] {4000000000}\r\n" + b"x" * 1_000))
    assert isinstance(result.error, TransientError)
    assert "4000000000" in str(result.error)


def test_an_answer_without_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extractors.imap.wire.FLIGHT_BYTES", 300_000)
    tracemalloc.start()
    result = mangled(after(LISTING, b"* 1 FETCH (UID 1 FLAGS (x))\r\n" * 20_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(result.error, TransientError)
    assert peak < 60_000_000


def test_mails_that_nobody_asked_for_are_not_taken() -> None:
    foreign = b"* 9 FETCH (UID 99 BODY[] {3}\r\nabc)\r\n* 9 FETCH (UID 98 RFC822.SIZE 3 FLAGS ())\r\n"
    result = mangled(after(BODIES, foreign))
    assert result.error is None
    assert [upsert.raw for upsert in result.upserts] == MAILS


@pytest.mark.parametrize(
    "answer",
    [
        b"* 0 EXISTS\r\n",
        b"* 4 EXISTS\r\n* OK [UIDVALIDITY 0] x\r\n",
        b"* OK [UIDVALIDITY 7] x\r\n",
        b"* x EXISTS\r\n* OK [UIDVALIDITY y] x\r\n",
    ],
)
def test_a_folder_that_does_not_say_what_it_is_is_not_believed(answer: bytes) -> None:
    result = mangled(lambda number, said: answer + said.splitlines(True)[-1] if number == EXAMINE else said)
    assert isinstance(result.error, TransientError)


def test_a_mail_that_the_server_lists_and_does_not_show_is_told_once() -> None:
    def mangle(number: int, answer: bytes) -> bytes:
        return answer.replace(b"BODY[] {%d}\r\n%s" % (len(MAILS[1]), MAILS[1]), b"BODY[] NIL")

    with FakeImap(MAILS, mangle) as server:
        first = polled(server)
        assert first.error is None
        assert [upsert.raw for upsert in first.upserts] == [MAILS[0], *MAILS[2:]]
        assert [(each.where, each.code) for each in first.rejected] == [("INBOX/2", "unreadable")]
        assert polled(server, first.cursor).rejected == []


def test_no_line_of_a_server_reaches_an_error_raw() -> None:
    result = mangled(instead(EXAMINE, b"* \x1b[31m\x00evil\r\n"))
    assert isinstance(result.error, TransientError)
    assert str(result.error).isprintable()


def test_a_server_that_is_suddenly_empty_deletes_nothing() -> None:
    with FakeImap(MAILS) as server:
        first = polled(server)
        server.mails = []
        second = polled(server, first.cursor)
    assert (second.deletes, second.cursor) == ([], first.cursor)
    assert "suddenly gone" in second.warnings[0]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(at=st.integers(0, 9), place=st.floats(0, 1), noise=st.binary(min_size=1, max_size=12), cuts=st.booleans())
def test_any_noise_ends_in_mails_or_in_an_error_of_ours(at: int, place: float, noise: bytes, cuts: bool) -> None:
    def mangle(number: int, answer: bytes) -> bytes:
        if number != at:
            return answer
        middle = int(place * len(answer))
        return answer[:middle] + noise + answer[middle + (len(noise) if cuts else 0) :]

    with FakeImap(MAILS, mangle) as server:
        config = ImapConfig(host="127.0.0.1", port=server.port, security="none", username="n", allow_private=True)
        quick = ImapConnector(door=Door(read_s=0.1))
        result = poll(quick, config, None, context_for(), key=Key(secrets={"password": "x"}))
    assert isinstance(result.error, ForewatchError | None)
    assert not result.deletes
