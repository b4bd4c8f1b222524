"""The header block of a message or part: its fields, unfolded and bounded, and where its body begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from extractors.mail import limits

_FIELD = re.compile(rb"([!-9;-~]{1,200})[ \t]{0,20}:[ \t]*")
_KNOWN_FIELD = re.compile(
    rb"(?:from|to|cc|date|subject|reply-to|message-id|mime-version|content-[a-z-]{1,40}|received|return-path|x-[\w-]{1,60}):",
    re.IGNORECASE,
)
_LINE = re.compile(rb"[^\r\n]*")
_BREAK = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Fields:
    """``items`` are lower-case names with raw values, in order; a name may come more than once."""

    items: tuple[tuple[str, bytes], ...]
    body_start: int
    warnings: tuple[str, ...] = ()

    def first(self, name: str) -> bytes | None:
        return next((value for key, value in self.items if key == name), None)

    def every(self, name: str) -> list[bytes]:
        return [value for key, value in self.items if key == name]


def read(raw: bytes, start: int, end: int) -> Fields:
    """The fields of the block at ``raw[start:end]``.

    The body begins behind the first empty line, or at the first line that can be no field: some mails forgot the
    empty line. Fields beyond the limits are left out with a warning.
    """
    items: list[tuple[str, list[bytes]]] = []
    warnings: list[str] = []
    last = min(end, start + limits.HEADER_BYTES)
    position = start
    for position, line, following in _lines(raw, start, end):
        if not line:
            position = following
            break
        if line[:1] in b" \t" and items:
            items[-1][1].append(line)
        elif match := _FIELD.match(line):
            items.append((match[1].decode("ascii").lower(), [line[match.end() :]]))
        elif _KNOWN_FIELD.match(raw, following, end):
            warnings.append("a line in the header is no field")
        elif not (position == start and line.startswith((b"From ", b">From "))):  # mbox envelope
            warnings.append("no empty line between header and body")
            break
        if position > last or len(items) > limits.HEADER_FIELDS:
            warnings.append("header is too long: the rest of it was not read")
            position = _end_of_block(raw, position, end)
            break
    else:
        position = end
    kept = tuple((name, _unfold(lines, warnings)) for name, lines in items[: limits.HEADER_FIELDS])
    return Fields(kept, position, tuple(dict.fromkeys(warnings)))


def _lines(raw: bytes, start: int, end: int) -> Iterator[tuple[int, bytes, int]]:
    """(start, line without its break, start of the next line)."""
    position = start
    while position < end:
        match = _LINE.match(raw, position, end)
        assert match is not None  # it matches the empty line too
        stop = _BREAK.match(raw, match.end(), end)
        following = stop.end() if stop else match.end()
        line = (
            match.group()
            if match.end() - position <= limits.FIELD_BYTES
            else raw[position : position + limits.FIELD_BYTES + 1]
        )
        yield position, line, following
        if following == position:
            return
        position = following


def _unfold(lines: list[bytes], warnings: list[str]) -> bytes:
    value = b"".join(lines[:1_000]).strip()
    if len(value) > limits.FIELD_BYTES or len(lines) > 1_000:
        warnings.append("a header field is too long: the rest of it was not read")
    return value[: limits.FIELD_BYTES]


_BLOCK_END = re.compile(rb"\r\n\r\n|\n\n|\n\r\n|\r\r")


def _end_of_block(raw: bytes, position: int, end: int) -> int:
    match = _BLOCK_END.search(raw, position, end)
    return match.end() if match else end
