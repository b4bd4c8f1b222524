"""File names of attachments, made safe to show and to write: a bare name, whatever the sender wrote."""

from __future__ import annotations

import re

from extractors.mail import limits
from extractors.text import one_line

_CAP = 200
_FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f\x7f]')


def bare(name: str) -> str:
    """Without folders, control and directional characters, and leading dots; at most 200 characters, suffix kept.

    Empty where nothing is left.
    """
    last = re.split(r"[/\\]", name.replace("\0", ""))[-1]
    cleaned = _FORBIDDEN.sub("_", one_line(last, limits.FIELD_BYTES)).strip(" .")
    if len(cleaned) <= _CAP:
        return cleaned
    stem, dot, suffix = cleaned.rpartition(".")
    return f"{stem[: _CAP - 12]}{dot}{suffix[:11]}" if dot and len(suffix) <= 11 else cleaned[:_CAP]
