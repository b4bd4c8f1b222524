"""The body of a mail: its text, the words that are new, the markup and invitations in it, and what is attached."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from extractors.facts.itip import CalendarPart
from extractors.mail import charset, fields, html, limits, reply, transfer
from extractors.mail.filename import bare
from extractors.mail.flowed import unflow
from extractors.mail.slim import Slimmed
from extractors.mail.structure import Part
from extractors.mail.words import decode_header
from extractors.text import clean
from schemas.payloads import Attachment

_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
_ENCRYPTED = ("application/pkcs7-mime", "application/x-pkcs7-mime", "application/pgp-encrypted")
_TNEF = ("application/ms-tnef", "application/vnd.ms-tnef")


@dataclass(frozen=True, slots=True)
class Piece:
    """One readable part."""

    kind: Literal["plain", "html"]
    text: str
    new_text: str


@dataclass(slots=True)
class Body:
    """``items``: schema.org objects. ``calendars``: text/calendar parts and .ics files, decoded."""

    text: str = ""
    new_text: str = ""
    items: list[Mapping[str, Any]] = field(default_factory=list)
    calendars: list[CalendarPart] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def read(raw: bytes, root: Part, slimmed: Slimmed) -> Body:
    """Nested messages are attachments: their words are not the sender's."""
    reader = _Reader(raw, slimmed)
    pieces = reader.pieces(root)
    body = reader.body
    body.text = clean("\n\n".join(piece.text for piece in pieces))
    body.new_text = clean("\n\n".join(piece.new_text for piece in pieces))
    if len(body.attachments) > limits.ATTACHMENTS:
        body.warnings.append(f"more than {limits.ATTACHMENTS} attachments: the rest is not listed")
        body.attachments = body.attachments[: limits.ATTACHMENTS]
    return body


@dataclass(slots=True)
class _Reader:
    raw: bytes
    slimmed: Slimmed
    body: Body = field(default_factory=Body)
    texts: int = 0

    def pieces(self, part: Part) -> list[Piece]:
        match part.content_type:
            case "multipart/alternative":
                return _best([self.pieces(inner) for inner in part.parts])
            case "multipart/encrypted":
                self.body.warnings.append("encrypted mail: its text was not read")
                return []
            case _ if part.parts:
                return [piece for inner in part.parts for piece in self.pieces(inner)]
            case _:
                return list(self._leaf(part))

    def _leaf(self, part: Part) -> Iterator[Piece]:
        if _is_calendar(part) and part.path not in self.slimmed:
            self._calendar(part)
        if self._is_text(part):
            self.texts += 1
            yield self._plain(part) if part.content_type == "text/plain" else self._html(part)
        elif self._is_attached(part):
            self.body.attachments.append(self._attachment(part))
        if part.content_type in _ENCRYPTED:
            self.body.warnings.append("encrypted or opaque signed mail: its text was not read")
        if part.content_type in _TNEF:
            self.body.warnings.append("winmail.dat (TNEF): what is inside was not read")

    def _is_text(self, part: Part) -> bool:
        is_readable = part.content_type in ("text/plain", "text/html", "text/enriched", "application/xhtml+xml")
        is_body = part.disposition != "attachment" and (
            part.disposition == "inline" or not _name(part) or not self.texts
        )
        return is_readable and is_body and self.texts < limits.TEXT_PARTS

    def _is_attached(self, part: Part) -> bool:
        if part.disposition == "attachment" or part.content_type == "message/rfc822":
            return True
        is_picture_in_text = part.disposition != "attachment" and part.fields.first("content-id") is not None
        if _name(part):
            return not (is_picture_in_text and part.content_type.startswith("image/") and part.disposition == "inline")
        is_machinery = part.content_type.startswith(("text/", "message/")) or part.content_type in _SIGNATURES
        return not is_machinery and not is_picture_in_text

    def _plain(self, part: Part) -> Piece:
        text = self._decode(part, part.parameters.get("charset"), limits.TEXT_BYTES)
        if part.parameters.get("format", "").lower() == "flowed":
            text = unflow(text, delsp=part.parameters.get("delsp", "").lower() == "yes")
        return Piece("plain", text, reply.new_text(clean(text)))

    def _html(self, part: Part) -> Piece:
        head = transfer.decoded(self.raw, part, 2_000)
        meta = _META_CHARSET.search(head)
        label = part.parameters.get("charset") or (meta[1].decode("ascii", "replace") if meta else None)
        page = html.read(self._decode(part, label, limits.TEXT_BYTES))
        self.body.items += page.items
        if page.broken_items:
            self.body.warnings.append("a block of JSON-LD is broken")
        return Piece("html", page.text, reply.new_text(clean(page.new_text)))

    def _calendar(self, part: Part) -> None:
        if len(self.body.calendars) < 5:
            text = self._decode(part, part.parameters.get("charset") or "utf-8", limits.CALENDAR_BYTES)
            self.body.calendars.append(CalendarPart(text, part.parameters.get("method", "")))

    def _decode(self, part: Part, label: str | None, cap: int) -> str:
        if not transfer.is_known(part):
            self.body.warnings.append("unknown content transfer encoding")
        raw = transfer.decoded(self.raw, part, cap)
        if len(raw) >= cap:
            self.body.warnings.append("a part is too long: the rest of its text was not read")
        text, warning = charset.decode(raw, label)
        if warning:
            self.body.warnings.append(warning)
        return text

    def _attachment(self, part: Part) -> Attachment:
        size, sha256 = self._size_and_hash(part)
        return Attachment(
            filename=bare(_name(part)) or self._title(part),
            content_type=part.content_type[:120],
            size=size,
            sha256=sha256,
        )

    def _size_and_hash(self, part: Part) -> tuple[int, str]:
        if part.path in self.slimmed:
            return self.slimmed[part.path]
        content = transfer.decoded(self.raw, part)
        return len(content), hashlib.sha256(content).hexdigest()

    def _title(self, part: Part) -> str:
        """A name for what has none: a nested mail has its subject."""
        if part.content_type != "message/rfc822":
            return "unnamed"
        subject = fields.read(self.raw, part.start, part.end).first("subject") or b""
        return f"{bare(decode_header(subject, [])) or 'message'}.eml"


def _name(part: Part) -> str:
    return part.disposition_parameters.get("filename") or part.parameters.get("name") or ""


def _is_calendar(part: Part) -> bool:
    """Some programs send the file of an invitation as nothing but bytes."""
    if part.content_type in ("text/calendar", "application/ics"):
        return True
    return part.content_type == "application/octet-stream" and _name(part).lower().endswith(".ics")


def _best(alternatives: Sequence[list[Piece]]) -> list[Piece]:
    """The plain alternative, unless the HTML one says something else or much more: "your program cannot show this mail"
    is no text."""
    readable = [pieces for pieces in alternatives if any(piece.text.strip() for piece in pieces)]
    plain = next((p for p in readable if all(piece.kind == "plain" for piece in p)), None)
    rich = next((p for p in reversed(readable) if any(piece.kind == "html" for piece in p)), None)
    if plain is None or rich is None:
        return plain or rich or []
    in_plain, in_rich = _words(plain), _words(rich)
    says_the_same = 2 * len(in_plain & in_rich) >= len(in_plain) and 3 * len(in_plain) >= len(in_rich)
    return plain if says_the_same else rich


def _words(pieces: list[Piece]) -> set[str]:
    return {word for piece in pieces for word in _WORD.findall(piece.text.lower())}
