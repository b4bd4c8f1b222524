"""Labels: what a good assistant must notice in the sample household, and where it must stay silent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

RULES = (
    "invoice-unpaid",
    "document-expiring",
    "contract-notice",
    "trial-ending",
    "salary-missing",
    "mail-unanswered",
    "meeting-clash",
    "booking-changed",
    "spend-anomaly",
    "source-silent",
    "due-soon",
    "price-rise",
    "parcel-late",
    "promise-open",
    "reply-owed",
    "claim-open",
    "return-window",
    "sign-in-alert",
    "mail-flood",
    "document-before-trip",
    "travel-unreachable",
    "day-overbooked",
    "meeting-moved",
    "meeting-unprepared",
    "invitation-unanswered",
    "double-charge",
    "card-tested",
    "withdrawals-many",
    "payee-unknown",
    "foreign-fee",
    "bank-fees",
    "debit-returned",
    "refund-missing",
    "income-lower",
    "payouts-lower",
    "subscription-dormant",
    "iban-changed",
    "invoice-iban-changed",
    "spending-spike",
    "low-balance",
    "account-overdrawn",
    "mailbox-quiet",
    "report-stopped",
)
ALSO = ("price-raised",)
"""Rules that may notice what the labels of another are about, and have none of their own."""


@dataclass(frozen=True, slots=True)
class Label:
    """One situation (``notice``) or look-alike (``silence``).

    A proposal is about it when one of ``rules`` made it from one of ``items``: a mail's Message-ID, a calendar UID, a
    bank row's end-to-end id, ``balance:<IBAN>`` or ``account:<id>``. It must be offered on a local day of
    [notice_from, notice_by], and be withdrawn when the source withdraws the matter on ``cancelled_on``.
    """

    id: str
    expect: Literal["notice", "silence"]
    rules: tuple[str, ...]
    items: tuple[str, ...]
    notice_from: date
    notice_by: date
    cancelled_on: date | None
    language: str
    why: str
