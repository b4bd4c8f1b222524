"""The events and the hand-written matcher that the benchmarks of the carriers use."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec

from rules.index import Index
from rules.language import check_condition
from schemas.event import Event, Party
from schemas.money import Money
from schemas.payloads import BankPayload, CalendarPayload, MailPayload
from schemas.rule import Condition
from streams.codec import decode_event, encode

Matcher = Callable[[Sequence[bytes]], list[bytes]]
"""The values of a batch to the values that are to be written."""


def sample_events(count: int) -> list[bytes]:
    """Mails, bank rows and meetings as the log holds them, about 800 bytes each."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [encode(_event(n, start + timedelta(minutes=n))) for n in range(count)]


def _event(n: int, at: datetime) -> Event:
    common: dict[str, Any] = {
        "id": str(uuid.UUID(int=n)),
        "owner": "nora",
        "account": f"account-{n % 3}",
        "subject": f"thing-{n}",
        "version": "1",
        "occurred_at": at,
        "observed_at": at,
        "title": f"Invoice {n} of the water works" if n % 5 else f"Lunch {n}",
        "parties": (
            Party(
                role="from",
                name="Water Works",
                address=f"bill{n % 50}@water{n % 200}.example",
                domain=f"water{n % 200}.example",
            ),
        ),
        "matter": f"matter-{n % 400}",
    }
    if n % 20 < 10:
        payload: Any = BankPayload(native_id=str(n), merchant=f"merchant {n % 120}", counterparty="Water Works AG")
        amount = Money.of(f"-{n % 900}.{n % 100:02}", "EUR")
        return Event(**common, source="bankfile", kind="bank.posted", amount=amount, payload=payload)
    if n % 20 < 17:
        payload = MailPayload(message_id=f"<{n}@water.example>", thread=f"thread-{n % 700}", folder="INBOX")
        return Event(
            **common, source="maildir", kind="mail.received", text="Please pay by Friday. " * 8, payload=payload
        )
    payload = CalendarPayload(uid=f"meeting-{n}", location="Room 5")
    return Event(**common, source="ics", kind="calendar.scheduled", starts_at=at, ends_at=at, payload=payload)


def lambda_matcher(rules: int) -> Matcher:
    """What one writes by hand: decode to a dict, try a list of compiled lambdas on it, one by one."""
    sources = [_rule(n) for n in range(rules)]
    compiled = [eval(compile(f"lambda e: {source}", "rule", "eval")) for source in sources]
    decode = msgspec.json.Decoder().decode

    def match(values: Sequence[bytes]) -> list[bytes]:
        matches = []
        for value in values:
            event = decode(value)
            for number, rule in enumerate(compiled):
                if rule(event):
                    matches.append(b'{"rule":%d,"event":"%s"}' % (number, event["id"].encode()))
        return matches

    return match


def _rule(n: int) -> str:
    if n % 3 == 0:
        return f"e['kind'] == 'bank.posted' and e['payload']['merchant'] == 'merchant {n}'"
    if n % 3 == 1:
        return f"e['kind'] == 'mail.received' and e['parties'][0]['address'].endswith('@water{n}.example')"
    return f"e['kind'] == 'bank.posted' and float(e['amount']['amount']) < -{899 - n % 3}"


def index_matcher(rules: int) -> Matcher:
    """The same rules in our engine's index, on events that were decoded and fully checked."""
    zone = ZoneInfo("UTC")
    index = Index(enumerate(check_condition(_condition(n), zone) for n in range(rules)), zone)

    def match(values: Sequence[bytes]) -> list[bytes]:
        matches = []
        for value in values:
            event = decode_event(value)
            matches += [b'{"rule":%d,"event":"%s"}' % (number, event.id.encode()) for number in index.match(event)]
        return matches

    return match


def _condition(n: int) -> Condition:
    if n % 3 == 0:
        return Condition.model_validate({"kind": "bank.posted", "match": {"payload.merchant": f"merchant {n}"}})
    if n % 3 == 1:
        return Condition.model_validate({"kind": "mail.received", "match": {"party.domain": f"water{n}.example"}})
    return Condition.model_validate({"kind": "bank.posted", "match": {"amount": {"below": -(899 - n % 3)}}})
