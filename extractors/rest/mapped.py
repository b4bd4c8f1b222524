"""What of a row becomes what of an event: the ``map`` of a stream."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from extractors.rest.expression import Expression, Misplaced
from extractors.rest.stamp import Format
from schemas.model import Model

KIND = r"^[a-z][a-z0-9_]{0,39}$"


def _or_text(value: Any, key: str) -> Any:
    return {key: value} if isinstance(value, str) else value


class AmountMap(Model):
    """``currency`` is found in the row, ``currency_code`` holds for all. ``minor_units``: the value counts cents.
    ``negate``: the source writes positive what leaves the owner."""

    value: Expression
    currency: Expression | None = None
    currency_code: str | None = Field(default=None, pattern=r"^[A-Z]{3}$")
    minor_units: bool = False
    negate: bool = False

    @model_validator(mode="after")
    def _has_a_currency(self) -> AmountMap:
        if (self.currency is None) == (self.currency_code is None):
            raise Misplaced("an amount has either currency or currency_code", 0, "currency_code: EUR holds for all")
        return self


class TimeMap(Model):
    """A date (the whole local day) or a time. ``format`` where it is not ISO 8601; ``what``: for a due date, what must
    be done by then (pay, sign, answer, ...)."""

    value: Expression
    format: Format = "iso"
    what: str = Field(default="do", max_length=40)

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return _or_text(value, "value")


class PartyMap(Model):
    name: Expression
    address: Expression | None = None
    role: Literal["from", "to", "cc", "organizer", "attendee", "payee", "payer", "issuer"] = "issuer"

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return _or_text(value, "name")


class MatterMap(Model):
    """What the row belongs to. ``invoice`` meets mails and payments about the same bill; ``key`` only other rows of
    this system."""

    key: Expression | None = None
    invoice: Expression | None = None
    issuer: Expression | None = None
    domain: Expression | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return _or_text(value, "key")

    @model_validator(mode="after")
    def _is_one(self) -> MatterMap:
        if (self.key is None) == (self.invoice is None):
            raise Misplaced("a matter has either key or invoice")
        if self.invoice is not None and self.issuer is None and self.domain is None:
            raise Misplaced("a number alone does not tell one company's invoices from another's", 0, "add issuer")
        return self


class ResolvedMap(Model):
    """When the row says that it is over, and how it ended."""

    when: Expression
    outcome: Literal["paid", "cancelled", "resolved", "delivered", "extended", "answered", "received"] = "resolved"


class EventMap(Model):
    """``kind`` becomes ``record.<kind>``; by default the stream's name. What is left out stays in the payload alone."""

    kind: str | None = Field(default=None, pattern=KIND)
    title: Expression | None = None
    text: Expression | None = None
    amount: AmountMap | None = None
    due: TimeMap | None = None
    starts: TimeMap | None = None
    ends: TimeMap | None = None
    occurred: TimeMap | None = None
    party: PartyMap | None = None
    url: Expression | None = None
    status: Expression | None = None
    matter: MatterMap | None = None
    resolved: ResolvedMap | None = None
    trust: Literal["service", "outside"] = "outside"
    """service: people outside cannot write into these rows."""
