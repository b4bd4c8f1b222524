"""What a mail holds, as plain JSON for people and scripts: the summary of ``forewatch events preview``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from extractors.connector import Context
from extractors.facts import TextContext, dates, money
from extractors.mail.message import Message
from schemas.clock import local_day
from schemas.event import Event
from schemas.fact import AmountFact, DueFact, Fact, InvitationFact, InvoiceFact, ReservationFact
from schemas.money import Money

_TEXT = 20_000
_TRAVEL = ("flight", "train", "bus")


def summary(message: Message, event: Event, context: Context) -> dict[str, Any]:
    """Keys: subject, text, new_text, date_utc, date_source, attachments, facts, due_dates, dates_found, amounts, itip,
    and the matter and parties of the event."""
    facts = event.facts
    return {
        "subject": message.subject,
        "from": message.sender.address,
        "text": message.text[:_TEXT],
        "new_text": message.new_text[:_TEXT],
        "date_utc": _utc(message.sent_at),
        "date_source": message.date_source,
        "attachments": [each.model_dump(include={"filename", "content_type", "size"}) for each in message.attachments],
        "facts": [flat for fact in facts if (flat := _flat(fact))],
        "due_dates": sorted({fact.on.isoformat() for fact in facts if isinstance(fact, DueFact)}),
        "dates_found": _dates(message, event, context),
        "amounts": [_as_written(fact) for fact in facts if isinstance(fact, AmountFact)],
        "itip": next((_itip(fact) for fact in facts if isinstance(fact, InvitationFact)), None),
        "matter": event.matter,
    }


def _dates(message: Message, event: Event, context: Context) -> list[str]:
    """Every date that the new words name, whatever it means."""
    scope = TextContext(written_on=local_day(event.occurred_at, context.zone), zone=context.zone)
    found = [*dates.find(message.subject, scope), *dates.find(message.new_text[:_TEXT], scope)]
    return sorted({mention.day.isoformat() for mention in found if not mention.weak and not mention.month})


def _as_written(fact: AmountFact) -> dict[str, str]:
    """The digits of the text: "300 EUR" is 300, not 300.00."""
    mentions = money.find(fact.span.quote) if fact.span else []
    written = next((each.written for each in mentions if each.money == fact.amount), f"{fact.amount.amount:f}")
    return {"value": written, "currency": fact.amount.currency}


def _flat(fact: Fact) -> dict[str, Any] | None:
    """One level of plain values; deadlines, amounts and invitations have lists of their own."""
    match fact:
        case DueFact() | AmountFact() | InvitationFact():
            return None
        case InvoiceFact():
            return _invoice(fact)
        case ReservationFact():
            return _travel(fact) if fact.category in _TRAVEL else _stay(fact)
        case _:
            values = fact.model_dump(mode="json", exclude={"origin", "certainty", "span"}, exclude_none=True)
            return {key: _plain(value) for key, value in {**values, "source": fact.origin}.items()}


def _invoice(fact: InvoiceFact) -> dict[str, Any]:
    return _known(
        kind="invoice",
        source=fact.origin,
        number=fact.number,
        amount=_digits(fact.amount),
        currency=fact.amount and fact.amount.currency,
        due=fact.due and fact.due.isoformat(),
        issuer=fact.issuer,
        iban=fact.iban,
        reference=fact.reference,
        paid=fact.paid or None,
        autopay=fact.autopay or None,
    )


def _travel(fact: ReservationFact) -> dict[str, Any]:
    return _known(
        kind=fact.category,
        reservation=fact.code,
        status=None if fact.status == "confirmed" else fact.status,
        **{fact.category: fact.number, "from": fact.place_from},
        to=fact.place_to,
        departure_utc=_utc(fact.starts_at),
        arrival_utc=_utc(fact.ends_at),
        passenger=fact.person,
    )


def _stay(fact: ReservationFact) -> dict[str, Any]:
    return _known(
        kind=fact.category,
        reservation=fact.code,
        status=None if fact.status == "confirmed" else fact.status,
        name=fact.provider,
        place=fact.place_to,
        start_utc=_utc(fact.starts_at),
        end_utc=_utc(fact.ends_at),
        guest=fact.person,
    )


def _itip(fact: InvitationFact) -> dict[str, Any]:
    return {
        "method": fact.method,
        "uid": fact.uid,
        "sequence": fact.sequence,
        "start_utc": _utc(fact.starts_at),
        "effect": fact.effect,
    }


def _plain(value: Any) -> Any:
    return f"{value['amount']} {value['currency']}" if isinstance(value, dict) else value


def _digits(amount: Money | None) -> str | None:
    return None if amount is None else f"{amount.amount:f}"


def _known(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _utc(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def summary_of_many(parts: Sequence[dict[str, Any]], keys: Sequence[str]) -> dict[str, Any]:
    """For several mails: how many, how many different ones, and each by itself. One alone is shown flat."""
    counts = {"messages": len(keys), "distinct_content": len(set(keys))}
    return {**counts, **parts[0]} if len(parts) == 1 else {**counts, "items": list(parts)}
