"""Labels: what Gmail's system labels say about a mail, as the flags that we keep. The person's own labels say nothing.

"Spam and trash are not events": a mail that carries one of those labels counts as gone.
"""

from __future__ import annotations

from collections.abc import Iterable

SEEN, FLAGGED, SENT, INBOX = 1, 2, 4, 8
BY_LABEL = {"UNREAD": SEEN, "STARRED": FLAGGED, "SENT": SENT, "INBOX": INBOX}
"""UNREAD says the opposite of its bit."""
HIDDEN = frozenset({"SPAM", "TRASH", "DRAFT", "CHAT"})
UNHIDING = frozenset({"SPAM", "TRASH", "DRAFT"})
"""A mail that loses one of these may be one that we have never seen."""


def is_live(labels: Iterable[str]) -> bool:
    return not HIDDEN.intersection(labels)


def bits_of(labels: Iterable[str]) -> int:
    held = frozenset(labels)
    return sum(bit for label, bit in BY_LABEL.items() if (label in held) != (bit == SEEN))


def flags_of(bits: int) -> list[str]:
    return [name for bit, name in ((FLAGGED, "flagged"), (SEEN, "seen")) if bits & bit]


def folder_of(bits: int) -> str:
    """Where a person would look for it."""
    return "INBOX" if bits & INBOX else "Sent" if bits & SENT else "Archive"
