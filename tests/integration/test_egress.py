"""Real sandboxed programs that ask the broker, which asks real servers on loopback."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from actions.isolation.addresses import is_public, pinned
from actions.isolation.broker import Broker, Means
from actions.isolation.egress import Question, judge, question
from actions.isolation.permissions import Credential, Files, Host, Limits, Permissions
from actions.isolation.redact import Redactor
from actions.isolation.sandbox import Mode, Program, command
from actions.testing.egress import MemoryLedger
from schemas.clock import ManualClock

PYTHON = os.path.realpath(sys.executable)
SECRET = "s3cret/of+the=bank"
API = "api.bank.example"


@dataclass
class Upstream:
    """A web server that answers by path and remembers what it was asked."""

    port: int = 0
    asked: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.rstrip().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            self.asked.append((first, headers, body))
            await self._answer(first.split()[1], headers, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, path: str, headers: dict[str, str], writer: asyncio.StreamWriter) -> None:
        if path == "/v1/moved":
            writer.write(b"HTTP/1.1 302 Found\r\nlocation: http://evil.example/take?it\r\ncontent-length: 0\r\n\r\n")
        elif path == "/v1/slow":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nnext")
            await writer.drain()
            await self.go_on.wait()
            writer.write(b"last")
        else:
            text = json.dumps({"path": path, "authorization": headers.get("authorization")})
            cut = text.find(SECRET) + 5 if SECRET in text else 5
            reply = f"HTTP/1.1 200 OK\r\nx-echo: {headers.get('authorization')}\r\ncontent-length: {len(text)}\r\n\r\n"
            writer.write(reply.encode() + text[:cut].encode())
            await writer.drain()
            writer.write(text[cut:].encode())
        await writer.drain()


@asynccontextmanager
async def upstream(tls: ssl.SSLContext | None = None) -> AsyncIterator[Upstream]:
    served = Upstream()
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0, ssl=tls)
    served.port = server.sockets[0].getsockname()[1]
    async with server:
        yield served


@dataclass
class Place:
    """A broker that listens, and a sandbox whose only door it is."""

    broker: Broker
    ledger: MemoryLedger
    folder: Path
    mode: Mode
    files: Files

    async def python(self, code: str, *arguments: str) -> str:
        process = await self.start(code, *arguments)
        out, err = await asyncio.wait_for(process.communicate(), 120)
        assert process.returncode == 0, err.decode()
        return out.decode()

    async def start(self, code: str, *arguments: str) -> asyncio.subprocess.Process:
        program = Program(
            (PYTHON, "-c", code, *arguments), files=self.files, egress=self.folder, limits=Limits(memory_mb=256)
        )
        pipe = asyncio.subprocess.PIPE
        line = command(program, self.mode, self.folder)
        return await asyncio.create_subprocess_exec(*line, stdout=pipe, stderr=pipe, env={}, cwd="/")


@asynccontextmanager
async def place(
    mode: Mode,
    *hosts: Host,
    to: Mapping[str, list[str]],
    verify: ssl.SSLContext | bool = True,
    files: Files | None = None,
) -> AsyncIterator[Place]:
    ids, ledger = itertools.count(), MemoryLedger()

    async def resolve(host: str, port: int) -> list[str]:
        if host not in to:
            raise OSError("no such name")
        return to[host]

    async def secrets() -> dict[str, str]:
        return {"bank_token": SECRET}

    clock = ManualClock(datetime(2025, 3, 3, tzinfo=UTC))
    means = Means(clock, ledger, lambda: f"e{next(ids)}", resolve=resolve, verify=verify)
    broker = Broker("bank", "1.0.0", Permissions(hosts=hosts), means, secrets)
    with TemporaryDirectory(prefix="fw") as folder:
        async with broker.listening(Path(folder)) as inside:
            yield Place(broker, ledger, inside, mode, files or Files())


def bank(port: int) -> Host:
    """Loopback stands for the person's own network, so that a server on this machine may be asked."""
    return Host(
        host=API, port=port, scheme="http", private=True, paths=("/v1/",), credential=Credential(secret="bank_token")
    )


ASK = """
import json, sys, urllib.error, urllib.request
for line in sys.argv[1:]:
    method, url = line.split()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method=method), timeout=60) as reply:
            print(reply.status, dict(reply.headers).get("x-echo"), reply.read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, json.load(error)["reason"])
    except OSError as error:
        print(type(error).__name__)
"""

Story = Callable[[], Awaitable[None]]


def told(story: Story) -> None:
    asyncio.run(asyncio.wait_for(story(), 240))


def test_a_declared_request_goes_out_with_the_secret_and_comes_back_without_it(bwrap_mode: Mode) -> None:
    async def story() -> None:
        async with upstream() as far, place(bwrap_mode, bank(far.port), to={API: ["127.0.0.1"]}) as here:
            said = await here.python(ASK, f"GET http://{API}/v1/accounts?of=ann")
            assert said.startswith("200 *** ")
            assert SECRET not in said
            assert json.loads(said.split(" ", 2)[2]) == {"path": "/v1/accounts?of=ann", "authorization": "***"}
            ((first, headers, _),) = far.asked
            assert first == "GET /v1/accounts?of=ann HTTP/1.1"
            assert (headers["authorization"], headers["host"]) == (f"Bearer {SECRET}", f"{API}:{far.port}")
            await asyncio.wait_for(here.broker.idle(), 60)
            started, ended = here.ledger.entries
            assert (started.phase, started.address, started.credential) == ("started", "127.0.0.1", "bank_token")
            assert (ended.phase, ended.reason, ended.status, ended.path) == ("ended", "", 200, "/v1/accounts")
            assert ended.bytes_in > 0

    told(story)


def test_what_is_not_declared_is_blocked_and_recorded(bwrap_mode: Mode) -> None:
    async def story() -> None:
        names = {API: ["127.0.0.1"], "evil.example": ["127.0.0.1"]}
        async with upstream() as far, place(bwrap_mode, bank(far.port), to=names) as here:
            said = await here.python(
                ASK,
                f"POST http://{API}/v1/pay",
                "GET http://evil.example/x",
                f"GET http://{API}/admin",
                f"GET http://{API}:1/v1/x",
                f"GET http://{API}/v1/..%2Fadmin",
                f"GET http://{API}/v1/../admin",
                f"GET https://{API}/v1/accounts",
                "GET http://169.254.169.254/latest/meta-data",
            )
            reasons = [line.split()[-1] for line in said.splitlines()]
            assert reasons[:6] == [
                "method_undeclared", "host_undeclared", "path_undeclared", "port_undeclared", "malformed", "malformed",
            ]  # fmt: skip
            assert far.asked == []
            assert [entry.phase for entry in here.ledger.entries] == ["blocked"] * 8
            assert [entry.reason for entry in here.ledger.entries][6:] == ["port_undeclared", "host_undeclared"]
            assert here.ledger.entries[1].host == "evil.example"

    told(story)


def test_nothing_but_the_broker_can_be_reached(bwrap_mode: Mode) -> None:
    direct = """
import socket, sys
for port in sys.argv[1:]:
    try:
        socket.create_connection(("127.0.0.1", int(port)), timeout=5)
        print("connected")
    except OSError as error:
        print(type(error).__name__)
"""

    async def story() -> None:
        async with upstream() as far, place(bwrap_mode, bank(far.port), to={}) as here:
            assert await here.python(direct, str(far.port)) == "ConnectionRefusedError\n"
            assert far.asked == []

    told(story)


def test_a_redirect_to_an_undeclared_host_is_blocked(bwrap_mode: Mode) -> None:
    async def story() -> None:
        names = {API: ["127.0.0.1"], "evil.example": ["127.0.0.1"]}
        async with upstream() as far, place(bwrap_mode, bank(far.port), to=names) as here:
            assert await here.python(ASK, f"GET http://{API}/v1/moved") == "403 host_undeclared\n"
            assert len(far.asked) == 1
            assert [(e.host, e.reason) for e in here.ledger.of("blocked")] == [("evil.example", "host_undeclared")]

    told(story)


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["93.184.215.14", "10.0.0.1"], ["::ffff:192.168.1.1"]])
def test_a_name_that_leads_into_a_private_network_is_blocked(bwrap_mode: Mode, addresses: list[str]) -> None:
    async def story() -> None:
        public = Host(host="news.example", scheme="http", port=80)
        async with place(bwrap_mode, public, to={"news.example": addresses}) as here:
            assert await here.python(ASK, "GET http://news.example/") == "403 private_address\n"
            assert [entry.reason for entry in here.ledger.entries] == ["private_address"]

    told(story)


def test_a_revoked_permission_ends_what_is_under_way(bwrap_mode: Mode) -> None:
    read = """
import sys, urllib.request
reply = urllib.request.urlopen(sys.argv[1], timeout=60)
print(reply.read(4).decode(), flush=True)
try:
    print(reply.read(4).decode() or "nothing more")
except Exception as error:
    print(type(error).__name__)
"""

    async def story() -> None:
        async with upstream() as far, place(bwrap_mode, bank(far.port), to={API: ["127.0.0.1"]}) as here:
            program = await here.start(read, f"http://{API}/v1/slow")
            assert program.stdout is not None
            assert await asyncio.wait_for(program.stdout.readline(), 60) == b"next\n"
            here.broker.revoke()
            far.go_on.set()
            out, _ = await asyncio.wait_for(program.communicate(), 60)
            assert b"last" not in out
            assert await here.python(ASK, f"GET http://{API}/v1/accounts") == "403 revoked\n"
            await asyncio.wait_for(here.broker.idle(), 60)
            assert [entry.reason for entry in here.ledger.of("ended")] == ["revoked"]

    told(story)


def certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, Path]:
    """A server's context and the file of the authority that vouches for it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    authority, private = folder / "ca.pem", folder / "key.pem"
    authority.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority, private)
    return context, authority


def test_the_broker_makes_the_tls_connection_and_checks_the_name(bwrap_mode: Mode, tmp_path: Path) -> None:
    served, authority = certificate(tmp_path, API)
    trusted = ssl.create_default_context(cafile=str(authority))

    async def story() -> None:
        names = {API: ["127.0.0.1"], "other.example": ["127.0.0.1"]}
        async with upstream(served) as far:
            hosts = [Host(host=name, port=far.port, private=True) for name in names]
            async with place(bwrap_mode, *hosts, to=names, verify=trusted) as here:
                said = await here.python(ASK, f"GET http://{API}/x", "GET http://other.example/x")
                assert [line.split()[0] for line in said.splitlines()] == ["200", "502"]
                assert len(far.asked) == 1

    told(story)


def test_a_program_with_tls_of_its_own_gets_a_tunnel_to_declared_hosts_only(bwrap_mode: Mode, tmp_path: Path) -> None:
    served, authority = certificate(tmp_path, "tls.example")
    own = """
import ssl, sys, urllib.error, urllib.request
context = ssl.create_default_context(cafile=sys.argv[1])
for url in sys.argv[2:]:
    try:
        print(urllib.request.urlopen(url, timeout=60, context=context).read().decode())
    except OSError as error:
        print(error)
"""

    async def story() -> None:
        names = {"tls.example": ["127.0.0.1"], "evil.example": ["127.0.0.1"]}
        async with upstream(served) as far:
            host = Host(host="tls.example", port=far.port, tunnel=True, private=True)
            files = Files(read=(authority,))
            async with place(bwrap_mode, host, to=names, files=files) as here:
                urls = [f"https://{name}:{far.port}/whatever" for name in names]
                first, second = (await here.python(own, str(authority), *urls)).splitlines()
                assert json.loads(first)["path"] == "/whatever"
                assert "403" in second
                assert [(e.host, e.method, e.reason) for e in here.ledger.of("blocked")] == [
                    ("evil.example", "CONNECT", "host_undeclared")
                ]
                await asyncio.wait_for(here.broker.idle(), 60)
                (ended,) = here.ledger.of("ended")
                assert (ended.host, ended.reason) == ("tls.example", "")
                assert min(ended.bytes_in, ended.bytes_out) > 0

    told(story)


def test_a_host_that_is_declared_but_not_there_is_an_answer_not_a_crash(bwrap_mode: Mode) -> None:
    async def story() -> None:
        async with upstream() as far:
            port = far.port
        gone, nameless = bank(port), Host(host="gone.example")
        async with place(bwrap_mode, gone, nameless, to={API: ["127.0.0.1"]}) as here:
            said = await here.python(ASK, f"GET http://{API}/v1/x", "GET http://gone.example/")
            assert said == "502 unreachable\n502 no_address\n"

    told(story)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True), ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("127.0.0.1", False), ("10.1.2.3", False), ("172.16.0.1", False), ("192.168.0.1", False),
        ("169.254.169.254", False), ("100.64.0.1", False), ("0.0.0.0", False), ("224.0.0.1", False),
        ("::1", False), ("::", False), ("fe80::1%eth0", False), ("fc00::1", False), ("ff02::1", False),
        ("::ffff:127.0.0.1", False), ("64:ff9b::7f00:1", False), ("2002:7f00:1::", False),
        ("2001:0:53aa:64c::1", False),
    ],
)  # fmt: skip
def test_only_the_public_internet_is_public(address: str, public: bool) -> None:
    ip_address(address.partition("%")[0])
    assert is_public(address) is public
    assert pinned([address], private=False) == (address if public else None)


def test_a_question_is_read_in_every_form_that_http_has() -> None:
    assert question("GET", "http://A.example/x?y", "b.example") == Question("GET", "a.example", None, "/x?y")
    assert question("GET", "/x", "a.example:81") == Question("GET", "a.example", 81, "/x")
    assert question("CONNECT", "a.example:443", "") == Question("CONNECT", "a.example", 443)
    assert question("GET", "http://a.example", "") == Question("GET", "a.example", None, "/")
    for target in ("ftp://a.example/", "*", "http://user@a.example/", "http://a.example:x/", "http:///x"):
        assert question("GET", target, "") is None
    assert question("CONNECT", "a.example", "") is None


def test_a_prefix_ends_at_a_slash_and_a_whole_path_is_whole() -> None:
    allowed = Permissions(hosts=(Host(host="a.example", paths=("/v1/", "/status")),))
    verdicts = {
        path: judge(Question("GET", "a.example", None, path), allowed) for path in ("/v1/x?q=/admin", "/status")
    }
    assert all(isinstance(verdict, Host) for verdict in verdicts.values())
    for path in ("/v1", "/v10/x", "/status/x", "/v1//x", "/v1/%2e%2e/x", "/v1/./x", "/v1\\x"):
        assert not isinstance(judge(Question("GET", "a.example", None, path), allowed), Host)


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_secret_is_found_wherever_a_reply_is_cut(size: int) -> None:
    text = f"a {SECRET} b {SECRET}{SECRET} s3cre s3cret/of c".encode()
    redactor = Redactor([SECRET])
    pieces = [redactor.feed(text[at : at + size]) for at in range(0, len(text), size)]
    assert b"".join([*pieces, redactor.flush()]) == b"a *** b ****** s3cre s3cret/of c"


def test_permissions_that_grow_are_named() -> None:
    small = Permissions(hosts=(Host(host="a.example", paths=("/v1/",)),), files=Files(read=(Path("/srv/a"),)))
    assert small.growth_over(small) == []
    assert Permissions().growth_over(small) == []
    narrower = Permissions(hosts=(Host(host="a.example", paths=("/v1/x/",), methods=("GET",)),))
    assert narrower.growth_over(small) == []
    wider = Permissions(
        hosts=(Host(host="a.example", methods=("GET", "POST"), paths=("/v1/",)), Host(host="b.example")),
        files=Files(read=(Path("/srv/a/b"), Path("/srv")), write=(Path("/srv/a"),)),
        limits=Limits(memory_mb=1_024),
    )
    assert wider.growth_over(small) == [
        "ask a.example:443 GET,POST /v1/", "ask b.example:443 GET,HEAD /", "read /srv", "change /srv/a",
        "memory_mb 512 -> 1024",
    ]  # fmt: skip
