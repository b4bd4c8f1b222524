"""Whatever an answer of Microsoft Graph or a JMAP server holds ends as something or is refused; nothing crashes."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import httpx
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.calendar.moment import Zone
from extractors.graph_calendar.calendars import Calendar
from extractors.graph_calendar.event import SELECT, occurrence_of
from extractors.graph_mail.folders import Folder
from extractors.graph_mail.look import Look, _Folder
from extractors.graph_mail.memory import Memory
from extractors.http import Answer
from extractors.jmap.emails import PROPERTIES, Emails
from extractors.jmap.mailboxes import read_mailboxes
from extractors.jmap.session import CORE, MAIL, read_session
from extractors.testing import context_for
from schemas.errors import AuthError, PoisonError, TransientError
from schemas.record import Record
from tests.standins.graph import meeting

BERLIN = Zone("Europe/Berlin", ZoneInfo("Europe/Berlin"))
CHARACTERS = st.characters(codec=None)  # lone surrogates too: JSON can hold them
TEXTS = st.text(CHARACTERS, max_size=20) | st.sampled_from(
    ["2026-03-10T00:00:00.0000000", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.9999999Z", "tzone://Microsoft/Custom"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
MEETING = meeting("a", "Dentist", datetime(2026, 3, 10, 8, tzinfo=UTC))
INNER = st.dictionaries(st.sampled_from(["dateTime", "timeZone", "response", "emailAddress", "content"]), VALUES)


def objects(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(names), VALUES | INNER, max_size=6)


@settings(max_examples=300, deadline=None)
@given(objects(SELECT.split(",")))
def test_an_event_of_any_shape_is_an_occurrence_or_poison(changes: dict[str, Any]) -> None:
    with suppress(PoisonError):
        found = occurrence_of({**MEETING, **changes}, Calendar("c", "Kalender", True), frozenset(), BERLIN)
        assert found.model_validate_json(found.model_dump_json()) == found
        first, last = found.instants(context_for().zone)
        assert first <= last


@settings(max_examples=200, deadline=None)
@given(st.lists(objects(["id", "receivedDateTime", "isRead", "isDraft", "flag", "@removed"]), max_size=3))
def test_a_mail_of_any_shape_is_seen_or_passed_over(items: list[dict[str, Any]]) -> None:
    memory, found = Memory(), Look()
    folder = _Folder(None, Folder("f", "Inbox", "inbox", 1), memory, found)  # type: ignore[arg-type]  # not asked
    for item in items:
        folder._read(item, memory.place("f"), set())
    for sighting in found.shown.values():
        stored(sighting.folder, list(sighting.flags))


@settings(max_examples=200, deadline=None)
@given(st.lists(objects(list(PROPERTIES)), max_size=3) | VALUES, st.lists(objects(["id", "name", "role", "parentId"])))
def test_emails_and_mailboxes_of_any_shape_are_read_or_refused(emails: Any, boxes: list[dict[str, Any]]) -> None:
    inbox = {"id": "in", "name": "Inbox", "role": "inbox"}
    shown = Emails(read_mailboxes([inbox, *boxes], ()))
    shown.show(emails)
    shown.show([{"id": "a", "blobId": "b", "mailboxIds": {"in": True}, "receivedAt": "never"}])
    for sighting in shown.shown.values():
        stored(sighting.folder, list(sighting.flags))


@settings(max_examples=200, deadline=None)
@given(objects(["capabilities", "accounts", "primaryAccounts", "apiUrl", "downloadUrl"]))
def test_a_session_of_any_shape_is_read_or_refused(changes: dict[str, Any]) -> None:

    session = {
        "capabilities": {CORE: {}, MAIL: {}},
        "accounts": {"u": {"name": "Nora"}},
        "primaryAccounts": {MAIL: "u"},
        "apiUrl": "/jmap/",
        "downloadUrl": "/d/{accountId}/{blobId}",
        **changes,
    }
    answer = Answer(200, httpx.Headers(), json.dumps(session).encode(), httpx.URL("https://mail.example.org/session"))
    with suppress(AuthError, TransientError):
        assert read_session(answer, "").blob("b").startswith("https://")


def stored(folder: str, flags: list[str]) -> None:
    """What a record could not hold would stop the account."""
    Record(
        id="r",
        account="a",
        owner="nora",
        source="test",
        native_id="n",
        version="1",
        fetched_at=datetime(2026, 3, 2, tzinfo=UTC),
        meta={"folder": folder, "flags": [*flags]},
    ).model_dump_json()
