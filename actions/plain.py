"""Outside text made safe to show: one line of plain characters, nothing that hides, reorders or links what a person
reads. Host names of other scripts are shown as punycode, so that a look-alike does not look alike."""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Co", "Cs", "Cn"})
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that print nothing: joiners, fillers, the empty braille cell."""
_LINK = re.compile(r"!?\[([^\]\[]*)\]\(([^()\s]*)\)")
_HOST = re.compile(r"(?<=://)[^\s/?#\"<>()]+|(?<=@)[^\s/?#\"<>(),;:!]+")
TOP = (
    r"(?:com|net|org|info|biz|app|dev|xyz|top|site|online|shop|store|club|live|bank|page|link|click|cloud|tech|pro"
    r"|example|test|invalid|onion|mobi|name|news|email|money|finance|loan|win|work|world|zip|mov|icu|vip)"
)
"""Top-level domains that a bare word with a dot is taken for a host by, beside those of two letters."""
_WORD = re.compile(rf"\b(?:[\w-]{{1,63}}\.){{1,8}}(?:[A-Za-z]{{2}}|{TOP})\b")
_FOREIGN = re.compile(r"[^\x00-\u024f]")
"""A bare word with a dot is a host only with letters that are not Latin in it: "München.Bahnhof" is none."""


def clean(text: str, limit: int = 300) -> str:
    """Control, zero-width, bidi and private characters go; white space becomes single spaces; a link of markdown
    becomes its words and its address; long text is cut."""
    kept = "".join(" " if c.isspace() else c for c in text if c.isspace() or not is_hidden(c))
    line = " ".join(kept.split())
    if "](" in line:
        line = _LINK.sub(lambda m: f"{m[1]} ({m[2]})", line)
    if not line.isascii():
        line = _HOST.sub(lambda m: _punycode(m[0]), line)
        line = _WORD.sub(lambda m: _punycode(m[0]) if _FOREIGN.search(m[0]) else m[0], line)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def clean_lines(text: str, limit: int = 4000) -> str:
    """The same line by line; the lines stay, blank ones at both ends go."""
    return "\n".join(clean(line, limit) for line in text.splitlines()).strip()[:limit]


def is_hidden(c: str) -> bool:
    """Does this character print nothing, or change what stands beside it?"""
    return c in _BLANK or "\ufe00" <= c <= "\ufe0f" or unicodedata.category(c) in _HIDDEN


def _punycode(host: str) -> str:
    """Label by label; one that IDNA does not know stays as it is."""
    return ".".join(_label(label) for label in host.split("."))


def _label(label: str) -> str:
    if label.isascii():
        return label
    try:
        return label.encode("idna").decode("ascii")
    except UnicodeError:
        return label
