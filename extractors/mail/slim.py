"""Slimming: a big mail without the bodies that nobody reads for facts, small enough for a record."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from extractors.mail import structure, transfer
from extractors.mail.structure import Part
from schemas.errors import PoisonError
from schemas.record import RAW_CAP

Slimmed = Mapping[str, tuple[int, str]]
"""Size and sha256 of the parts whose bodies were left out, by path."""

_READABLE = ("text/plain", "text/html", "text/calendar")
_TEXT_CAP = 60_000
"""Encoded bytes of one text part that stay."""
_SLIM_CAP = RAW_CAP // 2
"""Leaves room in the record for the list of what was left out."""
_LISTED = 500
"""Left-out parts that are described; a mail with more of them is no letter."""


@dataclass(frozen=True, slots=True)
class Slim:
    """``left_out`` goes into the record's ``meta``: size and sha256 of bodies by path."""

    raw: bytes
    left_out: Slimmed


def slim(raw: bytes) -> Slim:
    """The mail itself where it is small enough. Headers and structure stay byte for byte, text parts are cut.

    PoisonError (too_large) where that does not help.
    """
    if len(raw) <= RAW_CAP:
        return Slim(raw, {})
    root, _ = structure.read(raw, len(raw) - len(raw.lstrip(b"\r\n")))
    left_out = {part.path: _size_and_hash(raw, part) for part in root.leaves() if not _is_readable(part)}
    slimmed = b"".join(_pieces(raw, root))
    if len(slimmed) > _SLIM_CAP or len(left_out) > _LISTED:
        raise PoisonError(f"a mail of {len(raw)} bytes is too large even without its attachments", code="too_large")
    return Slim(slimmed, left_out)


def _is_readable(part: Part) -> bool:
    return part.content_type in _READABLE and part.disposition != "attachment"


def _size_and_hash(raw: bytes, part: Part) -> tuple[int, str]:
    content = transfer.decoded(raw, part)
    return len(content), hashlib.sha256(content).hexdigest()


def _pieces(raw: bytes, root: Part) -> Iterator[bytes]:
    position = 0
    for part in root.leaves():
        yield raw[position : part.start]
        if _is_readable(part):
            yield _cut(raw, part)
        position = part.end
    yield raw[position:]


def _cut(raw: bytes, part: Part) -> bytes:
    """The start of the part, to the end of a line: neither base64 nor quoted-printable is cut inside of a group."""
    if part.end - part.start <= _TEXT_CAP:
        return raw[part.start : part.end]
    last = raw.rfind(b"\n", part.start, part.start + _TEXT_CAP)
    return raw[part.start : last if last > part.start else part.start + _TEXT_CAP]
