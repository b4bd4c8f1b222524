"""Shorthand: the short form in which examples of rules write events, and the events that it means."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import TypeAdapter, ValidationError

from rules.fields import PAYLOADS, ROLES, family
from schemas import clock
from schemas.event import KINDS, Event, Party
from schemas.fact import MAIN, Fact
from schemas.model import Json
from schemas.money import Money, decimal
from schemas.suggest import did_you_mean

BASE_DAY = date(2026, 3, 2)
"""A Monday, four weeks before European clocks change; times of examples count from 10:00 of this day."""
BASE_TIME = time(10)

_OFFSET = re.compile(r"([+-]?)(\d{1,4})([wdhm])(?: (\d{1,2}):(\d{2}))?")
_ABSOLUTE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[ T](\d{1,2}):(\d{2}))?")
_UNITS = {"w": timedelta(weeks=1), "d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}
_FARTHEST = timedelta(days=36_525)
_FACT: TypeAdapter[Fact] = TypeAdapter(Fact)
_TRUST = {"mail": "outside", "record": "service"}
_KEYS = (
    "at", "kind", "op", "account", "subject", "version", "title", "text", "amount", "starts", "ends", "all_day", "due",
    "matter", "trust", "facts", "payload", "repeat", "occurred", *ROLES,
)  # fmt: skip


class ExampleError(Exception):
    """An example that cannot be read; the text says which part of it."""


def events(short: Mapping[str, Json], number: int, owner: str, zone: ZoneInfo) -> Iterator[Event]:
    """The events that one entry of an example means: one, or several with ``repeat``."""
    for key in short:
        if key not in _KEYS:
            raise ExampleError(f"unknown key {key!r}; {did_you_mean(key, _KEYS)}")
    kind = str(short.get("kind", ""))
    if kind not in KINDS and not kind.startswith("record."):
        raise ExampleError(f"unknown kind {kind!r}; {did_you_mean(kind, KINDS)}")
    times, every = _repeat(short.get("repeat"))
    for turn in range(times):
        yield _event(short, kind, f"{number}-{turn}" if times > 1 else f"{number}", turn, every, owner, zone)


def _event(short: Mapping[str, Json], kind: str, name: str, turn: int, every: str, owner: str, zone: ZoneInfo) -> Event:
    at = _later(instant(str(short.get("at", "0d")), zone), turn, every, zone)
    tag = family(kind)
    subject = str(short.get("subject", f"subject-{name}"))
    given: dict[str, Any] = {
        "id": f"example-{name}-{short.get('version', '')}",
        "owner": owner,
        "account": str(short.get("account", tag)),
        "source": "example",
        "kind": kind,
        "op": short.get("op", "retract" if kind.endswith((".cancelled", ".removed")) else "upsert"),
        "subject": subject,
        "version": str(short.get("version", name)),
        "occurred_at": instant(str(short["occurred"]), zone) if "occurred" in short else at,
        "observed_at": at,
        "title": short.get("title", ""),
        "text": short.get("text", ""),
        "all_day": short.get("all_day", False),
        "matter": short.get("matter"),
        "trust": short.get("trust", "self" if kind == "mail.sent" else _TRUST.get(tag, "service")),
        "amount": _amount(short.get("amount"), turn),
        "parties": [_party(role, str(short[role])) for role in ROLES if role in short],
        "facts": [_fact(kind_, value, zone) for kind_, value in _mapping(short.get("facts")).items()],
        "payload": _payload(tag, subject, _mapping(short.get("payload")), at, zone),
    }
    for short_name, long_name in (("starts", "starts_at"), ("ends", "ends_at"), ("due", "due_at")):
        if short_name in short:
            given[long_name] = _later(instant(str(short[short_name]), zone), turn, every, zone)
    try:
        return Event.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ExampleError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


# --- parts ---------------------------------------------------------------------------------------------------------


def instant(text: str, zone: ZoneInfo) -> datetime:
    """``+3d``, ``+3d 09:30``, ``-2h``, ``2026-03-15``, ``2026-03-15 18:00``; days are local days."""
    try:
        return _plausible(_instant(text, zone), text)
    except (ValueError, OverflowError) as error:
        raise ExampleError(f"there is no such time: {text!r}") from error


def _plausible(at: datetime, text: str) -> datetime:
    if not clock.is_plausible(at):
        raise ExampleError(f"too far away: {text!r}; write a time from {clock.FIRST_YEAR} to {clock.LAST_YEAR}")
    return at


def _instant(text: str, zone: ZoneInfo) -> datetime:
    base = clock.at_local(BASE_DAY, BASE_TIME, zone)
    if found := _ABSOLUTE.fullmatch(text):
        return clock.at_local(date.fromisoformat(found[1]), _wall(found[2], found[3]), zone)
    if not (found := _OFFSET.fullmatch(text)):
        raise ExampleError(f"not a time: {text!r}; write such as '+3d', '+3d 09:30', '-2h' or '2026-03-15'")
    shift = int(found[2]) * _UNITS[found[3]] * (-1 if found[1] == "-" else 1)
    if found[3] in "hm":
        return base + shift
    return clock.at_local(BASE_DAY + shift, _wall(found[4], found[5]), zone)


def _wall(hour: str | None, minute: str | None) -> time:
    return time(int(hour), int(minute or 0)) if hour is not None else BASE_TIME


def _later(at: datetime, turn: int, every: str, zone: ZoneInfo) -> datetime:
    if turn == 0:
        return at
    local = at.astimezone(zone)
    if every != "month":
        found = _OFFSET.fullmatch(every)
        if not found:
            raise ExampleError(f"repeat.every: {every!r}; write 'month' or such as '7d'")
        apart = turn * int(found[2]) * _UNITS[found[3]]
        if apart > _FARTHEST:
            raise ExampleError(f"repeat.every: {every!r}; too far apart")
        return _plausible((local + apart).astimezone(UTC), every)
    year, month = divmod(local.year * 12 + local.month - 1 + turn, 12)
    day = min(local.day, monthrange(year, month + 1)[1])
    return local.replace(year=year, month=month + 1, day=day).astimezone(UTC)


def _repeat(value: Json) -> tuple[int, str]:
    if value is None:
        return 1, "month"
    repeat = _mapping(value)
    times = repeat.get("times")
    if not isinstance(times, int) or not 1 <= times <= 60:
        raise ExampleError("repeat.times must be 1 to 60")
    return times, str(repeat.get("every", "month"))


def _mapping(value: Json) -> dict[str, Json]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ExampleError(f"a mapping is needed, not {value!r}")
    return value


def _amount(value: Json, turn: int) -> Money | None:
    """``-49.90 EUR``; a list of them is taken in turn."""
    if isinstance(value, list) and value:
        value = value[turn % len(value)]
    return money(str(value)) if value is not None else None


def money(text: str) -> Money:
    number, _, currency = text.partition(" ")
    try:
        return Money.of(decimal(number), currency)
    except (ValueError, ValidationError) as error:
        raise ExampleError(f"not an amount: {text!r}; write such as '-49.90 EUR'") from error


def _party(role: str, text: str) -> Party:
    """``Name <address>``, an address, or a name."""
    name, _, rest = text.partition("<")
    address = rest.rstrip("> ").lower() if rest else text if "@" in text else ""
    shown = name.strip() if rest or not address else ""
    return Party(role=role, name=shown, address=address, domain=address.rpartition("@")[2] if "@" in address else "")


def _fact(kind: str, value: Json, zone: ZoneInfo) -> Fact:
    """``due: +10d`` gives the main value; a mapping gives the fields. Days, instants and amounts as elsewhere."""
    if kind not in MAIN:
        raise ExampleError(f"unknown kind of fact {kind!r}; {did_you_mean(kind, MAIN)}")
    fields = value if isinstance(value, dict) else {} if value is True or value is None else {MAIN[kind]: value}
    given: dict[str, Any] = {"kind": kind, "origin": "text", "certainty": 0.9}
    given |= {name: _fact_value(name, item, zone) for name, item in fields.items()}
    try:
        return _FACT.validate_python(given)
    except ValidationError as error:
        first = error.errors()[0]
        raise ExampleError(f"fact {kind}: {'.'.join(map(str, first['loc'][1:]))}: {first['msg']}") from error


def _fact_value(name: str, value: Json, zone: ZoneInfo) -> Any:
    if not isinstance(value, str):
        return value
    if name in ("amount", "old", "new"):
        return money(value)
    if name in ("on", "due", "by", "notice_by"):
        return clock.local_day(instant(value, zone), zone)
    return instant(value, zone) if name in ("at", "starts_at", "ends_at") else value


def _payload(tag: str, subject: str, given: dict[str, Json], at: datetime, zone: ZoneInfo) -> dict[str, Any] | None:
    if tag not in PAYLOADS:
        return None
    needed: dict[str, Any] = {"type": tag}
    day = clock.local_day(at, zone)
    match tag:
        case "calendar":
            needed["uid"] = subject
        case "balance":
            needed["as_of"] = day
        case "record":
            needed["stream"] = "example"
        case "run":
            needed |= {"proposal": "proposal", "run": "run", "status": "done"}
        case "rules":
            needed |= {"digest": "digest"}
        case "service":
            needed["code"] = "canary"
        case "matter":
            needed |= {"first_event": "one", "second_event": "two", "first": "one", "second": "two"}
        case "clock":
            needed |= {"day": day, "zone": zone.key}
    return needed | {name: _payload_value(name, value, zone) for name, value in given.items()}


def _payload_value(name: str, value: Json, zone: ZoneInfo) -> Any:
    is_short = isinstance(value, str) and bool(_ABSOLUTE.fullmatch(value) or _OFFSET.fullmatch(value))
    return instant(str(value), zone) if is_short and name in ("previous_start", "last_event_at") else value
