"""From a document of the log to a row of history: typed columns that DuckDB is sure to read, and where the row belongs.

A value that its column cannot hold (an amount of 30 digits, a wall time that is no date) becomes NULL there and stays
complete in ``payload``: one odd value must never make a whole row unreadable.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
from pydantic import BaseModel

from forewatch.storage import schema
from forewatch.storage.schema import Stream
from schemas.errors import PoisonError

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """``identity`` is what makes it the same row again; ``folder`` is its place below ``cold/``, in any part's name."""

    stream: str
    identity: str
    folder: str
    columns: dict[str, Any]


def row(topic: str, document: BaseModel | Document) -> Row:
    """Pure. PoisonError for a document that has no id, no time or no usable account."""
    stream = schema.BY_TOPIC[topic]
    content = document.model_dump(mode="json") if isinstance(document, BaseModel) else document
    try:
        columns = _COLUMNS[stream.name](content)
        happened = datetime.fromisoformat(columns[stream.order])
        identity = f"{stream.name} {content['id']} {content.get('hash', '')}"
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        name = f"{topic} {content.get('id', 'without an id')}"
        raise PoisonError(f"history cannot keep {name}: {type(error).__name__} {error}", code="malformed") from error
    return Row(stream.name, identity, _folder(stream, columns, happened), columns)


def _folder(stream: Stream, columns: Document, happened: datetime) -> str:
    account = stream.folder or columns["account"]
    if not stream.folder and not schema.ACCOUNT.fullmatch(account):
        raise PoisonError(f"history cannot keep event {columns['id']}: {account!r} is no account id", code="malformed")
    return f"{account}/{happened.year:04d}-{happened.month:02d}"


def _event(event: Document) -> dict[str, Any]:
    payload, amount = event.get("payload") or {}, event.get("amount") or {}
    parties: Sequence[Document] = event.get("parties") or ()
    party = parties[0] if parties else {}
    return {
        **_copied(event, "id", "owner", "account", "source", "kind", "op", "subject", "record", "version"),
        "occurred_at": _instant(event["occurred_at"]),
        "observed_at": _instant(event["observed_at"]),
        **_copied(event, "title", "text", "matter", "trust", "wall_start", "wall_end", "zone", "all_day"),
        **{f"party_{name}": party.get(name) or None for name in ("name", "address", "domain")},
        "amount": _amount(amount.get("amount")),
        "currency": amount.get("currency"),
        **{name: _instant(event.get(name)) for name in ("due_at", "starts_at", "ends_at")},
        **_days(event),
        **_copied(payload, "thread", "message_id", "uid", "status", "merchant", "row_key"),
        "booked_on": _day(payload.get("booked_on")),
        **{name: event.get(name) or None for name in ("parties", "facts", "payload")},
    }


def _days(event: Document) -> dict[str, Any]:
    """First and last local day by the source's own wall clock, so no session time zone can move an all-day entry."""
    starts, ends = _day(event.get("wall_start")), _day(event.get("wall_end"))
    if starts and ends and event.get("all_day"):  # the end is exclusive
        ends = max(starts, (date.fromisoformat(ends) - timedelta(days=1)).isoformat())
    return {"starts_on": starts, "ends_on": ends or starts}


def _signal(signal: Document) -> dict[str, Any]:
    explanation = signal.get("explanation") or {}
    return {
        **_copied(signal, "type", "id", "owner", "rule", "revision", "key", "occurrence", "matter", "trigger"),
        "happened_at": _instant(signal.get("fired_at") or signal["at"]),
        **_copied(signal, "title", "goal", "urgency", "certainty", "playbook", "late", "says"),
        **_merge(signal),
        "deadline_at": _instant(signal.get("deadline_at")),
        "expires_at": _instant(signal.get("expires_at")),
        "reason": signal.get("reason") or explanation.get("reason"),
        "evidence": signal.get("evidence") or [{"event": event} for event in signal.get("events") or ()] or None,
        "typed_values": signal.get("values") or None,
        "explanation": explanation or None,
    }


def _merge(signal: Document) -> dict[str, Any]:
    """Of matters that met or parted: the one that came or left as ``key``, the score as ``certainty``."""
    if signal["type"] != "merge":
        return {}
    return {"key": signal["other"], "certainty": signal["score"]}


def _entry(entry: Document) -> dict[str, Any]:
    return {
        **_copied(entry, "id", "owner", "epoch", "type", "actor", "cause", "prev_hash", "hash"),
        "proposal": entry["stream"],
        "number": entry["seq"],
        "happened_at": _instant(entry["at"]),
        "body": entry.get("body") or None,
    }


def _dead(letter: Document) -> dict[str, Any]:
    return {
        **_copied(letter, "id", "topic", "key", "code", "reason", "account"),
        "happened_at": _instant(letter["at"]),
        "raw": letter.get("payload") or None,
        "meta": letter.get("meta") or None,
    }


_COLUMNS = {
    schema.EVENTS.name: _event,
    schema.SIGNALS.name: _signal,
    schema.JOURNAL.name: _entry,
    schema.DEAD.name: _dead,
}


def _copied(content: Document, *names: str) -> dict[str, Any]:
    return {name: content.get(name) for name in names}


def _instant(text: str | None) -> str | None:
    if not text:
        return None
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} names no time zone")
    return instant.astimezone(UTC).isoformat()


def _day(text: str | None) -> str | None:
    try:
        return date.fromisoformat(text[:10]).isoformat() if text else None
    except ValueError:
        return None


_PLACES = Decimal("0.0001")
_LIMIT = Decimal(10) ** 14  # DECIMAL(18,4) holds 14 digits before the point


def _amount(text: str | None) -> str | None:
    try:
        amount = Decimal(text or "NaN").quantize(_PLACES)
        return format(amount, "f") if abs(amount) < _LIMIT else None
    except InvalidOperation:
        return None


def line(item: Row, seq: int, batch: int) -> bytes:
    """The row as one line of a hot segment. The same row at the same place always gives the same bytes."""
    head = {"seq": seq, "batch": batch, "stream": item.stream, "folder": item.folder}
    content = head | {name: value for name, value in item.columns.items() if value is not None}
    try:
        return msgspec.json.encode(content) + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair, from a broken source: DuckDB would refuse the line
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"
