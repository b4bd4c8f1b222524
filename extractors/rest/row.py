"""Row: one row of a stream as its record keeps it, with what the ``map`` of the definition found in it."""

from __future__ import annotations

from pydantic import Field

from schemas.model import Json, Model
from schemas.money import Money

CONTENT_TYPE = "application/vnd.forewatch.row+json"


class Moment(Model):
    """``text``: a date, an ISO time with its offset, or a wall time of ``zone`` (None: the owner's)."""

    text: str = Field(max_length=40)
    zone: str | None = None


class RowParty(Model):
    name: str = ""
    address: str = ""
    role: str = "issuer"


class RowMatter(Model):
    """``key`` of this system's own, or the ``invoice`` number with who sent it."""

    key: str = ""
    invoice: str = ""
    issuer: str = ""
    domain: str = ""


class Row(Model):
    """``kind`` is the event's. ``fields`` is the row as the source gave it, without what the definition drops; ``cut``:
    it was too large, and only its short fields are here."""

    system: str
    stream: str
    kind: str
    id: str
    title: str = ""
    text: str = ""
    amount: Money | None = None
    due: Moment | None = None
    due_what: str = "do"
    starts: Moment | None = None
    ends: Moment | None = None
    occurred: Moment | None = None
    party: RowParty | None = None
    url: str = ""
    status: str = ""
    matter: RowMatter | None = None
    outcome: str = ""
    trust: str = "outside"
    fields: dict[str, Json] = {}
    cut: bool = False

    def stump(self) -> Row:
        """What is worth keeping of a row that is gone."""
        return self.model_copy(update={"fields": {}, "text": "", "cut": False})
