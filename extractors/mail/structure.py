"""The tree of parts of a message, with offsets into its bytes.

The standard library's parser reads any mail, but its time grows with depth times lines, and it recurses: 700 kB can
hang or crash it. This one is linear for each level, stops at the limits, and copies no body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from extractors.mail import fields, limits, parameters
from extractors.mail.fields import Fields

_REST_OF_BOUNDARY = re.compile(rb"(?:--)?[ \t]{0,200}(?:\r\n|\n|\r|\Z)")


@dataclass(frozen=True, slots=True)
class Part:
    """``raw[start:end]`` is the encoded body. ``path`` is "" for the message itself, "2.1" for a part inside."""

    fields: Fields
    content_type: str
    parameters: dict[str, str]
    disposition: str
    disposition_parameters: dict[str, str]
    start: int
    end: int
    path: str
    parts: tuple[Part, ...] = ()

    @property
    def encoding(self) -> str:
        return (self.fields.first("content-transfer-encoding") or b"").decode("ascii", "replace").strip().lower()

    def leaves(self) -> Iterator[Part]:
        """Every part that has no parts, in the order of the bytes."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part.leaves()


@dataclass(slots=True)
class _Reading:
    raw: bytes
    warnings: list[str] = field(default_factory=list)
    parts: int = 0

    def part(self, start: int, end: int, path: str, default_type: str, depth: int) -> Part:
        self.parts += 1
        block = fields.read(self.raw, start, end)
        self.warnings += block.warnings
        content_type, values = parameters.parse(block.first("content-type") or b"", self.warnings)
        disposition, more = parameters.parse(
            block.first("content-disposition") or b"", self.warnings, body_charset=values.get("charset")
        )
        if "/" not in content_type:
            content_type = default_type
        inner: tuple[Part, ...] = ()
        if content_type.startswith("multipart/"):
            inner = self._inner(block.body_start, end, path, content_type, values.get("boundary", ""), depth)
            if not inner:
                content_type = "text/plain"
        return Part(block, content_type, values, disposition, more, block.body_start, end, path, inner)

    def _inner(self, start: int, end: int, path: str, content_type: str, boundary: str, depth: int) -> tuple[Part, ...]:
        if depth >= limits.DEPTH:
            self.warnings.append(f"parts nested deeper than {limits.DEPTH} were not read")
            return ()
        default_type = "message/rfc822" if content_type == "multipart/digest" else "text/plain"
        inner: list[Part] = []
        for number, (first, last) in enumerate(_pieces(self.raw, start, end, boundary), 1):
            if self.parts >= limits.PARTS:
                self.warnings.append(f"more than {limits.PARTS} parts: the rest was not read")
                break
            inner.append(self.part(first, last, f"{path}.{number}".lstrip("."), default_type, depth + 1))
        if not inner:
            self.warnings.append("multipart without parts")
        return tuple(inner)


def read(raw: bytes, start: int = 0) -> tuple[Part, list[str]]:
    """The message as a tree, and what was wrong with it. Nested messages are leaves: they are kept apart."""
    reading = _Reading(raw)
    root = reading.part(start, len(raw), "", "text/plain", 0)
    return root, list(dict.fromkeys(reading.warnings))


def _pieces(raw: bytes, start: int, end: int, boundary: str) -> Iterator[tuple[int, int]]:
    """The bytes between the boundary lines; a message that was cut has no closing one."""
    mark = b"--" + boundary.encode("utf-8", "replace").rstrip()
    begun: int | None = None
    position = start
    while boundary and (at := raw.find(mark, position, end)) >= 0:
        position = at + len(mark)
        line_end = _boundary_line(raw, at, position, end)
        if line_end is None:
            continue
        if begun is not None:
            yield begun, _without_break(raw, begun, at)
        if raw.startswith(b"--", position):
            return
        begun = position = line_end
    if begun is not None:
        yield begun, end


def _boundary_line(raw: bytes, at: int, position: int, end: int) -> int | None:
    """Where the line after a boundary line begins; None where ``raw[at:position]`` is only like one."""
    if at and raw[at - 1] not in b"\r\n":
        return None
    match = _REST_OF_BOUNDARY.match(raw, position, end)
    return match.end() if match else None


def _without_break(raw: bytes, start: int, end: int) -> int:
    """The line break before a boundary belongs to the boundary."""
    if end > start and raw[end - 1] in b"\r\n":
        end -= 1 + (raw[end - 1 : end] == b"\n" and raw[max(start, end - 2) : end - 1] == b"\r")
    return max(start, end)
