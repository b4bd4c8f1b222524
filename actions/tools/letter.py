"""A mail of ours as bytes, and whether what a provider keeps is that mail."""

from __future__ import annotations

import mimetypes
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime

from actions.plain import clean, clean_lines
from actions.tools.mailbox import KEY_HEADER, message_id

_POLICY = policy.SMTP.clone(cte_type="7bit", max_line_length=78)
THREAD_CAP = 20
"""References of a reply: the first and the newest."""


@dataclass(frozen=True, slots=True)
class Attachment:
    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Letter:
    """``thread``: the Message-IDs before it, oldest first. ``calendar``: an iTIP object that goes along, with its
    method."""

    sender: str
    to: str
    subject: str
    body: str
    attachments: Sequence[Attachment] = ()
    thread: Sequence[str] = ()
    calendar: tuple[bytes, str] | None = None

    def raw(self, key: str, at: datetime) -> bytes:
        mail = EmailMessage(policy=_POLICY)
        mail["From"], mail["To"] = self.sender, self.to
        mail["Subject"] = clean(self.subject, 200)
        mail["Date"] = format_datetime(at)
        mail["Message-ID"] = message_id(key, self.sender)
        mail[KEY_HEADER] = key
        if self.thread:
            kept = [*self.thread[:1], *self.thread[1:][-(THREAD_CAP - 1) :]]
            mail["In-Reply-To"], mail["References"] = kept[-1], " ".join(kept)
        mail.set_content(text_of(self.body))
        if self.calendar is not None:
            content, method = self.calendar
            mail.add_alternative(content.decode(), subtype="calendar", params={"method": method})
        for each in self.attachments:
            main, _, sub = (mimetypes.guess_type(each.name)[0] or "application/octet-stream").partition("/")
            mail.add_attachment(each.content, maintype=main, subtype=sub, filename=each.name)
        for number, part in enumerate(mail.walk()):
            if part.is_multipart():
                part.set_boundary(f"=_{key}_{number}")  # else another one each time: the same letter is the same bytes
        return mail.as_bytes()

    def is_said_by(self, mail: EmailMessage) -> bool:
        """Recipient, subject, words and the bytes of every attachment; line ends may differ."""
        part = mail.get_body(("plain",))
        body = str(part.get_content()) if part is not None else ""
        files = [(each.get_filename(), each.get_payload(decode=True)) for each in mail.iter_attachments()]
        return (
            str(mail["To"] or "").strip() == self.to
            and str(mail["Subject"] or "").strip() == clean(self.subject, 200)
            and body.split() == text_of(self.body).split()
            and files == [(each.name, each.content) for each in self.attachments]
            and (self.calendar is None or _timeless(self.calendar[0].decode()) in map(_timeless, _calendars(mail)))
        )


def _calendars(mail: EmailMessage) -> list[str]:
    parts = [part.get_payload(decode=True) for part in mail.walk() if part.get_content_type() == "text/calendar"]
    return [part.decode("utf-8", "replace") for part in parts if isinstance(part, bytes)]


def _timeless(calendar: str) -> list[str]:
    """Its lines but the one that says when it was made."""
    return [line for line in calendar.split() if not line.startswith("DTSTAMP")]


def text_of(body: str) -> str:
    return clean_lines(body, 20_000) + "\n"
