"""Address lists of header fields: names and mailboxes, split before they are decoded, in linear time."""

from __future__ import annotations

import re
from typing import NamedTuple

from extractors.mail.words import decode_words
from extractors.text import one_line

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|\((?:[^()\\]|\\.)*\)|<[^<>]*>|[,;:]|[^",;:()<>]+|.', re.DOTALL)
_MAILBOX = re.compile(r"[^\s@<>,;:\"()]{1,64}@[^\s@<>,;:\"()]{1,255}")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Mailbox(NamedTuple):
    """``address`` is in lower case and may be empty where a field holds only a name."""

    name: str
    address: str

    @property
    def domain(self) -> str:
        return self.address.rpartition("@")[2]


def parse(text: str, warnings: list[str]) -> list[Mailbox]:
    """The mailboxes in order; groups (``undisclosed-recipients:;``) are opened, comments are names of last resort."""
    found: list[Mailbox] = []
    pending: list[str] = []
    for token in _TOKEN.findall(text):
        if token in (",", ";"):
            _add(found, pending, warnings)
            pending = []
        elif token == ":":
            pending = []  # the name of a group
        else:
            pending.append(token)
    _add(found, pending, warnings)
    return found


def _add(found: list[Mailbox], tokens: list[str], warnings: list[str]) -> None:
    angle = next((t[1:-1] for t in reversed(tokens) if t.startswith("<") and t.endswith(">")), None)
    phrase = " ".join(_plain(t) for t in tokens if not t.startswith(("<", "(")))
    comment = " ".join(t[1:-1] for t in tokens if t.startswith("("))
    match = _MAILBOX.search(angle if angle is not None else phrase)
    address = match.group().lower() if match else ""
    name = phrase if angle is not None else phrase.replace(match.group(), "") if match else phrase
    name = one_line(decode_words(name.strip() or comment, warnings), 300).strip(" '\"")
    if address or name:
        found.append(Mailbox("" if name.lower() == address else name, address))


def _plain(token: str) -> str:
    return _ESCAPE.sub(r"\1", token.strip('"')) if token.startswith('"') else token.strip()
