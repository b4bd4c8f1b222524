"""What rows and balances become: bank.posted, bank.pending, bank.removed and bank.balance events.

Payee and purpose are written by whoever sent the payment. The event's trust is ``service``, because the bank vouches
that the money moved; its words are outside text all the same, and nothing may act on an account number found in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from pydantic import ValidationError

from extractors.bank.merchant import merchant
from extractors.bank.row import ITEM, Balance, Row
from extractors.connector import Context
from extractors.facts.context import TextContext
from extractors.facts.numbers import invoices
from extractors.facts.passage import Passage
from schemas.clock import start_of_day
from schemas.errors import PoisonError
from schemas.event import Event, Party
from schemas.fact import Fact, InvoiceFact
from schemas.ids import event_id
from schemas.payloads import BalancePayload, BankPayload
from schemas.record import Record

INVOICES = 5
"""Invoice numbers taken from one purpose."""


def normalise(record: Record, context: Context) -> Sequence[Event]:
    """Pure. One event for each record; ``occurred_at`` is the first instant of the booked day in the owner's zone,
    for a bank names days and not times."""
    if record.op == "delete":
        return [_removed(record, _item(record.meta.get("row"), record), context)]
    item = _item(record.raw, record)
    if isinstance(item, Balance):
        return [_balance(record, item, context)]
    return [_moved(record, item, "bank.pending" if item.pending else "bank.posted", context)]


def _item(source: object, record: Record) -> Row | Balance:
    try:
        return ITEM.validate_json(source) if isinstance(source, bytes) else ITEM.validate_python(source, strict=False)
    except ValidationError as error:
        raise PoisonError(f"record {record.id} holds no bank row: {error.errors()[0]['msg']}") from error


def _removed(record: Record, item: Row | Balance, context: Context) -> Event:
    if isinstance(item, Balance):
        raise PoisonError(f"record {record.id} removes a balance, which cannot be")
    return _moved(record, item, "bank.removed", context)


def _moved(record: Record, row: Row, kind: str, context: Context) -> Event:
    """``matter`` is that of the row under which the movement was first seen, so a booking continues its pending row."""
    return Event(
        id=event_id(record.account, kind, record.native_id, record.version),
        owner=record.owner,
        account=record.account,
        source=record.source,
        kind=kind,
        op="retract" if kind == "bank.removed" else "upsert",
        subject=record.native_id,
        version=record.version,
        occurred_at=start_of_day(row.booked_on, context.zone),
        observed_at=record.fetched_at,
        title=row.counterparty or row.purpose[:200] or row.booking_text,
        parties=_parties(row),
        amount=row.amount,
        text=row.purpose,
        facts=_facts(row, context),
        matter=f"bank:{row.replaces or record.native_id}",
        trust="service",
        payload=_payload(record.native_id, row),
    )


def _parties(row: Row) -> tuple[Party, ...]:
    if not (row.counterparty or row.counterparty_iban):
        return ()
    role = "payee" if row.amount.amount < 0 else "payer"
    return (Party(role=role, name=row.counterparty, address=row.counterparty_iban or ""),)


def _facts(row: Row, context: Context) -> tuple[Fact, ...]:
    """The invoice numbers that the purpose names: what a payment can be matched with a bill by. Dates and amounts in a
    purpose are not taken, for a payment asks nothing of the owner any more."""
    passage = Passage("purpose", row.purpose, TextContext(row.booked_on, context.zone))
    found = islice(invoices(passage), INVOICES)
    return tuple(InvoiceFact(origin="text", certainty=0.8, span=each.span, number=each.number) for each in found)


def _payload(key: str, row: Row) -> BankPayload:
    return BankPayload(
        booked_on=None if row.pending else row.booked_on,
        value_on=row.value_on,
        native_id=row.native_id,
        row_key=key,
        counterparty=row.counterparty,
        counterparty_iban=row.counterparty_iban,
        merchant=merchant(row.counterparty or row.purpose or row.booking_text),
        purpose=row.purpose,
        end_to_end_id=row.end_to_end_id,
        mandate_id=row.mandate_id,
        creditor_id=row.creditor_id,
        pending=row.pending,
        reversal=row.reversal,
        original=row.original,
        bank_account=row.account,
        replaces=row.replaces,
        warnings=row.warnings,
    )


def _balance(record: Record, balance: Balance, context: Context) -> Event:
    return Event(
        id=event_id(record.account, "bank.balance", record.native_id, record.version),
        owner=record.owner,
        account=record.account,
        source=record.source,
        kind="bank.balance",
        subject=f"balance:{balance.account}:{balance.amount.currency}",
        version=record.version,
        occurred_at=start_of_day(balance.as_of, context.zone),
        observed_at=record.fetched_at,
        title=balance.account,
        amount=balance.amount,
        trust="service",
        payload=BalancePayload(
            as_of=balance.as_of,
            bank_account=balance.account,
            opening=balance.opening,
            consistent=balance.consistent,
        ),
    )
