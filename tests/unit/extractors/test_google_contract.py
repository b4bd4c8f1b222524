"""The check against Google's published contract: it finds what is wrong, and lets pass what is right."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from extractors.testing.standin import Asked, Reply
from tests.peers.google import document
from tests.peers.process import provided
from tests.standins.google import error
from tests.standins.google_contract import violations

_MESSAGE = {"id": "18c2f0a900001001", "threadId": "18c2f0a900001001", "labelIds": ["INBOX"], "internalDate": "1"}
_EVENT = {"id": "a", "status": "confirmed", "start": {"date": "2026-03-29"}}
_EVENTS = {"kind": "calendar#events", "items": [_EVENT], "nextSyncToken": "t"}


@pytest.fixture(scope="module", autouse=True)
def _documents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    @contextmanager
    def start(folder: Path) -> Iterator[None]:
        document("gmail.v1")
        document("calendar.v3")
        yield

    yield from provided(start, tmp_path_factory.mktemp("google"))


def mail(
    path: str, query: Mapping[str, str], answer: Any, *, method: str = "GET", token: str = "Bearer t"
) -> list[str]:
    asked = Asked(method, f"/gmail/v1/users/me/{path}", query, {"authorization": token}, b"")
    return violations("gmail.v1", asked, answer if isinstance(answer, Reply) else Reply.of(answer))


def calendar(query: Mapping[str, str], answer: Any) -> list[str]:
    asked = Asked("GET", "/calendar/v3/calendars/nora%40example.org/events", query, {"authorization": "Bearer t"}, b"")
    return violations("calendar.v3", asked, Reply.of(answer))


def test_what_google_would_say_passes() -> None:
    assert mail("messages/18c2f0a900001001", {"format": "raw"}, {**_MESSAGE, "raw": "SGVsbG8_"}) == []
    assert mail("messages", {"maxResults": "500"}, {"resultSizeEstimate": 0}) == []
    assert mail("history", {"startHistoryId": "1"}, error(404, "notFound")) == []
    assert calendar({"syncToken": "t", "singleEvents": "false", "maxResults": "1000"}, _EVENTS) == []


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({**_MESSAGE, "internalDate": 1}, "1 is not of type 'string'"),
        ({**_MESSAGE, "internalDate": "soon"}, "does not match"),
        ({**_MESSAGE, "labelIds": "INBOX"}, "is not of type 'array'"),
        ({**_MESSAGE, "raw": "a+b/"}, "does not match"),
        ({**_MESSAGE, "labels": ["INBOX"]}, "'labels' was unexpected"),
        ({"threadId": "1"}, "'id' is a required property"),
        ([], "is not of type 'object'"),
    ],
)
def test_a_mail_of_a_wrong_shape_is_found(answer: Any, found: str) -> None:
    assert any(found in each for each in mail("messages/1", {}, answer))


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({**_EVENTS, "items": [{**_EVENT, "start": "2026-03-29"}]}, "is not of type 'object'"),
        ({**_EVENTS, "items": [{**_EVENT, "start": {"date": "29.3.2026"}}]}, "does not match"),
        ({**_EVENTS, "items": [{**_EVENT, "attendees": [{"responseStatus": 1}]}]}, "is not of type 'string'"),
        ({**_EVENTS, "items": [{"status": "confirmed"}]}, "'id' is a required property"),
        ({**_EVENTS, "syncToken": "t"}, "'syncToken' was unexpected"),
    ],
)
def test_an_event_of_a_wrong_shape_is_found(answer: Any, found: str) -> None:
    assert any(found in each for each in calendar({}, answer))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"maxResults": "many"}, "is not of type 'integer'"),
        ({"maxResults": "0"}, "less than the minimum"),
        ({"singleEvents": "no"}, "is not of type 'boolean'"),
        ({"orderBy": "start"}, "is not one of"),
        ({"syncTokens": "t"}, "'syncTokens' was unexpected"),
    ],
)
def test_a_question_that_google_does_not_know_is_found(query: Mapping[str, str], found: str) -> None:
    assert any(found in each for each in calendar(query, _EVENTS))


def test_whatever_would_write_is_found_and_so_is_a_question_without_a_token() -> None:
    assert mail("messages/1/trash", {}, _MESSAGE, method="POST") != []
    assert mail("messages/1/trash", {}, _MESSAGE) != []
    assert any("without a token" in each for each in mail("messages/1", {}, _MESSAGE, token=""))


def test_an_error_has_a_shape_too() -> None:
    assert any("required property" in each for each in mail("messages/1", {}, Reply.of({"error": {"code": 404}}, 404)))
