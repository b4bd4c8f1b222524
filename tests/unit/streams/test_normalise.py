import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from extractors.connector import Context
from schemas import ids
from schemas.clock import ManualClock
from schemas.deadletter import DeadLetter
from schemas.errors import PoisonError, TooManyDeadLetters
from schemas.event import Event
from schemas.record import Record
from streams import topics
from streams.codec import decode, encode
from streams.deadletter import DeadLetterLimit
from streams.normalise import NormaliseAgent
from streams.testing import batch_of
from streams.work import Entry, Result

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def record(name: str, source: str = "scripted") -> bytes:
    made = Record(
        id=ids.record_id("a", name, "1"), account="a", owner="me", source=source, native_id=name, version="1",
        fetched_at=NOW, raw=name.encode(),
    )  # fmt: skip
    return encode(made)


def event(record: Record, context: Context) -> Event:
    return Event(
        id=ids.event_id("a", "mail.received", record.native_id, "1"), owner=context.owner, account=context.account,
        source=record.source, kind="mail.received", subject=record.native_id, version="1", occurred_at=NOW,
        observed_at=record.fetched_at,
    )  # fmt: skip


class Scripted:
    """A connector whose normalise does what it is told for a native id."""

    def __init__(self, odd: dict[str, Callable[[], Any]]) -> None:
        self._odd = odd

    def normalise(self, record: Record, context: Context) -> Sequence[Event]:
        if record.native_id in self._odd:
            self._odd[record.native_id]()
        return [event(record, context)]


def handle(values: list[bytes], odd: dict[str, Callable[[], Any]], limit: DeadLetterLimit | None = None) -> Result:
    connectors: Any = {"scripted": Scripted(odd)}
    agent = NormaliseAgent(connectors, ZoneInfo("UTC"), ManualClock(NOW), limit or DeadLetterLimit())
    entries = [Entry(topics.RECORDS, 0, n, b"a", value) for n, value in enumerate(values)]
    return asyncio.run(agent.handle(batch_of(entries)))


def raising(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def test_an_event_names_the_record_that_it_was_made_from() -> None:
    (output,) = handle([record("m1")], {}).outputs
    made = decode(Event, output.value or b"")
    assert made.record == ids.record_id("a", "m1", "1")
    assert output.key == b"me"


@pytest.mark.parametrize(
    ("value", "error", "code"),
    [
        (record("bad"), PoisonError("nested too deep", code="too_deep"), "too_deep"),
        (record("bad"), RecursionError("a parser of ours"), "bug"),
        (record("bad", "unknown"), None, "unknown_source"),
        (b"{not json", None, "malformed"),
    ],
)
def test_what_can_never_work_is_a_dead_letter_and_the_rest_goes_on(
    value: bytes, error: Exception | None, code: str
) -> None:
    odd = {"bad": raising(error)} if error else {}
    result = handle([record("m1"), value, record("m2")], odd)
    assert [output.topic for output in result.outputs] == [topics.EVENTS, topics.DEAD, topics.EVENTS]
    assert decode(DeadLetter, result.outputs[1].value or b"").code == code


def test_the_same_refusal_is_the_same_dead_letter() -> None:
    first, again = (handle([b"{not json"], {}).outputs[0].value for _ in range(2))
    assert first == again


def test_when_nearly_everything_is_refused_the_pipeline_stops() -> None:
    with pytest.raises(TooManyDeadLetters):
        handle([b"{"] * 50, {}, DeadLetterLimit(ratio=0.5, window=100, at_least=20))
