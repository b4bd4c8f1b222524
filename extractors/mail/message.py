"""Message: one mail as typed values, read from its bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from extractors.facts.itip import CalendarPart
from extractors.mail import addresses, body, dating, limits, structure
from extractors.mail.addresses import Mailbox
from extractors.mail.bulk import Mailing, mailing
from extractors.mail.content import content_key
from extractors.mail.dating import DateSource
from extractors.mail.fields import Fields
from extractors.mail.slim import Slimmed
from extractors.mail.structure import Part
from extractors.mail.words import decode_header, text_of
from extractors.text import one_line
from schemas.errors import PoisonError
from schemas.payloads import Attachment

_MESSAGE_ID = re.compile(rb"<[^<>\s]{1,500}>")
_ROLES = {"from": "from", "to": "to", "cc": "cc", "bcc": "bcc", "reply-to": "reply_to", "sender": "sender"}
_ONCE = ("from", "subject", "date", "to", "message-id")


@dataclass(frozen=True, slots=True)
class Message:
    """``text`` is everything that can be read, ``new_text`` what the sender wrote now. ``is_delivered``: it came
    through a mail server. Nothing in it is trusted: anybody can write any header."""

    subject: str
    mailboxes: Sequence[tuple[str, Mailbox]]
    sent_at: datetime | None
    date_source: DateSource
    message_id: str | None
    in_reply_to: str | None
    references: Sequence[str]
    text: str
    new_text: str
    items: Sequence[Mapping[str, Any]]
    calendars: Sequence[CalendarPart]
    attachments: Sequence[Attachment]
    mailing: Mailing
    content_key: str
    is_delivered: bool
    warnings: Sequence[str]

    @property
    def sender(self) -> Mailbox:
        return next((mailbox for role, mailbox in self.mailboxes if role == "from"), Mailbox("", ""))

    @property
    def thread(self) -> str:
        """The root of the conversation; a mail that answers nothing is its own."""
        return next(filter(None, (*self.references, self.in_reply_to, self.message_id)), self.content_key)


def read(
    raw: bytes, *, file_time: datetime | None = None, slimmed: Slimmed | None = None, key: str | None = None
) -> Message:
    """The mail that these bytes are.

    ``file_time`` dates a mail that does not date itself. ``slimmed`` and ``key`` stand for what was left out of
    ``raw`` (see ``extractors.mail.slim``). PoisonError for what is no mail at all.
    """
    if len(raw) > limits.MESSAGE_BYTES:
        raise PoisonError(f"a mail of {len(raw)} bytes is too large", code="too_large")
    start = len(raw) - len(raw.lstrip(b"\r\n"))
    root, warnings = structure.read(raw, start)
    if not root.fields.items:
        raise PoisonError("no mail: it has no header", code="empty" if not raw.strip() else "malformed")
    content = body.read(raw, root, slimmed or {})
    found = [*warnings, *_doubled(root.fields)]
    when = dating.date_of(root.fields, file_time)
    mailboxes = _mailboxes(root, found)
    sender = next((mailbox.address for role, mailbox in mailboxes if role == "from"), "")
    references = _ids(root.fields, "references")
    return Message(
        subject=one_line(_text(root, "subject", found), 500),
        mailboxes=mailboxes,
        sent_at=when.sent_at,
        date_source=when.source,
        message_id=next(iter(_ids(root.fields, "message-id")), None),
        in_reply_to=next(iter(_ids(root.fields, "in-reply-to")), None),
        references=references,
        text=content.text,
        new_text=content.new_text,
        items=content.items,
        calendars=content.calendars,
        attachments=content.attachments,
        mailing=mailing(root.fields, sender),
        content_key=key or content_key(raw),
        is_delivered=root.fields.first("received") is not None,
        warnings=list(dict.fromkeys([*found, *content.warnings, *when.warnings])),
    )


def _text(root: Part, name: str, warnings: list[str]) -> str:
    return decode_header(root.fields.first(name) or b"", warnings, body_charset=root.parameters.get("charset"))


def _mailboxes(root: Part, warnings: list[str]) -> list[tuple[str, Mailbox]]:
    found: list[tuple[str, Mailbox]] = []
    for field, role in _ROLES.items():
        values = root.fields.every(field)[: 1 if field == "from" else 5]
        for value in values:
            text = text_of(value, warnings, body_charset=root.parameters.get("charset"))
            found += [(role, mailbox) for mailbox in addresses.parse(text, warnings)]
    if len(found) > limits.PARTIES:
        warnings.append(f"more than {limits.PARTIES} parties: the rest is not listed")
    return found[: limits.PARTIES]


def _ids(fields: Fields, name: str) -> list[str]:
    """Message ids with their angle brackets, in order, each once."""
    raw = b" ".join(fields.every(name)[:5])
    found = [match.decode("ascii", "replace") for match in _MESSAGE_ID.findall(raw)]
    return list(dict.fromkeys(found))[: limits.REFERENCES]


def _doubled(fields: Fields) -> list[str]:
    """Names that may come once; programs disagree about which of two is shown, and that is a trick."""
    return [f"more than one {name} header: the first counts" for name in _ONCE if len(fields.every(name)) > 1]
