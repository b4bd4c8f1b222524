"""Answers of WebDAV servers, read without believing them: no document types, no entities, no network, bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from lxml import etree

from schemas.errors import TransientError

Element = etree._Element


class Unusable(TransientError):
    """An answer that is no answer: a web page, broken or hostile XML."""


DAV = "{DAV:}"
CALDAV = "{urn:ietf:params:xml:ns:caldav}"
SERVER = "{http://calendarserver.org/ns/}"

TAGS_CAP = 1_000_000
ATTRIBUTES_CAP = 300_000
"""More than 50,000 objects need; what libxml2 makes of them stays below some 200 MB."""

_ATTRIBUTE = re.compile(rb"=\s*[\"']")


@dataclass(frozen=True, slots=True)
class Response:
    """One resource of an answer. ``props`` are those that it has; ``status`` is 200 unless it is said of all of it."""

    href: str
    status: int
    props: Mapping[str, Element] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The same for all ways to write it. A host in it counts for nothing: it is the one that we asked."""
        return plain_path(self.href)

    def text(self, name: str) -> str:
        found = self.props.get(name)
        return "" if found is None else (found.text or "").strip()

    def has(self, name: str, child: str) -> bool:
        """Whether a property such as resourcetype holds this element."""
        found = self.props.get(name)
        return found is not None and found.find(child) is not None

    def hrefs(self, name: str) -> list[str]:
        found = self.props.get(name)
        if found is None:
            return []
        return [text for href in found.iter(DAV + "href") if (text := (href.text or "").strip())]


@dataclass(frozen=True, slots=True)
class Multistatus:
    responses: tuple[Response, ...]
    sync_token: str = ""

    def at(self, path: str) -> Response | None:
        """What it says of this resource; of several with that path, the first."""
        return next((one for one in self.responses if same_collection(one.path, path)), None)


def parse(body: bytes, host: str) -> Element:
    """Unusable for what is not well-formed, or has parts that only an attack needs."""
    if b"\0" in body:
        raise Unusable(f"{host} answers with XML in an unknown encoding")
    if body.count(b"<") > TAGS_CAP or sum(1 for _ in _ATTRIBUTE.finditer(body)) > ATTRIBUTES_CAP:
        raise Unusable(f"{host} answers with more XML than is read")
    if b"<!DOCTYPE" in body or b"<!ENTITY" in body:
        raise Unusable(f"{host} answers with XML that declares a document type")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_pis=True)
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Unusable(f"{host} does not answer with XML: {str(error)[:100]}") from error
    if root.getroottree().docinfo.internalDTD is not None:
        raise Unusable(f"{host} answers with XML that declares a document type")
    return root


def multistatus(body: bytes, host: str) -> Multistatus:
    """Unusable for anything else."""
    root = parse(body, host)
    if root.tag != DAV + "multistatus":
        raise Unusable(f"{host} answers with {etree.QName(root).localname[:40]!r}, not with a multistatus")
    responses = tuple(found for child in root.iterchildren(DAV + "response") for found in _responses(child))
    return Multistatus(responses, (root.findtext(DAV + "sync-token") or "").strip())


def is_token_refused(body: bytes, host: str) -> bool:
    """Whether an error says valid-sync-token: with 403, 409, 412 or whatever status the server likes."""
    if b"valid-sync-token" not in body:
        return False
    try:
        return any(True for _ in parse(body, host).iter(DAV + "valid-sync-token"))
    except Unusable:
        return False


def _responses(element: Element) -> Iterator[Response]:
    """One response may name several resources that share a status."""
    hrefs = [(href.text or "").strip() for href in element.iterchildren(DAV + "href")]
    props: dict[str, Element] = {}
    for propstat in element.iterchildren(DAV + "propstat"):
        if _status(propstat.findtext(DAV + "status")) in (0, 200):
            for prop in propstat.iterchildren(DAV + "prop"):
                props.update((str(child.tag), child) for child in prop.iterchildren(tag=etree.Element))
    status = _status(element.findtext(DAV + "status")) or 200
    for href in hrefs:
        if href:
            yield Response(href, status, props)


def _status(line: str | None) -> int:
    """``HTTP/1.1 404 Not Found``; 0 where there is none."""
    found = re.search(r"\b([1-5][0-9]{2})\b", (line or "").partition(" ")[2])
    return int(found[1]) if found else 0


def plain_path(href: str) -> str:
    try:
        return unquote(urlsplit(href).path)
    except ValueError:
        return ""


def same_collection(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")
