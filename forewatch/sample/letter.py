"""Letter: one mail before it becomes bytes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from forewatch.sample.speech import Block, Speaker

Shape = Literal["plain", "html", "both"]
Quoting = Literal["angle", "outlook", "blockquote"]


@dataclass(frozen=True, slots=True)
class Address:
    name: str
    mail: str

    @property
    def domain(self) -> str:
        return self.mail.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Attachment:
    filename: str
    content_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Letter:
    """``at`` carries the sender's offset (it is what the Date header says). ``message_id`` is without brackets."""

    at: datetime
    message_id: str
    speaker: Speaker
    sender: Address
    to: tuple[Address, ...]
    subject: str
    blocks: tuple[Block, ...]
    sent: bool = False
    """The owner wrote it: it lies in the Sent folder."""
    bulk: bool = False
    automatic: bool = False
    answers: Letter | None = None
    quoting: Quoting | None = None
    """How the answered letter is quoted below the new text; None: not at all."""
    jsonld: dict[str, Any] | None = None
    invitation: str | None = None
    """An iCalendar object with a METHOD."""
    method: str = "REQUEST"
    attachment: Attachment | None = None
    preheader: str = ""
    """Text that HTML hides and previews show."""
    shape: Shape = "plain"
    charset: str = "utf-8"
    encoding: Literal["quoted-printable", "base64", "8bit"] = "quoted-printable"
    mailer: str = "Post 4.2"

    @property
    def references(self) -> tuple[str, ...]:
        return (*self.answers.references, self.answers.message_id) if self.answers else ()
