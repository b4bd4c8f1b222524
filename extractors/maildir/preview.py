"""What a mail file, an mbox or a Maildir holds, without storing anything."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from extractors.connector import Context, Preview, Rejected
from extractors.mail import limits, mbox, message
from extractors.mail.event import Place, event_of
from extractors.mail.summary import summary, summary_of_many
from extractors.maildir import folders, mboxfile
from extractors.maildir.config import MaildirConfig
from extractors.maildir.item import Item
from schemas.errors import ForewatchError, PoisonError
from schemas.event import Event
from schemas.ids import record_id
from schemas.record import Record

_HEAD = 8_192
_SHOWN = 500
"""Mails of a folder that a preview shows."""
_MAIL_FIELD = re.compile(
    rb"^(?:from|date|subject|received|message-id|return-path|delivered-to|mime-version|x-mozilla-status):",
    re.IGNORECASE | re.MULTILINE,
)
_ANY_FIELD = re.compile(rb"(?:>?From |[!-9;-~]{1,100}[ \t]*:)")


def is_mail(path: Path) -> bool:
    """A Maildir, an mbox, or one mail: its first lines are header fields, one of them a mail's."""
    try:
        if path.is_dir():
            return folders.is_maildir(path)
        with path.open("rb") as file:
            head = file.read(_HEAD).lstrip(b"\r\n\xef\xbb\xbf")
    except OSError:
        return False
    block = re.split(rb"\r?\n\r?\n|\r\r", head, maxsplit=1)[0]
    return mbox.is_mbox(head) or (_ANY_FIELD.match(head) is not None and _MAIL_FIELD.search(block) is not None)


@dataclass(frozen=True, slots=True)
class _Found:
    where: str
    raw: bytes
    place: Place
    at: datetime | None


@dataclass(slots=True)
class _Gathered:
    events: list[Event] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    parts: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


def preview(path: Path, context: Context) -> Preview:
    gathered = _Gathered()
    try:
        for found in islice(_mails(path), _SHOWN):
            _gather(found, gathered, context)
    except (ForewatchError, OSError) as error:
        code = error.code if isinstance(error, PoisonError) else "unreadable"
        gathered.rejected.append(Rejected(str(path), code, str(error)))
    warnings = list(dict.fromkeys(gathered.warnings))
    shown = {**summary_of_many(gathered.parts, gathered.keys), "warnings": warnings}
    return Preview("mail", gathered.events, gathered.rejected, (), warnings, shown)


def _gather(found: _Found, gathered: _Gathered, context: Context) -> None:
    try:
        mail = message.read(found.raw, file_time=found.at)
    except PoisonError as error:
        gathered.rejected.append(Rejected(found.where, error.code, error.message, found.raw[:2_000]))
        return
    native_id = f"{mail.content_key[:20]}.{len(gathered.keys)}"
    record = Record(
        id=record_id(context.account, native_id, "0"),
        account=context.account,
        owner=context.owner,
        source="maildir",
        native_id=native_id,
        version="0",
        fetched_at=context.now,
    )
    event = event_of(mail, record, context, found.place)
    gathered.events.append(event)
    gathered.parts.append(summary(mail, event, context))
    gathered.keys.append(mail.content_key)
    payload = event.payload
    gathered.warnings += getattr(payload, "warnings", ())


def _mails(path: Path) -> Iterator[_Found]:
    config = MaildirConfig(path=str(path))
    if path.is_dir():
        for item in folders.items(path, config)[-_SHOWN:]:
            yield _Found(f"{item.folder}/{item.name}", item.read(), _place(item), item.at)
        return
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if mbox.is_mbox(head):
        for number, item in enumerate(mboxfile.listing(path, config).items, 1):
            yield _Found(f"{path.name}, mail {number}", item.read(), _place(item), item.at)
        return
    if path.stat().st_size > limits.MESSAGE_BYTES:
        raise PoisonError("the file is too large for a mail", code="too_large")
    yield _Found(path.name, path.read_bytes(), Place(), datetime.fromtimestamp(path.stat().st_mtime, UTC))


def _place(item: Item) -> Place:
    return Place(folder=item.folder, flags=item.flags, is_sent_folder=item.role == "sent")
