"""Folder names in IMAP's modified UTF-7 (RFC 3501, 5.1.3), which Maildir++ keeps on disk: "Entw&APw-rfe"."""

from __future__ import annotations

import base64
import binascii
import re

_SHIFTED = re.compile(r"&([A-Za-z0-9+,]*)-")


def decode_utf7(name: str) -> str:
    """What cannot be decoded stays as it is."""
    return _SHIFTED.sub(lambda match: _decoded(match[0], match[1]), name)


def _decoded(whole: str, digits: str) -> str:
    if not digits:
        return "&"
    try:
        raw = base64.b64decode(digits.replace(",", "/") + "=" * (-len(digits) % 4))
        return raw.decode("utf-16-be")
    except (binascii.Error, UnicodeDecodeError):
        return whole
