"""Clean text: what a reader sees, without what only machines see."""

from __future__ import annotations

import re
import unicodedata

_SPACES = dict.fromkeys([0x00A0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " ")
_INVISIBLE = dict.fromkeys(
    [
        0x00AD,  # soft hyphen
        0x034F,  # combining grapheme joiner, a favourite of hidden pre-headers
        0x061C,
        *range(0x200B, 0x2010),  # zero width and directional marks
        *range(0x202A, 0x202F),  # directional embeddings and overrides
        *range(0x2060, 0x2070),
        0xFEFF,
        *range(0xD800, 0xE000),  # halves of characters, from broken JSON
        *(code for code in range(0x20) if code not in (0x09, 0x0A)),
        *range(0x7F, 0xA0),
    ]
)
_TABLE = {**_SPACES, **_INVISIBLE}
_LINE_END = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
_TRAILING = re.compile(r"[ \t]+$", re.MULTILINE)
_BLANK_LINES = re.compile(r"\n{3,}")
_ADDRESS = re.compile(r"(?:https?://|www\.|mailto:)[^\s<>\"]+|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")


def clean(text: str) -> str:
    """One form for equal text: NFC, plain spaces, ``\\n`` line ends, nothing invisible, at most one blank line.

    The visible words keep their order; spaces inside a line stay, because they are the columns of a table.
    """
    text = unicodedata.normalize("NFC", _LINE_END.sub("\n", text).translate(_TABLE))
    return _BLANK_LINES.sub("\n\n", _TRAILING.sub("", text)).strip()


def one_line(text: str, cap: int) -> str:
    """Clean text on one line, cut to ``cap`` characters."""
    return " ".join(clean(text).split())[:cap]


def cut(text: str, cap: int) -> tuple[str, bool]:
    """The text, at most ``cap`` characters of it, and whether something was cut off."""
    return (text, False) if len(text) <= cap else (text[:cap].rstrip(), True)


def mask_addresses(text: str) -> str:
    """The text with web and mail addresses blanked out; every other character keeps its offset."""
    return _ADDRESS.sub(lambda match: " " * len(match.group()), text)
