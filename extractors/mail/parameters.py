"""Structured header values: ``text/plain; charset=utf-8; name*0*=...`` as a value and its parameters."""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from extractors.mail import charset
from extractors.mail.words import decode_words, text_of

_PARAMETER = re.compile(r";\s*([^\s=;\"]{1,80})\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^;]*))", re.DOTALL)
_SECTION = re.compile(r"([^*]+)(?:\*(\d{1,3}))?(\*)?")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def parse(raw: bytes, warnings: list[str], *, body_charset: str | None = None) -> tuple[str, dict[str, str]]:
    """The value in lower case, and its parameters by lower-case name, decoded by RFC 2231 and (as mailers do) 2047."""
    text = text_of(raw, warnings, body_charset=body_charset)
    plain: dict[str, str] = {}
    sections: dict[str, dict[int, tuple[bool, str]]] = {}
    for match in _PARAMETER.finditer(text):
        name, number, starred = _section(match[1].lower())
        value = _ESCAPE.sub(r"\1", match[2]) if match[2] is not None else match[3].strip()
        if number is None and not starred:
            plain.setdefault(name, decode_words(value, warnings))
        else:
            sections.setdefault(name, {}).setdefault(number or 0, (starred, value))
    joined = {name: _join(parts, warnings) for name, parts in sections.items()}
    return text.partition(";")[0].strip().lower(), {**plain, **joined}


def _section(name: str) -> tuple[str, int | None, bool]:
    match = _SECTION.fullmatch(name)
    if match is None:
        return name, None, False
    return match[1], None if match[2] is None else int(match[2]), match[3] is not None


def _join(parts: dict[int, tuple[bool, str]], warnings: list[str]) -> str:
    """Sections in order as one run of bytes: a percent-encoded character may be cut between two of them."""
    label = ""
    raw = b""
    for number in sorted(parts):
        starred, value = parts[number]
        if starred and number == min(parts) and value.count("'") >= 2:
            label, _, value = value.split("'", 2)
        raw += unquote_to_bytes(value) if starred else value.encode("utf-8", "surrogatepass")
    text, warning = charset.decode(raw, label or None)
    if warning and label:
        warnings.append(f"{warning} in a file name")
    return text
