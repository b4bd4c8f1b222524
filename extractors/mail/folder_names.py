"""What mail programs call the folders of sent mail, and those that are never read."""

from __future__ import annotations

import re

_SENT = re.compile(
    r"sent(?: items| messages| mail)?|gesendet(?:e (?:objekte|elemente|nachrichten))?|postausgang|"
    r"(?:éléments |messages )?envoyés|(?:elementos |mensajes )?enviados",
    re.IGNORECASE,
)
_NEVER = re.compile(
    r"drafts?|entwürfe|brouillons|borradores|(?:junk|spam)(?: e-?mail)?|unerwünscht|indésirables|correo no deseado|"
    r"trash|bin|deleted(?: items| messages)?|papierkorb|gelöscht(?:e (?:objekte|elemente))?|corbeille|"
    r"éléments supprimés|papelera|elementos eliminados",
    re.IGNORECASE,
)


def is_sent_name(name: str) -> bool:
    """``name`` without the folders above it."""
    return bool(_SENT.fullmatch(name))


def is_unread_name(name: str) -> bool:
    """Drafts, spam and bins."""
    return bool(_NEVER.fullmatch(name))
