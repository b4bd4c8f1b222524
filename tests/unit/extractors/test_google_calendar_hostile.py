"""Whatever Google Calendar answers, a poll ends with entries, rejections or an error of ours, and withdraws nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extractors.connector import Page
from extractors.google_calendar import GoogleCalendarConnector
from extractors.google_calendar.config import GoogleCalendarConfig
from extractors.http import Answer
from extractors.testing import context_for
from schemas.errors import AuthError, TransientError
from schemas.model import Json

CONNECTOR = GoogleCalendarConnector(calls_per_s=10_000)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
EVENT: Mapping[str, Any] = {
    "id": "choir",
    "iCalUID": "choir@google.com",
    "status": "confirmed",
    "summary": "Choir",
    "start": {"dateTime": "2026-03-10T09:00:00+01:00", "timeZone": "Europe/Berlin"},
    "end": {"dateTime": "2026-03-10T10:00:00+01:00", "timeZone": "Europe/Berlin"},
    "recurrence": ["RRULE:FREQ=DAILY;COUNT=3"],
    "attendees": [{"email": "nora@example.org", "self": True, "responseStatus": "accepted"}],
    "organizer": {"email": "boss@example.com"},
    "originalStartTime": None,
    "sequence": 3,
    "updated": "2026-03-01T00:00:00Z",
}
OTHER = {"id": "other", "status": "confirmed", "start": {"date": "2026-03-29"}}
CALENDAR = {"id": "nora@example.org", "accessRole": "owner", "primary": True, "timeZone": "Europe/Berlin"}
GOOD: Mapping[str, Any] = {
    "calendarList": {"items": [CALENDAR]},
    "events": {"items": [EVENT, OTHER], "nextSyncToken": "t"},
    "choir": EVENT,
    "other": OTHER,
    "nora%40example.org": CALENDAR,
}


def spoiled(good: Any) -> st.SearchStrategy[Any]:
    """The same, with one field of it, at any depth, turned into something else or left out."""
    if isinstance(good, list):
        return JUNK | st.one_of(
            *(
                spoiled(each).map(lambda junk, at=at: [*good[:at], junk, *good[at + 1 :]])
                for at, each in enumerate(good)
            )
        )
    if not isinstance(good, Mapping):
        return JUNK
    return JUNK | st.one_of(
        *(spoiled(value).map(lambda junk, key=key: {**good, key: junk}) for key, value in good.items()),
        *(st.just({name: value for name, value in good.items() if name != key}) for key in good),
    )


SPOILED = {name: spoiled(GOOD[name]) for name in ("calendarList", "events")}


class Canned:
    """An Http that gives the same answer to the same question; with ``lost``, sync tokens are unknown."""

    def __init__(self, answers: Mapping[str, Any], *, lost: bool) -> None:
        self.answers = answers
        self.lost = lost
        self.asked = 0

    async def send(
        self, method: str, url: str, *, params: Mapping[str, Any] | None = None, passing: Collection[int] = (), **_: Any
    ) -> Answer:
        self.asked += 1
        if self.asked > 2_000:
            raise AssertionError("the poll never ends")
        name = url.rpartition("/")[2]
        if self.lost and "syncToken" in (params or {}):
            return Answer(410, httpx.Headers(), b"{}", httpx.URL(url))
        body = json.dumps(self.answers.get(name, {"error": {"code": 404}})).encode()
        return Answer(200 if name in self.answers else 404, httpx.Headers(), body, httpx.URL(url))


class Open:
    """An Access to canned answers."""

    def __init__(self, http: Canned) -> None:
        self.http = http

    async def token(self, refused: str = "") -> str:
        return "token-1"


def pages(cursor: Json, answers: Mapping[str, Any], *, lost: bool = False) -> list[Page]:
    async def run() -> list[Page]:
        context = replace(context_for(), access=Open(Canned(answers, lost=lost)))  # type: ignore[arg-type]
        pull: Callable[..., AsyncIterator[Page]] = CONNECTOR.pull
        config = GoogleCalendarConfig(base_url="https://calendar.example")
        return [page async for page in pull(config, cursor, context)]

    return asyncio.run(run())


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(sorted(SPOILED)))
def test_a_first_poll_survives_whatever_comes(data: st.DataObject, name: str) -> None:
    try:
        result = pages(None, {**GOOD, name: data.draw(SPOILED[name])})
    except (TransientError, AuthError):
        return
    assert result[-1].complete
    json.dumps(result[-1].next_cursor)


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), st.sampled_from(sorted(SPOILED)))
def test_a_full_list_that_is_spoiled_withdraws_no_event_that_is_there(data: st.DataObject, name: str) -> None:
    cursor = pages(None, GOOD)[-1].next_cursor
    try:
        result = pages(cursor, {**GOOD, name: data.draw(SPOILED[name])}, lost=True)
    except (TransientError, AuthError):
        return
    deleted = {delete.native_id for page in result for delete in page.deletes}
    assert "other@google.com" not in deleted


def test_the_canned_answers_are_good() -> None:
    upserts = [upsert.native_id for page in pages(None, GOOD) for upsert in page.upserts]
    assert len(upserts) == 4
    assert upserts[-1] == "other@google.com"
