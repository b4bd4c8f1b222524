"""Facts: typed values extracted from an event, each with its span, origin and certainty.

A rule reads a fact by its kind: ``fact.due`` is the main value of the first fact of kind ``due``
(see ``MAIN``), ``fact.invoice.amount`` a field of the first fact of kind ``invoice``.
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from schemas.model import Instant, Model
from schemas.money import Money

Origin = Literal["jsonld", "itip", "header", "text", "field", "model"]
"""jsonld: schema.org in the mail; itip: an invitation; text: an anchored rule over the words;
field: a typed field of the source; model: a language model added it."""


class Span(Model):
    """Where a value stands: ``part`` (text, subject, jsonld, calendar, purpose, ...), offsets in characters."""

    part: str = Field(max_length=60)
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    quote: str = Field(max_length=200)


class _Fact(Model):
    origin: Origin
    certainty: float = Field(ge=0, le=1)
    span: Span | None = None


class DueFact(_Fact):
    """Something must happen by the end of this local day. ``what``: pay, answer, return, renew, attend, ..."""

    kind: Literal["due"] = "due"
    on: date
    at: Instant | None = None
    what: str = Field(default="pay", max_length=40)


class AmountFact(_Fact):
    """Money named in the text, positive as written. ``role``: total, due, fee, refund, price, mention."""

    kind: Literal["amount"] = "amount"
    amount: Money
    role: str = Field(default="mention", max_length=40)


class InvoiceFact(_Fact):
    """A bill: amount positive."""

    kind: Literal["invoice"] = "invoice"
    number: str | None = Field(default=None, max_length=80)
    amount: Money | None = None
    due: date | None = None
    issuer: str | None = Field(default=None, max_length=200)
    iban: str | None = Field(default=None, max_length=34)
    reference: str | None = Field(default=None, max_length=140)
    paid: bool = False
    autopay: bool = False
    """It will be debited without the owner's doing."""


class ExpiryFact(_Fact):
    """A document, contract, consent or offer ends at the end of this local day. ``what`` names it."""

    kind: Literal["expiry"] = "expiry"
    on: date
    what: str = Field(default="", max_length=120)
    category: Literal["document", "contract", "trial", "voucher", "consent", "return", "other"] = "other"
    """return: the period in which goods may be sent back."""
    notice_by: date | None = None


class ReservationFact(_Fact):
    """A booking. ``status`` cancelled withdraws it. Wall times keep the offset that the source gave."""

    kind: Literal["reservation"] = "reservation"
    category: Literal["flight", "train", "bus", "hotel", "restaurant", "event", "car", "other"] = "other"
    code: str | None = Field(default=None, max_length=80)
    number: str | None = Field(default=None, max_length=40)
    status: Literal["confirmed", "changed", "cancelled"] = "confirmed"
    provider: str | None = Field(default=None, max_length=200)
    person: str | None = Field(default=None, max_length=200)
    place_from: str | None = Field(default=None, max_length=200)
    place_to: str | None = Field(default=None, max_length=200)
    starts_at: Instant | None = None
    ends_at: Instant | None = None


class InvitationFact(_Fact):
    """An iTIP message in a mail. ``effect``: what it asks of the calendar."""

    kind: Literal["invitation"] = "invitation"
    method: str = Field(max_length=20)
    uid: str = Field(max_length=400)
    sequence: int = 0
    starts_at: Instant | None = None
    ends_at: Instant | None = None
    summary: str = Field(default="", max_length=300)
    effect: Literal["add", "change", "cancel", "reply", "none"] = "none"


class QuestionFact(_Fact):
    """The sender asks this owner for an answer. ``quote`` is in the span."""

    kind: Literal["question"] = "question"
    by: date | None = None


class ChangeFact(_Fact):
    """A price or term changes: ``old`` to ``new`` on ``on``."""

    kind: Literal["change"] = "change"
    what: str = Field(default="price", max_length=60)
    old: Money | None = None
    new: Money | None = None
    on: date | None = None


class ResolutionFact(_Fact):
    """The source says that something is over: paid, cancelled, resolved, delivered, extended.

    ``number`` (an invoice number, booking code or case number) says what, where the text has one.
    """

    kind: Literal["resolution"] = "resolution"
    outcome: Literal["paid", "cancelled", "resolved", "delivered", "extended", "answered", "received"]
    number: str | None = Field(default=None, max_length=80)


class PromiseFact(_Fact):
    """Whoever writes says that they will do something, by the end of this local day where they name one.

    ``number`` is that of the parcel, order or case.
    """

    kind: Literal["promise"] = "promise"
    what: Literal["send", "deliver", "answer", "refund", "do"] = "do"
    by: date | None = None
    number: str | None = Field(default=None, max_length=80)


class ClaimFact(_Fact):
    """A claim or complaint: the sender makes one, or confirms that one has come in."""

    kind: Literal["claim"] = "claim"
    number: str | None = Field(default=None, max_length=80)


class PreparationFact(_Fact):
    """The reader is asked to read, bring, send or prepare something beforehand. The words are in the span."""

    kind: Literal["preparation"] = "preparation"
    what: Literal["read", "bring", "send", "prepare"] = "prepare"


class AlertFact(_Fact):
    """Something happened to an account of the reader with the sender: somebody signed in, or changed how one does."""

    kind: Literal["alert"] = "alert"
    what: Literal["sign_in", "password", "contact"] = "sign_in"


class RefundFact(_Fact):
    """The sender gives money back, and it is not here yet; the amount is positive. ``number``: of the order or case."""

    kind: Literal["refund"] = "refund"
    amount: Money
    number: str | None = Field(default=None, max_length=80)


Fact = Annotated[
    DueFact
    | AmountFact
    | InvoiceFact
    | ExpiryFact
    | ReservationFact
    | InvitationFact
    | QuestionFact
    | ChangeFact
    | ResolutionFact
    | PromiseFact
    | ClaimFact
    | PreparationFact
    | AlertFact
    | RefundFact,
    Field(discriminator="kind"),
]

MAIN: dict[str, str] = {
    "due": "on",
    "amount": "amount",
    "invoice": "number",
    "expiry": "on",
    "reservation": "code",
    "invitation": "uid",
    "question": "by",
    "change": "new",
    "resolution": "outcome",
    "promise": "by",
    "claim": "number",
    "preparation": "what",
    "alert": "what",
    "refund": "amount",
}
"""The field that a bare ``fact.<kind>`` means."""
