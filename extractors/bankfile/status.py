"""What the status of a row means: booked, pending, or never happened."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from extractors.bankfile.header import folded

State = Literal["booked", "unsettled", "pending", "declined"]
"""``unsettled``: nothing says; then a row that has no booking date, in a file that has such a column, is pending."""

_PENDING = re.compile(
    r"\b(pending|vorgemerkt\w*|offen|ausstehend|autorisiert|authori[sz]ed|authori[sz]ation|hold"
    r"|processing|in process|in bearbeitung|en attente|en cours|a venir|pendiente\w*|retenid\w*|yes|true)\b"
)
_DECLINED = re.compile(
    r"\b(declined|denied|failed|reverted|rejected|cancel\w*|void\w*|abgelehnt|verweigert\w*|abgebrochen"
    r"|storniert|fehlgeschlagen"
    r"|zurueckgewiesen|refus\w*|annul\w*|echou\w*|rejet\w*|rechazad\w*|cancelad\w*|anulad\w*|denegad\w*|deleted"
    r"|expired)\b"
)
_BOOKED = re.compile(
    r"\b(booked|posted|completed|cleared|settled|gebucht\w*|abgeschlossen|comptabilis\w*|effectu\w*"
    r"|execut\w*|realizad\w*|contabilizad\w*|completad\w*|no|false|success\w*|done|processed)\b"
)


def state(text: str, *, is_pending: bool) -> State:
    """``is_pending``: the row stands under a heading that says so. A word that we do not know says nothing."""
    word = folded(text[:60])
    if _DECLINED.search(word):
        return "declined"
    if _PENDING.search(word):
        return "pending"
    if _BOOKED.search(word):
        return "booked"
    return "pending" if is_pending else "unsettled"


def section(cells: Sequence[str], is_pending: bool) -> bool:
    """Whether the rows below a line without a day are pending: the line is the title of a section, or says nothing."""
    words = [cell for cell in cells if cell]
    if len(words) != 1:
        return is_pending
    word = folded(words[0][:60])
    if _PENDING.search(word):
        return True
    return False if _BOOKED.search(word) else is_pending
