"""Thunderbird's autoconfig: what a domain itself says of its mail servers. Asked over https alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from lxml import etree

from extractors.http import Http
from schemas.errors import ForewatchError

_LARGEST = 200_000
_SECURITY = {"SSL": "tls", "STARTTLS": "starttls"}


@dataclass(frozen=True, slots=True)
class Found:
    host: str
    port: int
    security: str
    username: str


def addresses(domain: str, mail_address: str) -> list[str]:
    return [
        f"https://autoconfig.{domain}/mail/config-v1.1.xml?emailaddress={quote(mail_address)}",
        f"https://{domain}/.well-known/autoconfig/mail/config-v1.1.xml",
    ]


async def ask(http: Http, domain: str, mail_address: str) -> Found | None:
    """The first answer of use; None where the domain says nothing."""
    for url in addresses(domain, mail_address):
        try:
            answer = await http.send("GET", url)
        except ForewatchError:  # most domains have no such page
            continue
        if (found := read(answer.body, mail_address)) is not None:
            return found
    return None


def read(document: bytes, mail_address: str) -> Found | None:
    """The encrypted IMAP server that stands first; None where there is none, or for what is no such document."""
    if len(document) > _LARGEST:
        return None
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(document, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    found = list(_servers(root, mail_address))
    return min(found, key=lambda each: each.security != "tls", default=None)


def _servers(root: etree._Element, mail_address: str) -> Iterator[Found]:
    local, _, domain = mail_address.partition("@")
    for server in root.iter("incomingServer"):
        if server.get("type") != "imap":
            continue
        host, port, kind, user = (
            (server.findtext(name) or "").strip() for name in ("hostname", "port", "socketType", "username")
        )
        if not host or not port.isdecimal() or not 0 < int(port) < 65_536 or kind not in _SECURITY:
            continue
        for name, value in (("EMAILADDRESS", mail_address), ("EMAILLOCALPART", local), ("EMAILDOMAIN", domain)):
            host, user = host.replace(f"%{name}%", value), user.replace(f"%{name}%", value)
        yield Found(host.lower(), int(port), _SECURITY[kind], user or mail_address)
