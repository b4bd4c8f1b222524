"""Calendars at web addresses, served by a real server on this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic import ValidationError

from extractors.calendar.testing import vcalendar, vevent
from extractors.ics import Ics
from extractors.ics.config import IcsConfig
from extractors.testing import Poll, context_for, poll
from schemas.errors import AuthError, RateLimited, TransientError

START = datetime(2026, 3, 2, 8, tzinfo=UTC)


class Feed:
    """A calendar on a server that knows ETags."""

    def __init__(self) -> None:
        self.status = 200
        self.body = b""
        self.full_answers = 0
        feed = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                etag = f'"{hash(feed.body)}"'
                status = 304 if feed.status == 200 and self.headers["If-None-Match"] == etag else feed.status
                body = feed.body if status == 200 else b""
                feed.full_answers += status == 200
                self.send_response(status)
                for name, value in (("ETag", etag), ("Content-Length", str(len(body))), ("Retry-After", "60")):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Tests are silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/private-token-123/basic.ics"
        self.config = IcsConfig(url=self.url, allow_private=True)
        self.cursor: Any = None

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def poll(self, days: int = 0) -> Poll:
        result = poll(Ics(), self.config, self.cursor, context_for(START + timedelta(days=days)))
        self.cursor = result.cursor
        return result

    def meetings(self, *days: int) -> None:
        self.body = vcalendar(*(vevent(f"m{day}", f":202603{day:02}T100000Z") for day in days))


@pytest.fixture
def feed() -> Iterator[Feed]:
    running = Feed()
    running.meetings(10, 11)
    yield running
    running.close()


def test_an_unchanged_feed_is_not_sent_again(feed: Feed) -> None:
    assert len(feed.poll().upserts) == 2
    assert feed.poll().upserts == []
    assert feed.full_answers == 1
    feed.meetings(10, 12)
    changed = feed.poll()
    assert ([upsert.native_id for upsert in changed.upserts], [delete.native_id for delete in changed.deletes]) == (
        ["m12"], ["m11"],
    )  # fmt: skip


def test_a_new_month_asks_for_the_whole_feed_although_it_has_not_changed(feed: Feed) -> None:
    feed.body = vcalendar(vevent("s", ":20260310T100000Z", "RRULE:FREQ=MONTHLY"))
    feed.poll()
    assert feed.poll(days=40).upserts
    assert feed.full_answers == 2


@pytest.mark.parametrize("body", [b"", b"<html>Sign in</html>", vcalendar(vevent("m10", ":20260310T100000Z"))[:-20]])
def test_a_feed_that_is_no_calendar_is_tried_again_later(feed: Feed, body: bytes) -> None:
    feed.poll()
    before = feed.cursor
    feed.body = body
    broken = feed.poll()
    assert isinstance(broken.error, TransientError)
    assert feed.cursor == before
    feed.meetings(10, 11)
    assert feed.poll().upserts == []


def test_an_emptied_feed_is_believed_at_the_second_look(feed: Feed) -> None:
    feed.poll()
    feed.body = vcalendar()
    assert feed.poll().deletes == []
    assert len(feed.poll().deletes) == 2
    assert feed.poll().deletes == []


@pytest.mark.parametrize(
    ("status", "error"), [(404, AuthError), (401, AuthError), (429, RateLimited), (500, TransientError)]
)
def test_a_refusal_keeps_the_place_and_tells_no_secret(feed: Feed, status: int, error: type[Exception]) -> None:
    feed.poll()
    before = feed.cursor
    feed.status = status
    refused = feed.poll()
    assert isinstance(refused.error, error)
    assert "token" not in str(refused.error)
    assert feed.cursor == before


def test_a_feed_on_this_machine_needs_permission(feed: Feed) -> None:
    feed.config = IcsConfig(url=feed.url)
    refused = feed.poll()
    assert isinstance(refused.error, AuthError)
    assert "allow_private = true" in str(refused.error)
    assert feed.full_answers == 0


@pytest.mark.parametrize(
    "settings",
    [{}, {"path": "/a.ics", "url": "https://a.example/"}, {"url": "ftp://a.example"}, {"url": "https://me:pw@a.example/"},
     {"path": "/a.ics", "horizon_future_days": 0}, {"path": "/a.ics", "colour": "red"}],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        IcsConfig(**settings)
