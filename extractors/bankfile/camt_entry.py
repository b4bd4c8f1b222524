"""One CAMT entry (Ntry) as rows: one row, or one for each payment of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from lxml import etree

from extractors.bank.amounts import strict_decimal
from extractors.bank.iban import iban
from extractors.bank.row import Row, name, purpose, reference
from extractors.bankfile.days import iso_day
from schemas.money import Money

Element = etree._Element

_SKIPPED = {
    "INFO": "entries for information only were passed over: they are not booked",
    "RJCT": "rejected entries were passed over: they were never booked",
    "CANC": "cancelled entries were passed over: they were never booked",
}
_PENDING = frozenset(["PDNG", "FUTR"])
UNSPLIT = "a batch names several payments whose amounts do not add up to it: kept as one row"


@dataclass(frozen=True, slots=True)
class Account:
    number: str = ""
    currency: str = ""


def local_name(element: Element | None) -> str:
    tag = element.tag if element is not None else ""
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def child(element: Element, path: str) -> Element | None:
    """The first element on this path of names, in any namespace."""
    return element.find("/".join("{*}" + step for step in path.split("/")))


def children(element: Element, path: str) -> list[Element]:
    return element.findall("/".join("{*}" + step for step in path.split("/")))


def text(element: Element, path: str) -> str:
    found = child(element, path)
    return (found.text or "").strip() if found is not None else ""


def day_of(element: Element | None, path: str = "") -> date | None:
    """The day in an element that is a date, or holds a Dt or a DtTm. Its own calendar day, whatever its offset."""
    found = child(element, path) if element is not None and path else element
    if found is None:
        return None
    written = (found.text or "").strip() or text(found, "Dt") or text(found, "DtTm")
    return iso_day(written) if written else None


def optional_day(element: Element, path: str = "") -> date | None:
    """None too for a day that cannot be read, where another one will do."""
    try:
        return day_of(element, path)
    except ValueError:
        return None


def signed(element: Element, currency: str) -> Money:
    """The element's Amt with the sign of its CdtDbtInd: a debit is negative."""
    amount = child(element, "Amt")
    if amount is None or not (amount.text or "").strip():
        raise ValueError("the amount is missing")
    direction = text(element, "CdtDbtInd")
    if direction not in ("CRDT", "DBIT"):
        raise ValueError(f"neither credit nor debit: {direction[:20]!r}")
    value = strict_decimal(amount.text or "")
    return Money.of(-value if direction == "DBIT" else value, amount.get("Ccy") or currency)


def rows_of(entry: Element, account: Account, created_on: date | None) -> tuple[list[Row], list[str]]:
    """The rows of an entry, and warnings. ValueError for an entry that cannot be read.

    The booked amount is the entry's own: what was instructed, perhaps in another currency, is only ``original``.
    """
    status = text(entry, "Sts/Cd") or text(entry, "Sts") or "BOOK"
    if status in _SKIPPED:
        return [], [_SKIPPED[status]]
    whole = signed(entry, account.currency)
    payments = children(entry, "NtryDtls/TxDtls")
    parts = _parts(payments, whole, entry) if len(payments) > 1 else None
    shared = _Shared(entry, account, created_on, status in _PENDING)
    if parts is not None:
        return [shared.row(part, payment) for part, payment in zip(parts, payments, strict=True)], []
    if len(payments) > 1:
        return [shared.row(whole, None)], [UNSPLIT]
    return [shared.row(whole, payments[0] if payments else None)], []


def _parts(payments: list[Element], whole: Money, entry: Element) -> list[Money] | None:
    """The signed amounts of a batch's payments; None unless all are known and add up to the entry."""
    direction = text(entry, "CdtDbtInd")
    parts: list[Decimal] = []
    for payment in payments:
        amount = _amount_in(payment, whole.currency)
        if amount is None:
            return None
        is_against = text(payment, "CdtDbtInd") not in ("", direction)
        parts.append(-amount if is_against else amount)
    sign = -1 if direction == "DBIT" else 1
    if sum(parts, Decimal(0)) * sign != whole.amount:
        return None
    return [Money.of(part * sign, whole.currency) for part in parts]


def _amount_in(payment: Element, currency: str) -> Decimal | None:
    """A payment's amount in the currency of the account."""
    for path in ("Amt", "AmtDtls/TxAmt/Amt", "AmtDtls/CntrValAmt/Amt", "AmtDtls/InstdAmt/Amt"):
        found = child(payment, path)
        if found is not None and found.get("Ccy") == currency and (found.text or "").strip():
            return strict_decimal(found.text or "")
    return None


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all payments of an entry have in common."""

    entry: Element
    account: Account
    created_on: date | None
    is_pending: bool

    def row(self, amount: Money, payment: Element | None) -> Row:
        entry = self.entry
        value_on = optional_day(entry, "ValDt")
        booked_on = day_of(entry, "BookgDt") or value_on or self.created_on
        if booked_on is None:
            raise ValueError("the entry has no day")
        is_reversal = text(entry, "RvslInd").lower() in ("true", "1")
        details = payment if payment is not None else entry
        who = _counterparty(details, amount, is_reversal, self.account.number)
        return Row(
            account=self.account.number,
            booked_on=booked_on,
            value_on=value_on,
            amount=amount,
            original=_original(details, amount) or _original(entry, amount),
            counterparty=name(who[0]),
            counterparty_iban=who[1],
            purpose=purpose(_purpose(details) or text(entry, "AddtlNtryInf")),
            booking_text=name(text(entry, "AddtlNtryInf") or text(entry, "BkTxCd/Prtry/Cd")),
            native_id=name(text(details, "Refs/AcctSvcrRef") or text(entry, "AcctSvcrRef") or text(entry, "NtryRef")),
            end_to_end_id=reference(text(details, "Refs/EndToEndId")),
            mandate_id=reference(text(details, "Refs/MndtId")),
            creditor_id=reference(_creditor_id(details)),
            pending=self.is_pending,
            reversal=is_reversal,
        )


def _counterparty(details: Element, amount: Money, is_reversal: bool, own: str) -> tuple[str, str | None]:
    """Name and IBAN of the other side: who pays an inflow, who is paid by an outflow.

    In a reversal the roles are those of the payment that is reversed. Where banks fill in one role only, it is that
    one; never the owner's own account.
    """
    roles = ["Dbtr", "Cdtr"] if (amount.amount >= 0) != is_reversal else ["Cdtr", "Dbtr"]
    found = [_party(details, role) for role in roles]
    others = [party for party in found if party[1] != own or not own]
    named = [party for party in others if party[0]] or [party for party in others if party[1]]
    return named[0] if named else ("", None)


def _party(details: Element, role: str) -> tuple[str, str | None]:
    paths = [f"RltdPties/{who}/{step}" for who in (role, f"Ultmt{role}") for step in ("Nm", "Pty/Nm")]
    who = next((found for path in paths if (found := text(details, path))), "")
    return who, iban(text(details, f"RltdPties/{role}Acct/Id/IBAN"))


def _purpose(details: Element) -> str:
    lines = [(line.text or "").strip() for line in children(details, "RmtInf/Ustrd")]
    return (
        " ".join(line for line in lines if line)
        or text(details, "RmtInf/Strd/CdtrRefInf/Ref")
        or text(details, "RmtInf/Strd/AddtlRmtInf")
        or text(details, "AddtlTxInf")
    )


def _creditor_id(details: Element) -> str:
    steps = [f"RltdPties/Cdtr/{pty}Id/{kind}/Othr/Id" for pty in ("", "Pty/") for kind in ("PrvtId", "OrgId")]
    return next((found for step in steps if (found := text(details, step))), "")


def _original(details: Element, amount: Money) -> Money | None:
    """What was instructed, where that is another currency than what was booked."""
    for path in ("AmtDtls/InstdAmt/Amt", "AmtDtls/TxAmt/Amt"):
        found = child(details, path)
        if found is not None and found.get("Ccy") not in (None, amount.currency) and (found.text or "").strip():
            value = strict_decimal(found.text or "")
            return Money.of(-value if amount.amount < 0 else value, found.get("Ccy") or "")
    return None
