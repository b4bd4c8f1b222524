"""Bytes to text: by byte order mark, else UTF-8 where it fits, else what the file declares, else cp1252."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 4096
_CONTROL = frozenset(range(0x20)) - frozenset(b"\t\n\r\x0b\x0c\x1a\x1e\x1f")


@dataclass(frozen=True, slots=True)
class Decoded:
    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(raw: bytes, declared: str | None = None) -> Decoded:
    """Never fails; what fits no character set is replaced and warned of.

    Text that is valid UTF-8 with letters beyond ASCII is UTF-8 whatever its header says: in cp1252 such sequences
    make no words, and headers are copied from one generation of software to the next.
    """
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return _lenient(raw[len(mark) :], encoding)
    if (wide := _wide_without_mark(raw)) is not None:
        return _lenient(raw, wide)
    for candidate in filter(None, ("utf-8", _known(declared), "cp1252")):
        try:
            return Decoded(_without_nul(raw.decode(candidate)), candidate)
        except UnicodeDecodeError:
            continue
    return Decoded(_without_nul(raw.decode("latin-1")), "latin-1")


def _lenient(raw: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(_without_nul(raw.decode(encoding)), encoding)
    except UnicodeDecodeError:
        text = _without_nul(raw.decode(encoding, errors="replace"))
        return Decoded(text, encoding, (f"some bytes are not {encoding} and were replaced",))


def _without_nul(text: str) -> str:
    return text.replace("\x00", "")


def _wide_without_mark(raw: bytes) -> str | None:
    """UTF-16 without a mark: every second byte of Western text is zero."""
    sample = raw[:_SAMPLE]
    if len(sample) < 4 or len(raw) % 2:
        return None
    half = len(sample) // 2
    if sample[1::2].count(0) > 0.8 * half and sample[0::2].count(0) < 0.1 * half:
        return "utf-16-le"
    if sample[0::2].count(0) > 0.8 * half and sample[1::2].count(0) < 0.1 * half:
        return "utf-16-be"
    return None


def _known(declared: str | None) -> str | None:
    """The codec of a declared charset, if it is one that text can be in (``1252`` is how OFX writes cp1252)."""
    name = (declared or "").strip().lower()
    name = f"cp{name}" if name.isdecimal() else name
    try:
        "a".encode(name or "none")  # a LookupError too for what is no text encoding, such as base64
    except (LookupError, ValueError):
        return None
    return name


def is_binary(raw: bytes) -> bool:
    """Whether the beginning of a file is no text in any character set."""
    sample = raw[:_SAMPLE]
    if any(sample.startswith(mark) for mark, _ in _MARKS) or _wide_without_mark(raw) is not None:
        return False
    return sum(byte in _CONTROL for byte in sample) > len(sample) // 100
