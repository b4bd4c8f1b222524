"""AccountState: one connection of an owner to a source, and where its connector stands."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.model import Instant, Json, Model

Permission = Literal["send", "write"]
"""send: mail in the person's name; write: change what is in the account."""
Status = Literal["active", "paused", "needs_reauth", "silent", "removed"]


class AccountState(Model):
    """``config`` is the connector's own settings; its secrets are in the vault, never here."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")
    owner: str
    connector: str
    title: str = ""
    config: dict[str, Json] = {}
    status: Status = "active"
    created_at: Instant
    poll_every_s: float = Field(default=300, gt=0)
    consent_expires_at: Instant | None = None
    reason: str = ""
    allow: tuple[Permission, ...] = ()
    """What the person granted to tools beyond reading; a new account gives them nothing."""


class CursorState(Model):
    """Where the connector of an account resumes, and how its last polls went. ``cursor`` is the connector's own."""

    account: str
    cursor: Json = None
    polled_at: Instant | None = None
    succeeded_at: Instant | None = None
    arrivals: tuple[Instant, ...] = ()
    """When the source last gave anything new, oldest first, one per local day, at most ``ARRIVALS_KEPT``."""
    silent: bool = False
    """``account.silent`` was raised and nothing has come since."""
    failures: int = 0
    """Failed polls in a row."""
    error: str = ""
    retry_at: Instant | None = None
    questions: tuple[dict[str, Json], ...] = ()
    """What only the person can decide before the source can be read (``extractors.connector.Question`` as JSON)."""
    warnings: tuple[str, ...] = ()
    barred: bool = False
    """``account.needs_reauth`` was raised and the source has not let us in since."""
    consent_announced: Instant | None = None
    """The end of consent of which ``account.consent_expiring`` has told."""


ARRIVALS_KEPT = 16
