"""What becomes of a document on its way into history's typed columns."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forewatch.storage import schema, views
from forewatch.storage.rows import line, row
from forewatch.storage.testing import event
from schemas.deadletter import DeadLetter
from schemas.errors import PoisonError
from schemas.event import Event
from schemas.journal import JournalEntry
from schemas.model import Model
from schemas.testing import models
from schemas.trigger import Retraction, Suppression, Trigger
from streams import topics


def column(name: str, **changes: object) -> object:
    return row(topics.EVENTS, event(1, **changes)).columns[name]


def test_an_amount_keeps_its_sign_and_four_places() -> None:
    assert column("amount", amount={"amount": "-82.5", "currency": "EUR"}) == "-82.5000"


@pytest.mark.parametrize("amount", ["100000000000000", "-123456789012345678.5", "1e30", "NaN", "12,50"])
def test_an_amount_that_no_column_holds_becomes_null(amount: str) -> None:
    assert column("amount", amount={"amount": amount, "currency": "EUR"}) is None


def test_a_mail_is_filed_under_its_account_and_the_month_it_happened_in() -> None:
    filed = row(topics.EVENTS, event(1, account="work", occurred_at="2026-03-01T00:30:00+02:00"))
    assert filed.folder == "work/2026-02"  # by UTC, so that it never depends on a setting


@pytest.mark.parametrize(
    ("starts", "ends", "days"),
    [
        ("2026-03-29", "2026-03-30", ("2026-03-29", "2026-03-29")),
        ("2026-03-29", "2026-04-02", ("2026-03-29", "2026-04-01")),
        ("2026-03-29", "2026-03-29", ("2026-03-29", "2026-03-29")),
        ("2026-03-29", None, ("2026-03-29", "2026-03-29")),
    ],
)
def test_all_day_entries_have_their_first_and_last_day(starts: str, ends: str | None, days: tuple[str, str]) -> None:
    columns = row(topics.EVENTS, event(1, all_day=True, wall_start=starts, wall_end=ends)).columns
    assert (columns["starts_on"], columns["ends_on"]) == days


def test_a_timed_entry_has_the_days_of_its_own_wall_clock() -> None:
    columns = row(topics.EVENTS, event(1, wall_start="2026-03-29T23:00:00", wall_end="2026-03-30T01:00:00")).columns
    assert (columns["starts_on"], columns["ends_on"]) == ("2026-03-29", "2026-03-30")


def test_a_wall_time_that_is_no_date_becomes_null() -> None:
    assert column("starts_on", wall_start="every other Friday") is None


@pytest.mark.parametrize(
    "changes",
    [
        {"account": "../../etc"},
        {"account": "_journal"},
        {"occurred_at": "yesterday"},
        {"occurred_at": "2026-01-01T00:00:00"},
        {"occurred_at": None},
    ],
)
def test_what_has_no_place_in_history_is_refused_by_name(changes: dict[str, object]) -> None:
    with pytest.raises(PoisonError, match=r"event-1|event event-1"):
        row(topics.EVENTS, event(1, **changes))


def test_half_a_surrogate_pair_still_makes_a_line_that_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_bytes(line(row(topics.EVENTS, event(1, title="odd \ud800 title")), 1, 1))
    assert read_back(tmp_path / "one.jsonl", "title") == [("odd ? title",)]


def test_two_entries_at_one_place_of_the_journal_are_two_rows() -> None:
    """A fenced writer and its successor make entries of one id; the audit must show both."""
    entry = {
        "id": "e",
        "owner": "me",
        "stream": "p",
        "seq": 1,
        "epoch": 1,
        "type": "note",
        "at": "2026-01-01T00:00:00Z",
    }
    first, second = (row(topics.JOURNAL, entry | {"hash": content}) for content in ("aa", "bb"))
    assert first.identity != second.identity


def read_back(path: Path, columns: str) -> list[tuple[object, ...]]:
    """As a reader would: from the hot table that every reader makes."""
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        db.execute("CREATE SCHEMA raw")
        for statement in views.hot_table([path]):
            db.execute(statement)
        return db.execute(f"SELECT {columns} FROM raw.hot ORDER BY seq").fetchall()


MODELS: list[tuple[str, type[Model]]] = [
    (topics.EVENTS, Event),
    (topics.TRIGGERS, Trigger),
    (topics.TRIGGERS, Retraction),
    (topics.TRIGGERS, Suppression),
    (topics.JOURNAL, JournalEntry),
    (topics.DEAD, DeadLetter),
]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize(("topic", "model"), MODELS, ids=lambda value: getattr(value, "__name__", value))
def test_whatever_the_schemas_allow_is_read_back_by_duckdb(
    topic: str, model: type[Model], data: st.DataObject, tmp_path: Path
) -> None:
    documents = data.draw(st.lists(models(model), min_size=1, max_size=5))
    if model is Event:
        documents = [d.model_copy(update={"account": "work"}) for d in documents]
    path = tmp_path / "hot.jsonl"
    rows = [row(topic, document) for document in documents]
    path.write_bytes(b"".join(line(item, seq, len(rows)) for seq, item in enumerate(rows, 1)))
    stream = schema.BY_TOPIC[topic]
    found = read_back(path, f"stream, id, {stream.order}")
    assert [(name, identity) for name, identity, _ in found] == [(stream.name, d.id) for d in documents]
    assert [at for _, _, at in found] == [datetime.fromisoformat(r.columns[stream.order]) for r in rows]


def test_typed_columns_come_back_with_their_types(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    made = event(1, amount={"amount": "-8.95", "currency": "EUR"}, occurred_at="2026-03-29T01:30:00+00:00")
    path.write_bytes(line(row(topics.EVENTS, made), 1, 1))
    assert read_back(path, "amount, occurred_at, payload->>'$.message_id'") == [
        (Decimal("-8.9500"), datetime(2026, 3, 29, 1, 30, tzinfo=UTC), "<1@example.org>")
    ]
