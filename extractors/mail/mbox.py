"""The mbox format: one file with many mails, told apart by lines that begin with "From "."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from mmap import mmap

from extractors.mail.dating import instant

_SEPARATOR = re.compile(
    rb"From [^\r\n]{0,400}?\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b[^\r\n]{1,60}?\b\d{1,2}:\d\d[^\r\n]{0,80}(?:\r\n|\n|\r)"
    rb"(?=(?:>?From )?[!-9;-~]{1,100}:)"
)
_ENVELOPE_DATE = re.compile(
    rb"(?P<month>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) {1,2}(?P<day>\d{1,2}) (?P<time>\d\d:\d\d(?::\d\d)?)"
    rb"(?P<zone1> [A-Z+-][\w+-]{2,5})? (?P<year>\d{4})(?P<zone2> [+-]\d{4})?"
)
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_STATE = re.compile(
    rb"^(?:Status|X-Status|X-Keywords|X-UID|X-IMAP|X-IMAPbase|X-Mozilla-Status2?|X-Mozilla-Keys|Content-Length|Lines):"
    rb"[^\r\n]*(?:\r\n|\n|\r)(?:[ \t][^\r\n]*(?:\r\n|\n|\r))*",
    re.IGNORECASE | re.MULTILINE,
)
_HEADER_END = re.compile(rb"\r?\n\r?\n")


@dataclass(frozen=True, slots=True)
class Slot:
    """One mail at ``[start:end]`` of the file, without its envelope line. ``envelope`` is that line."""

    start: int
    end: int
    envelope: bytes

    @property
    def delivered_at(self) -> datetime | None:
        """The envelope's date, which mail programs write in UTC or local time without saying which: UTC is taken."""
        match = _ENVELOPE_DATE.search(self.envelope)
        if match is None:
            return None
        zone = (match["zone2"] or b" +0000").decode()
        return instant(
            f"{match['day'].decode()} {match['month'].decode()} {match['year'].decode()} {match['time'].decode()}{zone}"
        )


def is_mbox(head: bytes) -> bool:
    return _SEPARATOR.match(head.lstrip(b"\r\n")) is not None


def slots(data: bytes | mmap) -> Iterator[Slot]:
    """The mails in the order of the file.

    A line "From ..." with a date, and a header field behind it, begins a mail; others belong to the text.
    """
    begun: tuple[int, bytes] | None = None
    position = 0
    while (at := data.find(b"From ", position)) >= 0:
        position = at + 5
        if at and data[at - 1 : at] not in (b"\n", b"\r"):
            continue
        match = _SEPARATOR.match(data, at)
        if match is None:
            continue
        if begun is not None:
            yield Slot(begun[0], at, begun[1])
        begun = (match.end(), match.group())
        position = match.end()
    if begun is not None:
        yield Slot(begun[0], len(data), begun[1])


def message_of(raw: bytes) -> bytes:
    """The mail as it was sent: ">From " unescaped (mboxrd), the blank line that ends it cut off."""
    return _ESCAPED.sub(rb"\1", raw).rstrip(b"\r\n") + b"\n"


def without_state(message: bytes) -> bytes:
    """Without the header fields in which mail programs keep flags and ids: equal before and after it was read."""
    match = _HEADER_END.search(message)
    end = match.end() if match else len(message)
    return _STATE.sub(b"", message[:end]) + message[end:]


_MOZILLA = {0x1: "seen", 0x2: "answered", 0x4: "flagged"}
_LETTERS = {"R": "seen", "A": "answered", "F": "flagged", "T": "draft", "D": "deleted"}
_FLAG_FIELD = re.compile(rb"^(Status|X-Status|X-Mozilla-Status):[ \t]*([^\r\n]{0,40})", re.IGNORECASE | re.MULTILINE)


def flags_of(message: bytes) -> tuple[str, ...]:
    """IMAP words, as mutt, Dovecot and Thunderbird keep them; ``expunged``: Thunderbird has thrown the mail away."""
    match = _HEADER_END.search(message)
    found: set[str] = set()
    for name, value in _FLAG_FIELD.findall(message[: match.end() if match else len(message)]):
        if name.lower() != b"x-mozilla-status":
            found |= {_LETTERS[letter] for letter in value.decode("ascii", "replace") if letter in _LETTERS}
        elif re.fullmatch(rb"[0-9a-fA-F]{4}", value.strip()):
            bits = int(value, 16)
            found |= {word for bit, word in _MOZILLA.items() if bits & bit} | ({"expunged"} if bits & 0x8 else set())
    return tuple(sorted(found))
