"""Header text: raw 8-bit bytes and encoded-words (RFC 2047), also where a word was cut inside of a character."""

from __future__ import annotations

import base64
import binascii
import re

from extractors.mail import charset

_WORD = re.compile(r"=\?([^?\s]{1,80})\?([BbQq])\?([^?]*)\?=")
_GAP = re.compile(r"\s*")


def decode_header(raw: bytes, warnings: list[str], *, body_charset: str | None = None) -> str:
    """The text of an unfolded header value. ``body_charset`` helps where raw 8-bit bytes are no UTF-8."""
    return decode_words(text_of(raw, warnings, body_charset=body_charset), warnings)


def text_of(raw: bytes, warnings: list[str], *, body_charset: str | None = None) -> str:
    """The raw value as characters, encoded-words as they are: for values that must be split before they are decoded."""
    if raw.isascii():
        return charset.decode(raw, None)[0]
    try:
        return raw.decode("utf-8")  # RFC 6532
    except UnicodeDecodeError:
        text, _ = charset.decode(raw, body_charset)
        warnings.append("8-bit header without a charset")
        return text


def decode_words(text: str, warnings: list[str]) -> str:
    """Encoded-words of one charset that follow one another are one run of bytes, so that none cuts a character."""
    pieces: list[str] = []
    position = 0
    run: list[tuple[str, str]] = []
    name = ""
    for match in _WORD.finditer(text):
        gap = text[position : match.start()]
        is_adjacent = bool(run) and not gap.strip()
        if not (is_adjacent and match[1].lower() == name):
            pieces.append(_decode_run(run, name, warnings))
            pieces.append("" if is_adjacent else gap)
            run, name = [], match[1].lower()
        run.append((match[2].upper(), match[3]))
        position = match.end()
    return "".join([*pieces, _decode_run(run, name, warnings), text[position:]])


def _decode_run(run: list[tuple[str, str]], name: str, warnings: list[str]) -> str:
    if not run:
        return ""
    text, warning = charset.decode(_bytes_of(run), name)
    if warning:
        warnings.append(f"{warning} in a header")
    return text


def _bytes_of(run: list[tuple[str, str]]) -> bytes:
    out = b""
    pending = ""  # base64 that a mailer cut inside of a group of four
    for encoding, payload in run:
        if encoding == "Q":
            out += binascii.a2b_qp(payload.encode("utf-8", "replace"), header=True)
            continue
        pending += re.sub(r"[^A-Za-z0-9+/=]", "", payload)
        if len(pending) % 4 == 0 or pending.endswith("="):
            out += lenient_base64(pending.encode())
            pending = ""
    return out + lenient_base64(pending.encode())


def lenient_base64(raw: bytes) -> bytes:
    """What can be decoded: foreign characters and missing padding are overlooked. Never raises."""
    digits = re.sub(rb"[^A-Za-z0-9+/]", b"", raw.partition(b"=")[0] if raw.count(b"=") <= 2 else raw)
    digits = digits[: len(digits) - 1] if len(digits) % 4 == 1 else digits
    return base64.b64decode(digits + b"=" * (-len(digits) % 4))
