"""Outside text made safe to show: one line of plain characters, nothing that hides or reorders what a person reads."""

from __future__ import annotations

import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})


def clean(text: str, limit: int = 300) -> str:
    """Control, zero-width, bidi and private characters go; white space becomes single spaces; long text is cut."""
    kept = "".join(" " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in _HIDDEN)
    line = " ".join(kept.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def clean_lines(text: str, limit: int = 4000) -> str:
    """The same line by line; the lines stay, blank ones at both ends go."""
    return "\n".join(clean(line, limit) for line in text.splitlines()).strip()[:limit]
