"""The stand-in for Microsoft Graph is held against the types that Microsoft publishes, and would be caught lying."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from extractors.testing.standin import Asked, Reply
from tests.peers.graph import graph_schema
from tests.peers.process import provided
from tests.standins.graph import FakeGraph, letter, meeting, violations

NOW = datetime(2026, 3, 10, 8, tzinfo=UTC)


@contextmanager
def published(_: Path) -> Iterator[dict[str, Any]]:
    yield graph_schema()


@pytest.fixture(autouse=True)
def _schema(tmp_path: Path) -> Iterator[dict[str, Any]]:
    yield from provided(published, tmp_path)


def asked(path: str, **query: str) -> Asked:
    headers = {"authorization": "Bearer good", "prefer": 'IdType="ImmutableId", outlook.timezone="UTC"'}
    return Asked("GET", path, {name.replace("_", "$", 1): value for name, value in query.items()}, headers, b"")


@pytest.mark.parametrize(
    ("name", "document"),
    [
        ("Message", {"isRead": "yes"}),
        ("Message", {"is_read": True}),
        ("Message", {"flag": {"flagStatus": "raised"}}),
        ("Event", {"showAs": "Free"}),
        ("Event", {"start": "2026-03-10T08:00:00Z"}),
        ("Event", {"responseStatus": {"response": "needs-action"}}),
        ("MailFolder", {"totalItemCount": "7"}),
        ("Calendar", {"canEdit": "no"}),
        ("", {"value": []}),
    ],
)
def test_a_wrong_shape_is_caught(name: str, document: dict[str, Any]) -> None:
    assert violations(name, document)


def test_the_stand_ins_own_answers_pass() -> None:
    graph = FakeGraph()
    graph.deliver(letter(1), NOW)
    graph.calendar("c", "Kalender")
    graph.put_event("c", meeting("e", "Dentist", NOW))
    window = {"startDateTime": "2026-01-01T00:00:00Z", "endDateTime": "2027-01-01T00:00:00Z"}
    for path, query in (
        ("/v1.0/me/mailFolders", {}),
        ("/v1.0/me/mailFolders/folder-inbox==/messages/delta", {}),
        ("/v1.0/me/calendars", {}),
        ("/v1.0/me/calendars/c/calendarView", window),
        ("/v1.0/me/calendars/c/calendarView/delta", window),
    ):
        question = asked(path, **query)
        reply = graph.answer(question)
        assert (reply.status, graph.check(question, reply)) == (200, []), path


def test_a_question_for_what_the_type_has_not_is_caught() -> None:
    graph = FakeGraph()
    question = asked("/v1.0/me/mailFolders", _select="id,wellKnownName")
    assert "wellKnownName" in graph.check(question, Reply.of({"@odata.context": "$metadata", "value": []}))[0]
