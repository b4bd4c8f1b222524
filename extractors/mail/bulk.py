"""Newsletters and automatic mail, told from letters by their headers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from extractors.mail.fields import Fields

_ROBOT = re.compile(
    r"^(?:no-?_?reply|do-?not-?reply|donotreply|nicht-?antworten|noreponse|ne-pas-repondre|mailer-daemon|"
    r"postmaster|bounces?|"
    r"notifications?|notify|alerts?|newsletters?|news|info-?mail|automat\w*|robot|system)(?:[+._-].*)?@",
    re.IGNORECASE,
)
_LISTS = frozenset(["bulk", "list", "junk"])


@dataclass(frozen=True, slots=True)
class Mailing:
    """``is_list``: sent to many. ``is_automatic``: a program wrote it, or nobody reads answers to it."""

    is_list: bool
    is_automatic: bool
    list_id: str | None
    unsubscribe: str | None


def mailing(fields: Fields, sender: str) -> Mailing:
    list_id = _text(fields, "list-id")
    unsubscribe = _text(fields, "list-unsubscribe")
    precedence = (_text(fields, "precedence") or "").lower()
    auto = (_text(fields, "auto-submitted") or "no").lower()
    is_list = bool(list_id or unsubscribe) or precedence in _LISTS
    is_automatic = not auto.startswith("no") or _ROBOT.match(sender) is not None
    return Mailing(is_list, is_automatic, list_id, unsubscribe)


def _text(fields: Fields, name: str) -> str | None:
    value = fields.first(name)
    return value.decode("utf-8", "replace").strip()[:500] or None if value else None
