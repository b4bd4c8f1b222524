"""Records of declarative connectors as events: record.<kind>."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from extractors.connector import Context
from extractors.facts import TextContext, extract
from extractors.mail import html
from extractors.rest.row import Moment, Row, RowMatter
from extractors.text import clean, cut
from schemas import matter
from schemas.clock import end_of_day, start_of_day
from schemas.clock import zone as zone_of
from schemas.errors import ConfigError, PoisonError
from schemas.event import TEXT_CAP, Event, Party
from schemas.fact import DueFact, Fact, InvoiceFact, ResolutionFact
from schemas.ids import event_id
from schemas.payloads import RowPayload
from schemas.record import Record

_HTML = re.compile(r"<(?:br|p|a|div|b|i|ul|ol|li|span|html|body|table|strong|em)\b[^<>]{0,2000}>", re.IGNORECASE)


def normalise(record: Record, context: Context) -> Sequence[Event]:
    """Pure. One event a record; PoisonError for one that no declarative connector wrote."""
    try:
        if record.op == "delete":
            row = Row.model_validate(record.meta["row"], strict=False)
        else:
            row = Row.model_validate_json(record.raw)
        return [_event(record, row, context)]
    except (ValidationError, KeyError, ValueError, OverflowError, ConfigError) as error:
        raise PoisonError(f"row {record.native_id[:80]!r}: {str(error)[:300]}") from error


def _event(record: Record, row: Row, context: Context) -> Event:
    is_gone = record.op == "delete"
    text = _plain(row.text)
    due = _end(row.due, context.zone)
    starts, ends = _begin(row.starts, context.zone), _begin(row.ends, context.zone)
    occurred = _begin(row.occurred, context.zone) or record.fetched_at
    return Event(
        id=event_id(record.account, row.kind, record.native_id, record.version),
        owner=record.owner,
        account=record.account,
        source=record.source,
        kind=row.kind,
        op="retract" if is_gone else "upsert",
        subject=f"{row.system}:{record.native_id}",
        record=record.id,
        version=record.version,
        occurred_at=min(occurred, record.fetched_at),
        observed_at=record.fetched_at,
        title=row.title or f"{row.stream} {row.id}"[:500],
        parties=_parties(row),
        amount=row.amount,
        due_at=due,
        starts_at=starts,
        ends_at=ends,
        wall_start=row.starts.text if row.starts else None,
        wall_end=row.ends.text if row.ends else None,
        zone=row.starts.zone if row.starts else None,
        all_day=bool(row.starts and _is_day(row.starts)),
        text=text,
        facts=() if is_gone else tuple(_facts(row, due, text, occurred, context.zone)),
        matter=_matter(record, row),
        trust="service" if row.trust == "service" else "outside",
        payload=RowPayload(stream=row.stream, fields=row.fields, url=row.url, status=row.status),
    )


def _facts(row: Row, due: datetime | None, text: str, occurred: datetime, owner: ZoneInfo) -> Iterator[Fact]:
    """The typed fields first; then what the words say."""
    if due is not None and row.due is not None and not row.outcome:
        at = None if _is_day(row.due) else due
        yield DueFact(
            origin="field", certainty=1, on=due.astimezone(_zone(row.due, owner)).date(), at=at, what=row.due_what
        )
    if row.matter is not None and row.matter.invoice:
        yield InvoiceFact(
            origin="field",
            certainty=1,
            number=row.matter.invoice,
            amount=None if row.amount is None else -row.amount if row.amount.amount < 0 else row.amount,
            due=None if due is None or row.due is None else due.astimezone(_zone(row.due, owner)).date(),
            issuer=row.matter.issuer or (row.party.name[:200] if row.party else "") or None,
            paid=row.outcome == "paid",
        )
    if row.outcome:
        number = row.matter.invoice if row.matter else ""
        yield ResolutionFact.model_validate(
            {"origin": "field", "certainty": 1, "outcome": row.outcome, "number": number or None}
        )
    elif text:
        yield from extract(text, TextContext(occurred.astimezone(owner).date(), owner), part="text")


def _matter(record: Record, row: Row) -> str:
    found = row.matter or RowMatter()
    if found.invoice:
        return matter.invoice(found.invoice, domain=found.domain, issuer=found.issuer)
    return f"{row.system}:{found.key}" if found.key else f"{row.system}:{record.native_id}"


def _parties(row: Row) -> tuple[Party, ...]:
    if row.party is None:
        return ()
    address = row.party.address.strip()
    is_mail = "@" in address
    address = address.lower() if is_mail else address.replace(" ", "")
    domain = address.rpartition("@")[2][:255] if is_mail else ""
    return (Party(role=row.party.role, name=row.party.name, address=address, domain=domain),)


def _plain(text: str) -> str:
    """Business systems put HTML into descriptions as often as text."""
    return cut(clean(html.read(text).text if _HTML.search(text) else text), TEXT_CAP)[0]


def _is_day(moment: Moment) -> bool:
    return len(moment.text) == 10


def _zone(moment: Moment, owner: ZoneInfo) -> ZoneInfo:
    """A bare day, and a wall time that names no zone, are the owner's, unless the definition says otherwise."""
    return zone_of(moment.zone) if moment.zone else owner


def _begin(moment: Moment | None, owner: ZoneInfo) -> datetime | None:
    if moment is None:
        return None
    zone = _zone(moment, owner)
    if _is_day(moment):
        return start_of_day(date.fromisoformat(moment.text), zone)
    found = datetime.fromisoformat(moment.text)
    return found if found.tzinfo else found.replace(tzinfo=zone)


def _end(moment: Moment | None, owner: ZoneInfo) -> datetime | None:
    """A due day lasts until its end: the last second, so that the day of the instant is that day."""
    if moment is None or not _is_day(moment):
        return _begin(moment, owner)
    return end_of_day(date.fromisoformat(moment.text), _zone(moment, owner)) - timedelta(seconds=1)
