"""Facts from schema.org objects: invoices, orders, parcels and reservations that a mail states for machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from extractors.facts import reservations
from extractors.facts import schema_org as schema
from extractors.facts.context import TextContext
from extractors.text import one_line
from schemas.fact import AmountFact, DueFact, Fact, InvoiceFact, ResolutionFact, Span

_CERTAIN = 0.97
_OBJECTS = 100


def find(items: Sequence[Mapping[str, Any]], context: TextContext) -> list[Fact]:
    """The facts of all objects that we know, in order, each once. Values of a wrong shape are left out."""
    found: dict[str, Fact] = {}
    for number, item in enumerate(_all(items)):
        span = Span(part="jsonld", start=number, end=number, quote=_quote(item))
        for fact in _facts(item, context):
            found.setdefault(fact.model_dump_json(exclude={"span"}), fact.model_copy(update={"span": span}))
    return list(found.values())


def _all(items: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Packages opened: a ReservationPackage holds one reservation for each leg."""
    for item in items[:_OBJECTS]:
        inner = schema.objects(item, "subReservation")
        yield from inner[:_OBJECTS] if inner else [item]


def _quote(item: Mapping[str, Any]) -> str:
    number = schema.text(item, "identifier", "orderNumber", "reservationNumber", "reservationId", "trackingNumber")
    return one_line(f"{schema.type_of(item)} {number or ''}", 200)


def _facts(item: Mapping[str, Any], context: TextContext) -> Iterator[Fact]:
    match schema.type_of(item):
        case "Invoice":
            yield from _invoice(item, context)
        case "Order":
            yield from _order(item, context)
        case "ParcelDelivery":
            yield from _parcel(item, context)
        case kind if kind.endswith("Reservation"):
            yield from reservations.find(item, kind, context)
        case _:
            return


def _invoice(item: Mapping[str, Any], context: TextContext) -> Iterator[Fact]:
    status = schema.word(item, "paymentStatus")
    due = schema.day(item, context, "paymentDueDate", "paymentDue")
    amount = schema.money(item, "totalPaymentDue", "minimumPaymentDue")
    invoice = InvoiceFact(
        origin="jsonld",
        certainty=_CERTAIN,
        number=schema.text(item, "identifier", "confirmationNumber", "accountId", cap=80),
        amount=amount if amount and amount.amount > 0 else None,
        due=due,
        issuer=schema.name(item, "provider", "broker", "seller") or context.sender[:200] or None,
        paid=status == "PaymentComplete",
        autopay=status == "PaymentAutomaticallyApplied",
    )
    if invoice.number is None and invoice.amount is None:
        return
    yield invoice
    if due is not None and not invoice.paid:
        yield DueFact(origin="jsonld", certainty=_CERTAIN, on=due, what="debit" if invoice.autopay else "pay")
    if invoice.paid:
        yield ResolutionFact(origin="jsonld", certainty=_CERTAIN, outcome="paid", number=invoice.number)


_ORDER_OUTCOMES = {"OrderCancelled": "cancelled", "OrderDelivered": "delivered"}


def _order(item: Mapping[str, Any], context: TextContext) -> Iterator[Fact]:
    number = schema.text(item, "orderNumber", "identifier", cap=80)
    if (
        schema.day(item, context, "paymentDueDate", "paymentDue")
        and schema.word(item, "paymentStatus") != "PaymentComplete"
    ):
        yield from _invoice({**item, "identifier": number, "totalPaymentDue": item}, context)
    elif amount := schema.money(item, "totalPrice") or schema.money({"offer": item}, "offer"):
        yield AmountFact(origin="jsonld", certainty=_CERTAIN, amount=amount, role="price")
    if outcome := _ORDER_OUTCOMES.get(schema.word(item, "orderStatus")):
        yield ResolutionFact.model_validate(
            {"origin": "jsonld", "certainty": _CERTAIN, "outcome": outcome, "number": number}
        )


def _parcel(item: Mapping[str, Any], context: TextContext) -> Iterator[Fact]:
    number = schema.text(item, "trackingNumber", cap=80)
    order = next(iter(schema.objects(item, "partOfOrder")), {})
    status = schema.word(item, "deliveryStatus") or schema.word(order, "orderStatus")
    if status in ("OrderDelivered", "Delivered"):
        yield ResolutionFact(origin="jsonld", certainty=_CERTAIN, outcome="delivered", number=number)
    else:
        yield from reservations.parcel(item, number, context)
