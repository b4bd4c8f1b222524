"""Event: the normalised form of everything that a source tells, and of our own clock and runs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.fact import Fact
from schemas.model import Instant, Model
from schemas.money import Money
from schemas.payloads import Payload

Op = Literal["upsert", "retract"]
Trust = Literal["self", "service", "outside"]
"""self: the owner wrote it; service: a bank, a calendar server or Forewatch itself; outside: anybody."""

KINDS = (
    "mail.received", "mail.sent", "mail.flagged", "mail.removed",
    "calendar.scheduled", "calendar.changed", "calendar.cancelled", "calendar.invited",
    "bank.pending", "bank.posted", "bank.removed", "bank.balance",
    "account.connected", "account.consent_expiring", "account.needs_reauth", "account.silent", "account.recovered",
    "run.started", "run.done", "run.failed", "run.stopped",
    "service.canary", "service.fault",
    "clock.day", "clock.tick", "rules.changed",
    "matter.joined", "matter.split",
)  # fmt: skip
"""All kinds but ``record.<stream>``, which declarative connectors make."""

KIND_PATTERN = r"^[a-z]+\.[a-z][a-z0-9_]*$"

TEXT_CAP = 20_000
"""Characters of ``Event.text``; what is longer is cut and warned of."""


class Party(Model):
    """Somebody in the event. ``role``: from, to, cc, organizer, attendee, payee, payer, issuer."""

    role: str = Field(max_length=20)
    name: str = Field(default="", max_length=300)
    address: str = Field(default="", max_length=320)
    """A mail address (lower case) or an IBAN."""
    domain: str = Field(default="", max_length=255)


class Event(Model):
    """One version of one thing. ``subject`` is the stable id of the thing, ``id`` of this version of it.

    ``observed_at`` is when Forewatch polled it: the order in which rules see the world. ``occurred_at`` is
    when it happened by the source's word. ``starts_at``/``ends_at`` are instants; ``wall_start``/``wall_end`` with
    ``zone`` keep what the source wrote (ISO without offset, a bare date for all-day; zone None = floating).
    ``ends_at`` is exclusive.
    """

    id: str
    owner: str
    account: str
    source: str
    kind: str = Field(pattern=KIND_PATTERN)
    op: Op = "upsert"
    subject: str
    record: str = ""
    """Id of the raw record that this was made from; empty for what Forewatch says itself."""
    version: str
    occurred_at: Instant
    observed_at: Instant
    title: str = Field(default="", max_length=500)
    parties: tuple[Party, ...] = ()
    amount: Money | None = None
    due_at: Instant | None = None
    starts_at: Instant | None = None
    ends_at: Instant | None = None
    wall_start: str | None = None
    wall_end: str | None = None
    zone: str | None = None
    all_day: bool = False
    text: str = Field(default="", max_length=TEXT_CAP)
    facts: tuple[Fact, ...] = ()
    matter: str | None = None
    trust: Trust = "outside"
    payload: Payload | None = None
