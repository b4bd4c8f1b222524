"""The rest connector against a real GraphQL server: paging, throttling, partial data, errors with status 200."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from extractors.rest import Rest
from extractors.rest.config import RestConfig
from extractors.testing import START, Key, Poll, context_for, events_of, poll, records_of
from schemas.errors import AuthError, RateLimited
from schemas.model import Json
from tests.peers.graphql import graphql
from tests.peers.process import provided

DEFINITION = """\
kind: graphql
name: tracker
base_url: https://tracker.example/graphql/
auth: {type: bearer}
http: {patience_s: 2}
streams:
  - name: issues
    document: |
      query Issues($since: DateTime, $after: String) {
        issues(first: 3, since: $since, after: $after) {
          edges { node { id title state updatedAt dueOn } }
          pageInfo { hasNextPage endCursor }
        }
      }
    records: "data.issues.edges[*].node"
    id: id
    paginate: {type: graphql, info: data.issues.pageInfo}
    incremental: {field: updatedAt, param: since, format: iso_us, order: ascending}
    deletions: {full_diff: daily}
    map: {kind: issue, title: title, due: dueOn, status: state}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from provided(graphql, tmp_path_factory.mktemp("graphql"))


class Tracker:
    def __init__(self, url: str, folder: Path) -> None:
        self.url = url
        file = folder / "tracker.yaml"
        file.write_text(DEFINITION)
        self.config = RestConfig(definition=str(file), base_url=f"{url}/graphql/", allow_private=True)
        self.key = Key(secrets={"token": "t0ken"})
        self.slept: list[float] = []
        self.connector = Rest(sleep=self._sleep)
        self.cursor: Json = None

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def put(self, **values: Any) -> None:
        httpx.post(f"{self.url}/put", json=values, trust_env=False).raise_for_status()

    def poll(self, days: int = 0) -> Poll:
        context = context_for(START + timedelta(days=days))
        result = poll(self.connector, self.config, self.cursor, context, key=self.key)
        self.cursor = result.cursor
        return result


@pytest.fixture
def tracker(server: str, tmp_path: Path) -> Tracker:
    tracker = Tracker(server, tmp_path)
    tracker.put(**{str(number): None for number in range(1, 20)}, throttle=0, broken="")
    tracker.put(**{str(number): {"title": f"Issue {number}", "second": number} for number in range(1, 8)})
    return tracker


def test_pages_of_a_connection_are_read_to_their_end_and_then_only_what_is_new(tracker: Tracker) -> None:
    first = tracker.poll()
    assert first.error is None
    assert [upsert.native_id for upsert in first.upserts] == [f"issues/{number}" for number in range(1, 8)]
    events, poison = events_of(
        tracker.connector, records_of(tracker.connector, first.upserts, context_for()), context_for()
    )
    assert not poison
    assert (events[0].kind, events[0].title, events[0].due_at is not None) == ("record.issue", "Issue 1", True)
    tracker.put(**{"2": {"title": "Renamed", "second": 9}, "8": {"title": "Issue 8", "second": 8}})
    second = tracker.poll()
    assert [(upsert.native_id, upsert.is_new) for upsert in second.upserts] == [("issues/8", True), ("issues/2", False)]
    tracker.put(**{"5": None})
    assert [delete.native_id for delete in tracker.poll(1).deletes] == ["issues/5"]


def test_throttling_that_comes_with_status_200_is_waited_for_or_handed_on(tracker: Tracker) -> None:
    tracker.put(throttle=2)
    assert len(tracker.poll().upserts) == 7
    assert tracker.slept == [1, 1]
    tracker.put(throttle=9)
    throttled = tracker.poll(1)
    assert isinstance(throttled.error, RateLimited)
    assert throttled.error.retry_at == START + timedelta(days=1, seconds=1)
    tracker.put(throttle=0)


def test_an_unknown_token_is_told_by_an_error_code(tracker: Tracker) -> None:
    tracker.key.secrets["token"] = "other"
    assert isinstance(tracker.poll().error, AuthError)


def test_partial_data_is_used_and_concludes_nothing(tracker: Tracker) -> None:
    tracker.poll()
    tracker.put(**{"3": None}, broken="4")
    partial = tracker.poll(1)
    assert partial.error is None
    assert "the due date is lost" in partial.warnings[0]
    assert partial.deletes == []
    assert [upsert.native_id for upsert in partial.upserts] == ["issues/4"]
    tracker.put(broken="")
    healed = tracker.poll(2)
    assert [upsert.native_id for upsert in healed.upserts] == ["issues/4"]
    assert [delete.native_id for delete in healed.deletes] == ["issues/3"]
