"""What only one kind of event has. ``type`` is the tag; each kind of event uses one payload model."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from schemas.model import Instant, Json, Model
from schemas.money import Money


class Attachment(Model):
    """``filename`` is a bare name (no path), ``size`` in decoded bytes, ``sha256`` of the decoded bytes."""

    filename: str = Field(max_length=255)
    content_type: str = Field(max_length=120)
    size: int = Field(ge=0)
    sha256: str = ""


class MailPayload(Model):
    type: Literal["mail"] = "mail"
    message_id: str | None = None
    in_reply_to: str | None = None
    references: tuple[str, ...] = ()
    thread: str = ""
    """Root message id of the conversation (or this message's own)."""
    folder: str = ""
    flags: tuple[str, ...] = ()
    """IMAP words without backslash: seen, answered, flagged, draft, deleted."""
    attachments: tuple[Attachment, ...] = ()
    list_id: str | None = None
    unsubscribe: str | None = None
    bulk: bool = False
    """A newsletter or automatic mail, by its headers."""
    date_source: Literal["header", "received", "file", "none"] = "header"
    content_key: str = ""
    """sha256 of the normalised message: equal for byte-identical copies."""
    warnings: tuple[str, ...] = ()


class CalendarPayload(Model):
    type: Literal["calendar"] = "calendar"
    uid: str
    recurrence_id: str | None = None
    """ISO form of the original start of this occurrence; None for a single event."""
    recurring: bool = False
    sequence: int = 0
    status: Literal["confirmed", "tentative", "cancelled"] = "confirmed"
    location: str = ""
    organizer: str | None = None
    attendees: tuple[str, ...] = ()
    transparent: bool = False
    """True: does not block the time."""
    calendar: str = ""
    url: str | None = None
    categories: tuple[str, ...] = ()
    description: str = ""
    previous_start: Instant | None = None
    """For calendar.changed: the start before the change."""
    answer: str = ""
    """The owner's own answer (PARTSTAT in lower case: needs-action, accepted, declined, ...), where invited."""
    method: str = ""
    """The iTIP method of the message that it came in (REQUEST, CANCEL, PUBLISH, ...)."""
    todo: bool = False
    """A to-do: ``due_at`` is its deadline."""
    completed: bool = False
    """For calendar.cancelled: not called off but done."""
    warnings: tuple[str, ...] = ()


class BankPayload(Model):
    type: Literal["bank"] = "bank"
    booked_on: date | None = None
    value_on: date | None = None
    native_id: str = ""
    """The bank's own id of the row, as given (it may be reused or empty)."""
    row_key: str = ""
    """Our identity of the row: account, date, amount, payee, purpose, occurrence in the day."""
    counterparty: str = ""
    counterparty_iban: str | None = None
    merchant: str = ""
    """The counterparty in a stable form (lower case, no card numbers, no city noise)."""
    purpose: str = ""
    end_to_end_id: str | None = None
    mandate_id: str | None = None
    creditor_id: str | None = None
    pending: bool = False
    reversal: bool = False
    original: Money | None = None
    """The amount in the foreign currency, where the row has one."""
    bank_account: str = ""
    """IBAN or number of the owner's account."""
    replaces: str | None = None
    """row_key of the pending row that this booked row settles."""
    warnings: tuple[str, ...] = ()


class BalancePayload(Model):
    type: Literal["balance"] = "balance"
    as_of: date
    bank_account: str = ""
    opening: Money | None = None
    """Opening balance of the statement that ended with this balance, where it gave one."""
    consistent: bool | None = None
    """opening + sum of booked rows == closing; None where the source gave too little to tell."""


class RowPayload(Model):
    """A row of a declarative connector."""

    type: Literal["record"] = "record"
    stream: str
    fields: dict[str, Json] = {}
    url: str = ""
    """Where a person sees it."""
    status: str = ""
    """The source's own word for its state."""


class AccountPayload(Model):
    type: Literal["account"] = "account"
    connector: str = ""
    reason: str = ""
    consent_expires_on: date | None = None
    last_event_at: Instant | None = None


class RunPayload(Model):
    type: Literal["run"] = "run"
    proposal: str
    run: str
    status: str
    step: str = ""


class ServicePayload(Model):
    """What Forewatch finds out about itself. ``code``: canary, canary_lost, never_evaluated, dead_source,
    empty_baseline; ``about``: the rule or account; ``says``: one line for the person."""

    type: Literal["service"] = "service"
    code: str
    about: str = ""
    says: str = Field(default="", max_length=300)


class ClockPayload(Model):
    """``day`` is the owner's local day that begins (clock.day) or is (clock.tick)."""

    type: Literal["clock"] = "clock"
    day: date
    zone: str


class RulesPayload(Model):
    """The rules that are in use from this event on, and how they differ from those before: ids, the first of many."""

    type: Literal["rules"] = "rules"
    digest: str
    """Of the whole set; the topic ``rules`` says what it stands for."""
    count: int = 0
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class MatterPayload(Model):
    """The person's word on two events (by id), and the matters that they named."""

    type: Literal["matter"] = "matter"
    first_event: str
    second_event: str
    first: str
    second: str


Payload = Annotated[
    MailPayload
    | CalendarPayload
    | BankPayload
    | BalancePayload
    | RowPayload
    | AccountPayload
    | RunPayload
    | ServicePayload
    | ClockPayload
    | RulesPayload
    | MatterPayload,
    Field(discriminator="type"),
]
