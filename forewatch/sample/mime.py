"""Letters as RFC 5322 messages, written by hand: the bytes must not depend on the version of any library."""

from __future__ import annotations

import base64
import hashlib
import json
import quopri
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from forewatch.sample import body
from forewatch.sample.letter import Address, Letter

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WORD_BYTES = 42
"""Bytes of text in one encoded-word: 75 characters at most, whichever of the two encodings."""


@dataclass(frozen=True, slots=True)
class Part:
    headers: tuple[tuple[str, str], ...]
    content: bytes


def message(letter: Letter) -> bytes:
    """The whole message, lines ended by LF as Maildir keeps them."""
    root = _root(letter)
    lines = [f"{name}: {value}" for name, value in (*_envelope(letter), *root.headers)]
    return "\n".join(lines).encode("ascii") + b"\n\n" + root.content


def _envelope(letter: Letter) -> Iterable[tuple[str, str]]:
    if not letter.sent:
        host = letter.sender.domain
        yield "Return-Path", f"<{letter.sender.mail}>"
        yield (
            "Received",
            f"from mx.{host} (mx.{host} [192.0.2.25])\n by mail.example with ESMTPS;\n {date_header(letter.at)}",
        )
    yield "From", _mailbox(letter.sender, letter)
    yield "To", ", ".join(_mailbox(address, letter) for address in letter.to)
    yield "Subject", _header_text(letter.subject, letter)
    yield "Date", date_header(letter.at)
    yield "Message-ID", f"<{letter.message_id}>"
    if letter.answers:
        yield "In-Reply-To", f"<{letter.answers.message_id}>"
        yield "References", "\n ".join(f"<{reference}>" for reference in letter.references)
    if letter.bulk:
        yield "List-Id", f"<news.{letter.sender.domain}>"
        yield "List-Unsubscribe", f"<https://{letter.sender.domain}/unsubscribe>, <mailto:leave@{letter.sender.domain}>"
        yield "Precedence", "bulk"
    elif letter.automatic:
        yield "Auto-Submitted", "auto-generated"
    yield "X-Mailer", letter.mailer
    yield "MIME-Version", "1.0"


def date_header(at: datetime) -> str:
    """RFC 5322 date; English whatever the locale."""
    return f"{_DAYS[at.weekday()]}, {at.day:02d} {_MONTHS[at.month - 1]} {at.year} {at:%H:%M:%S %z}"


def _mailbox(address: Address, letter: Letter) -> str:
    if not address.name.isascii():
        return f"{_header_text(address.name, letter)} <{address.mail}>"
    quote = '"' if re.search(r"[^\w \-]", address.name) else ""
    return f"{quote}{address.name}{quote} <{address.mail}>"


def _header_text(text: str, letter: Letter) -> str:
    """Encoded-words where they are needed, cut between characters; Q or B by the charset's custom."""
    if text.isascii() and len(text) < 66:
        return text
    charset = _charset_for(text, letter.charset)
    words, current = [], ""
    for char in text:
        if len((current + char).encode(charset)) > _WORD_BYTES // (3 if letter.encoding == "quoted-printable" else 1):
            words.append(current)
            current = ""
        current += char
    return "\n ".join(_encoded_word(word, charset, letter.encoding) for word in [*words, current])


def _encoded_word(text: str, charset: str, encoding: str) -> str:
    raw = text.encode(charset)
    if encoding != "quoted-printable":
        return f"=?{charset}?B?{base64.b64encode(raw).decode()}?="
    quoted = "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else "_" if byte == 32 else f"={byte:02X}" for byte in raw
    )
    return f"=?{charset}?Q?{quoted}?="


def _charset_for(text: str, wanted: str) -> str:
    """The letter's charset where it can hold the text, else UTF-8."""
    try:
        text.encode(wanted)
    except UnicodeEncodeError:
        return "utf-8"
    return wanted


def _root(letter: Letter) -> Part:
    root = _readable(letter)
    if letter.attachment is None:
        return root
    file = letter.attachment
    attached = Part(
        (
            ("Content-Type", f'{file.content_type}; name="{file.filename}"'),
            ("Content-Disposition", f'attachment; filename="{file.filename}"'),
            ("Content-Transfer-Encoding", "base64"),
        ),
        base64.encodebytes(file.content),
    )
    return _multipart("mixed", (root, attached), letter)


def _readable(letter: Letter) -> Part:
    parts = []
    if letter.shape in ("plain", "both"):
        parts.append(_plain_part(letter))
    if letter.shape in ("html", "both"):
        script = json.dumps(letter.jsonld, ensure_ascii=False, indent=1) if letter.jsonld else ""
        parts.append(_text_part("html", body.marked_up(letter, script), letter))
    if letter.invitation:
        parts.append(_text_part("calendar", letter.invitation, letter, f"; method={letter.method}"))
    return parts[0] if len(parts) == 1 else _multipart("alternative", tuple(parts), letter)


def _plain_part(letter: Letter) -> Part:
    if "flowed" in letter.mailer:
        return _text_part("plain", body.flowed(letter), letter, "; format=flowed")
    return _text_part("plain", body.plain(letter), letter)


def _text_part(subtype: str, text: str, letter: Letter, parameters: str = "") -> Part:
    charset = _charset_for(text, letter.charset)
    raw = text.encode(charset)
    encoding = letter.encoding
    if encoding == "8bit" and max(map(len, raw.split(b"\n")), default=0) > 900:
        encoding = "quoted-printable"
    content = _encoded(raw, encoding)
    headers = (
        ("Content-Type", f"text/{subtype}; charset={charset}{parameters}"),
        ("Content-Transfer-Encoding", encoding),
    )
    return Part(headers, content)


def _encoded(raw: bytes, encoding: str) -> bytes:
    match encoding:
        case "base64":
            return base64.encodebytes(raw)
        case "quoted-printable":
            return quopri.encodestring(raw)
        case _:
            return raw


def _multipart(subtype: str, parts: tuple[Part, ...], letter: Letter) -> Part:
    boundary = f"=_{hashlib.sha256(f'{letter.message_id}/{subtype}'.encode()).hexdigest()[:24]}"
    chunks = []
    for part in parts:
        head = "\n".join(f"{name}: {value}" for name, value in part.headers)
        chunks.append(b"--%s\n%s\n\n%s" % (boundary.encode(), head.encode("ascii"), part.content.rstrip(b"\n") + b"\n"))
    content = b"\n".join(chunks) + b"\n--" + boundary.encode() + b"--\n"
    return Part((("Content-Type", f'multipart/{subtype}; boundary="{boundary}"'),), content)
