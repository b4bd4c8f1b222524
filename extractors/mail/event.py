"""Message to Event: who, what, when, the facts in it, and which matter it belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from extractors.connector import Context
from extractors.facts import TextContext, extract, itip, jsonld
from extractors.facts.extract import main_due
from extractors.facts.invoice import payable
from extractors.mail.message import Message
from extractors.text import cut
from schemas import matter
from schemas.clock import end_of_day, local_day
from schemas.event import TEXT_CAP, Event, Party
from schemas.fact import AmountFact, Fact, InvitationFact, InvoiceFact, ReservationFact
from schemas.ids import event_id
from schemas.money import Money
from schemas.payloads import MailPayload
from schemas.record import Record

Kind = Literal["mail.received", "mail.sent", "mail.flagged", "mail.removed"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a mail lies. ``is_sent_folder``: what lies here the owner has sent. ``owners``: the owner's addresses."""

    folder: str = ""
    flags: tuple[str, ...] = ()
    is_sent_folder: bool = False
    owners: tuple[str, ...] = ()


def subject_id(account: str, native_id: str) -> str:
    return f"mail:{account}:{native_id}"


def event_of(message: Message, record: Record, context: Context, place: Place) -> Event:
    """The event of this version of the mail; a version that is not the first is ``mail.flagged``."""
    is_own = is_sent(message, place)
    kind: Kind = "mail.flagged" if not record.is_new else "mail.sent" if is_own else "mail.received"
    occurred_at = message.sent_at or record.fetched_at
    facts, fact_warnings = facts_of(message, context, occurred_at, place)
    text, was_cut = cut(message.new_text, TEXT_CAP)
    warnings = [*message.warnings, *fact_warnings, *(["text is too long: the rest was cut"] if was_cut else [])]
    due = main_due(facts)
    booked = next((f for f in facts if isinstance(f, ReservationFact | InvitationFact) and f.starts_at), None)
    return Event(
        id=event_id(record.account, kind, record.native_id, record.version),
        owner=record.owner,
        account=record.account,
        source=record.source,
        kind=kind,
        subject=subject_id(record.account, record.native_id),
        version=record.version,
        occurred_at=occurred_at,
        observed_at=record.fetched_at,
        title=message.subject,
        parties=_parties(message),
        amount=_amount(facts),
        due_at=due and (due.at or end_of_day(due.on, context.zone)),
        starts_at=booked and booked.starts_at,
        ends_at=booked and booked.ends_at,
        text=text,
        facts=tuple(facts),
        matter=matter_of(message, facts),
        trust="self" if is_own else "outside",
        payload=_payload(message, place, warnings),
    )


def removed(record: Record) -> Event:
    """The mail is gone from its source. When it went nobody knows: before it was polled."""
    kind = "mail.removed"
    return Event(
        id=event_id(record.account, kind, record.native_id, record.version),
        owner=record.owner,
        account=record.account,
        source=record.source,
        kind=kind,
        op="retract",
        subject=subject_id(record.account, record.native_id),
        version=record.version,
        occurred_at=record.fetched_at,
        observed_at=record.fetched_at,
    )


def is_sent(message: Message, place: Place) -> bool:
    """The owner wrote it.

    Anybody can write the owner's address into From, so that alone proves nothing: it must lie in a folder of sent mail,
    or have come through no mail server at all.
    """
    is_from_owner = message.sender.address in place.owners
    if place.is_sent_folder:
        return is_from_owner or not place.owners
    return is_from_owner and not message.is_delivered


def facts_of(message: Message, context: Context, at: datetime, place: Place) -> tuple[list[Fact], list[str]]:
    """The facts of the new words and of the markup, and what was wrong with the latter."""
    scope = TextContext(
        written_on=local_day(at, context.zone),
        zone=context.zone,
        sender=message.sender.name or message.sender.domain,
        bulk=message.mailing.is_list,
        automatic=message.mailing.is_automatic,
        owners=_owner_names(message, place),
    )
    invitations, warnings = itip.find(message.calendars, scope)
    structured: Sequence[Fact] = [*jsonld.find(message.items, scope), *invitations]
    return extract(message.new_text, scope, subject=message.subject, structured=structured), warnings


def matter_of(message: Message, facts: Sequence[Fact]) -> str:
    """An invoice's number, else a booking's code, else the conversation; an issue of a newsletter is none."""
    for fact in facts:
        if isinstance(fact, InvoiceFact) and fact.number:
            return matter.invoice(fact.number, domain=message.sender.domain, issuer=fact.issuer or message.sender.name)
    for fact in facts:
        if isinstance(fact, ReservationFact) and fact.code:
            return matter.booking(fact.code)
    is_issue = message.mailing.is_list and not message.in_reply_to
    return matter.thread(message.message_id or message.thread if is_issue else message.thread)


def _owner_names(message: Message, place: Place) -> tuple[str, ...]:
    named = [mailbox.name for _, mailbox in message.mailboxes if mailbox.address in place.owners and mailbox.name]
    return tuple(dict.fromkeys([*named, *place.owners]))


def _parties(message: Message) -> tuple[Party, ...]:
    return tuple(
        Party(role=role, name=mailbox.name, address=mailbox.address[:320], domain=mailbox.domain[:255])
        for role, mailbox in message.mailboxes
    )


def _amount(facts: Sequence[Fact]) -> Money | None:
    """What the owner is to pay, as an outflow; a refund comes in."""
    invoice = next((fact.amount for fact in facts if isinstance(fact, InvoiceFact) and fact.amount), None)
    amounts = [fact for fact in facts if isinstance(fact, AmountFact)]
    if outflow := invoice or payable([fact for fact in amounts if fact.role in ("total", "due")]):
        return -outflow
    return next((fact.amount for fact in amounts if fact.role == "refund"), None)


def _payload(message: Message, place: Place, warnings: Sequence[str]) -> MailPayload:
    return MailPayload(
        message_id=message.message_id,
        in_reply_to=message.in_reply_to,
        references=tuple(message.references),
        thread=message.thread,
        folder=place.folder,
        flags=place.flags,
        attachments=tuple(message.attachments),
        list_id=message.mailing.list_id,
        unsubscribe=message.mailing.unsubscribe,
        bulk=message.mailing.is_list or message.mailing.is_automatic,
        date_source=message.date_source,
        content_key=message.content_key,
        warnings=tuple(warnings)[:50],
    )


def place_of(meta: Mapping[str, object]) -> Place:
    """The place that a connector wrote into a record's ``meta``; what is missing or of a wrong shape is left out."""

    def words(key: str) -> tuple[str, ...]:
        value = meta.get(key)
        return tuple(str(each) for each in value) if isinstance(value, list) else ()

    return Place(
        folder=str(meta.get("folder", ""))[:500],
        flags=words("flags"),
        is_sent_folder=meta.get("role") == "sent",
        owners=words("owners"),
    )
