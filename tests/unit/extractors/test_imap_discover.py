"""From a mail address to a mail server."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dns.message
import dns.name
import dns.rcode
import dns.rrset
import pytest
from dns.asyncresolver import Resolver

from extractors.http import Http
from extractors.imap import ImapConnector, autoconfig
from extractors.imap.config import ImapConfig
from extractors.imap.exchangers import exchangers_of
from extractors.imap.login import Door
from extractors.imap.providers import exchanger_settings
from extractors.testing import Key, context_for
from extractors.testing.standin import Asked, Reply, StandIn
from schemas.errors import AuthError
from schemas.model import Json

DOCUMENT = b"""<?xml version="1.0"?>
<clientConfig version="1.1"><emailProvider id="example.org">
  <incomingServer type="pop3"><hostname>pop.example.org</hostname><port>995</port><socketType>SSL</socketType>
    <username>%EMAILADDRESS%</username></incomingServer>
  <incomingServer type="imap"><hostname>plain.example.org</hostname><port>143</port><socketType>plain</socketType>
    <username>%EMAILADDRESS%</username></incomingServer>
  <incomingServer type="imap"><hostname>mail.%EMAILDOMAIN%</hostname><port>143</port><socketType>STARTTLS</socketType>
    <username>%EMAILLOCALPART%</username></incomingServer>
  <incomingServer type="imap"><hostname>MAIL.%EMAILDOMAIN%</hostname><port>993</port><socketType>SSL</socketType>
    <username>%EMAILLOCALPART%</username></incomingServer>
</emailProvider></clientConfig>"""


async def nobody(host: str, port: int) -> list[str]:
    raise OSError("no such name")


async def unknown(domain: str) -> list[str]:
    return []


OFFLINE = ImapConnector(door=Door(resolve=nobody, exchangers=unknown))


def discovered(hint: str, connector: ImapConnector = OFFLINE) -> dict[str, Json]:
    async def run() -> dict[str, Json]:
        async with Key().open(context_for().now) as access:
            offline = Http(lambda: context_for().now, resolve=nobody)
            async with offline:
                context = replace(context_for(), access=replace(access, http=offline))  # type: ignore[type-var]
                return await connector.discover(hint, context)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("nora@gmail.com", "imap.gmail.com"),
        ("nora@GMX.de", "imap.gmx.net"),
        (" nora@icloud.com ", "imap.mail.me.com"),
        ("nora@web.de", "imap.web.de"),
        ("nora@yahoo.fr", "imap.mail.yahoo.com"),
    ],
)
def test_big_providers_are_known(address: str, host: str) -> None:
    found = discovered(address)
    assert (found["host"], found["port"], found["security"], found["username"]) == (host, 993, "tls", address.strip())
    assert ImapConfig.model_validate(found).provider == ""


def test_where_no_password_is_taken_the_consent_is_asked_for() -> None:
    assert discovered("nora@outlook.com")["provider"] == "microsoft"


def test_mail_behind_a_bridge_says_so() -> None:
    with pytest.raises(AuthError, match="its bridge program"):
        discovered("nora@proton.me")


@pytest.mark.parametrize(
    "hint",
    ["@example.org", "nora@", "nora@nowhere", "a@b c.de", "n@-x.org", "a b", "https://x.org", "x.org:0", "x.org:99999"],
)
def test_what_is_no_address_is_refused(hint: str) -> None:
    with pytest.raises(AuthError, match="no mail address"):
        discovered(hint)


@pytest.mark.parametrize(
    ("hint", "host", "port", "security"),
    [
        ("mail.home.lan", "mail.home.lan", 993, "tls"),
        ("127.0.0.1:1143", "127.0.0.1", 1143, "tls"),
        ("mail.example.org:143", "mail.example.org", 143, "starttls"),
        ("[::1]:993", "::1", 993, "tls"),
    ],
)
def test_a_server_is_taken_as_it_was_typed(hint: str, host: str, port: int, security: str) -> None:
    assert discovered(hint) == {"host": host, "port": port, "security": security}


def test_nothing_is_found_for_nothing() -> None:
    assert discovered(" ") == {}


@pytest.mark.parametrize(
    ("exchangers", "host", "provider"),
    [
        (["aspmx.l.google.com", "alt1.aspmx.l.google.com"], "imap.gmail.com", None),
        (["family-example.mail.protection.outlook.com."], "outlook.office365.com", "microsoft"),
        (["backup.nowhere.example", "in1-smtp.messagingengine.com"], "imap.fastmail.com", None),
    ],
)
def test_a_domain_that_a_provider_keeps_is_known_by_who_takes_its_mail(
    exchangers: list[str], host: str, provider: str | None
) -> None:
    async def told(domain: str) -> list[str]:
        assert domain == "family.example"
        return exchangers

    found = discovered("nora@family.example", ImapConnector(door=Door(resolve=nobody, exchangers=told)))
    assert (found["host"], found.get("provider"), found["username"]) == (host, provider, "nora@family.example")


@pytest.mark.parametrize("name", ["notgoogle.com", "google.com.evil.example", "mx.example.org", ""])
def test_a_name_that_only_looks_like_a_provider_is_none(name: str) -> None:
    assert exchanger_settings(name) is None


class _Names(asyncio.DatagramProtocol):
    """A name server that knows one domain."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        question = dns.message.from_wire(data)
        answer = dns.message.make_response(question)
        name = question.question[0].name
        if name == dns.name.from_text("family.example."):
            records = ["20 backup.family.example.", "10 aspmx.l.google.com."]
            answer.answer.append(dns.rrset.from_text(name, 300, "IN", "MX", *records))
        else:
            answer.set_rcode(dns.rcode.NXDOMAIN)
        self.transport.sendto(answer.to_wire(), address)


def test_a_name_server_is_asked_and_a_missing_answer_is_no_error() -> None:
    async def scenario() -> list[Sequence[str]]:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(_Names, local_addr=("127.0.0.1", 0))
        resolver = Resolver(configure=False)
        resolver.nameservers, resolver.port = ["127.0.0.1"], transport.get_extra_info("sockname")[1]
        try:
            return [await exchangers_of(name, resolver) for name in ("family.example", "other.example", "..", "")]
        finally:
            transport.close()

    assert asyncio.run(scenario()) == [["aspmx.l.google.com", "backup.family.example"], (), (), ()]


def test_a_domain_without_a_server_says_what_to_do() -> None:
    with pytest.raises(AuthError, match="ask your provider"):
        discovered("nora@nowhere.example")


def test_the_encrypted_imap_server_of_the_document_is_taken() -> None:
    found = autoconfig.read(DOCUMENT, "nora@example.org")
    assert found == autoconfig.Found("mail.example.org", 993, "tls", "nora")


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"<html>Not found</html>",
        b"<clientConfig><incomingServer type='imap'><hostname>x</hostname></incomingServer></clientConfig>",
        b"<clientConfig><incomingServer type='imap'><hostname>x</hostname><port>70000</port>"
        b"<socketType>SSL</socketType></incomingServer></clientConfig>",
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><clientConfig><incomingServer type="imap">'
        b"<hostname>&x;</hostname><port>993</port><socketType>SSL</socketType></incomingServer></clientConfig>",
        b'<!DOCTYPE a [<!ENTITY x "'
        + b"x" * 1000
        + b'"><!ENTITY y "'
        + b"&x;" * 1000
        + b'">]><a>'
        + b"&y;" * 9
        + b"</a>",
        b"<a>" * 100_000,
    ],
    ids=["empty", "html", "half", "port", "entity", "bomb", "huge"],
)
def test_documents_that_are_none_say_nothing(document: bytes) -> None:
    assert autoconfig.read(document, "nora@example.org") is None


def test_the_domain_itself_is_asked_over_https_alone() -> None:
    urls = autoconfig.addresses("example.org", "nora+x@example.org")
    assert urls == [
        "https://autoconfig.example.org/mail/config-v1.1.xml?emailaddress=nora%2Bx%40example.org",
        "https://example.org/.well-known/autoconfig/mail/config-v1.1.xml",
    ]


class Autoconfig(StandIn):
    def answer(self, asked: Asked) -> Reply:
        if asked.path.startswith("/.well-known"):
            return Reply(200, DOCUMENT, {"Content-Type": "text/xml"})
        return Reply(404)


def test_the_second_address_is_asked_when_the_first_has_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with Autoconfig() as server:
        monkeypatch.setattr(
            autoconfig, "addresses", lambda domain, address: [f"{server.url}/mail", f"{server.url}/.well-known/x"]
        )

        async def run() -> autoconfig.Found | None:
            async with Key().open(context_for().now) as access:
                return await autoconfig.ask(access.http, "example.org", "nora@example.org")

        found = asyncio.run(run())
    assert found is not None
    assert found.host == "mail.example.org"
    assert [asked.path for asked in server.asked] == ["/mail", "/.well-known/x"]


def test_settings_are_checked() -> None:
    good = {"host": "imap.example.org", "username": "nora@example.org"}
    assert ImapConfig.model_validate(good).owners == ("nora@example.org",)
    assert ImapConfig.model_validate({**good, "addresses": ["N@x.org"]}).owners == ("n@x.org",)
    assert ImapConfig.model_validate({**good, "folders": ["inbox", "INBOX", "A"]}).folders == ("INBOX", "A")
    for wrong in (
        {"host": "a b"},
        {"host": "https://x"},
        {"username": "a\r\nb"},
        {"folders": ["a\r\nb"]},
        {"folders": [""]},
        {"addresses": ["x"]},
        {"security": "ssl"},
        {"password": "x"},
    ):
        with pytest.raises(ValueError, match="validation error"):
            ImapConfig.model_validate({**good, **wrong})
