"""Bytes to text, whatever the label says: unknown, wrong and lying charsets are the everyday of mail."""

from __future__ import annotations

import codecs
import re

_ALIASES = {
    "iso-8859-1": "cp1252", "iso8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "iso_8859-1": "cp1252",
    "windows-1252": "cp1252", "ansi": "cp1252", "x-ansi": "cp1252", "iso-8859-9": "cp1254", "iso-8859-11": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "x-gbk": "gb18030", "gb_2312-80": "gb18030", "cp936": "gb18030",
    "ks_c_5601-1987": "cp949", "euc-kr": "cp949", "shift_jis": "cp932", "shift-jis": "cp932", "x-sjis": "cp932",
    "iso-2022-jp": "iso2022_jp_ext", "big5": "cp950", "windows-874": "cp874", "iso-8859-8-i": "iso-8859-8",
    "iso-8859-8-e": "iso-8859-8", "unicode-1-1-utf-7": "utf-7", "utf8": "utf-8", "macintosh": "mac-roman",
    "x-mac-roman": "mac-roman", "utf-8mb4": "utf-8", "cp-850": "cp850", "iso-8859-15": "iso-8859-15",
}  # fmt: skip
"""What mail programs really mean, as the WHATWG encoding standard has it: latin-1 is cp1252, gb2312 is gb18030."""

_NOT_FOR_MAIL = frozenset(
    ["idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs", "oem", "unicode-internal"]
)
_ASCII = frozenset(["", "us-ascii", "ascii", "ansi_x3.4-1968", "unknown-8bit", "x-unknown", "unknown", "default"])
_LABEL = re.compile(r"[a-z0-9][a-z0-9._:()+-]{0,39}")
_ISO_2022 = re.compile(rb"\x1b[$(]")


def decode(raw: bytes, label: str | None) -> tuple[str, str | None]:
    """The text and, where the label did not tell the truth, a warning that names the charset. Never raises."""
    name = (label or "").strip().strip("\"'").lower().partition("*")[0]
    if name in _ASCII:
        return _unlabelled(raw)
    codec = _codec(name)
    if codec is None:
        return _guess(raw), f"unknown charset {name[:40]!r}"
    try:
        return _without_bom(raw.decode(codec)), None
    except (UnicodeError, ValueError):
        return _mislabelled(raw, codec), f"text is not in its charset {name[:40]!r}"


def _codec(name: str) -> str | None:
    """The codec for a label; None for what is no text encoding, or no encoding at all."""
    if not _LABEL.fullmatch(name):
        return None
    try:
        info = codecs.lookup(_ALIASES.get(name, name))
    except (LookupError, ValueError):
        return None
    is_text = getattr(info, "_is_text_encoding", True)
    return info.name if is_text and info.name.replace("_", "-") not in _NOT_FOR_MAIL else None


def _unlabelled(raw: bytes) -> tuple[str, str | None]:
    if _ISO_2022.search(raw):
        return decode(raw, "iso-2022-jp")
    if raw.isascii():
        return raw.decode("ascii"), None
    return _guess(raw), "8-bit text without a charset"


def _guess(raw: bytes) -> str:
    """UTF-8 proves itself; every other 8-bit text is taken for cp1252, as readers do."""
    try:
        return _without_bom(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return _cp1252(raw)


def _mislabelled(raw: bytes, codec: str) -> str:
    """A text that is mostly what the label says is a damaged one; any other is guessed."""
    text = raw.decode(codec, "replace")
    odd = sum(byte > 0x7F for byte in raw)
    if text.count("�") * 4 <= odd:
        return _without_bom(text)
    return _guess(raw)


def _cp1252(raw: bytes) -> str:
    """With the five bytes that cp1252 leaves undefined as the control characters of latin-1, as browsers read them."""
    try:
        return raw.decode("cp1252")
    except UnicodeDecodeError:
        return "".join(bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in raw)


def _without_bom(text: str) -> str:
    return text.removeprefix("\ufeff")
