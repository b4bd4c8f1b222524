"""Whatever a Gmail answers, a poll ends with mails, rejections or an error of ours, and forgets nothing."""

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
from extractors.gmail import GmailConnector
from extractors.gmail.config import GmailConfig
from extractors.http import Answer
from extractors.testing import context_for
from schemas.errors import AuthError, TransientError
from schemas.model import Json

CONNECTOR = GmailConnector(calls_per_s=10_000)
NAME = "18c2f0a900001001"
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
GOOD: Mapping[str, Any] = {
    "profile": {"emailAddress": "nora@example.org", "historyId": "7"},
    "messages": {"messages": [{"id": NAME, "threadId": NAME}]},
    "history": {"history": [{"id": "8", "messagesAdded": [{"message": {"id": NAME}}]}], "historyId": "9"},
    NAME: {"id": NAME, "labelIds": ["INBOX"], "internalDate": "1772438400000", "raw": "U3ViamVjdDogSGkNCg0KSGk"},
}


def spoiled(good: Any) -> st.SearchStrategy[Any]:
    """The same, with one field of it turned into something else, left out, or all of it replaced."""
    if not isinstance(good, dict):
        return JUNK
    return st.one_of(
        JUNK,
        *(st.builds(lambda key, junk: {**good, key: junk}, st.just(key), JUNK) for key in good),
        *(st.just({name: value for name, value in good.items() if name != key}) for key in good),
        *(spoiled(value).map(lambda junk, key=key: {**good, key: junk}) for key, value in good.items()),
        *(
            spoiled(value[0]).map(lambda junk, key=key: {**good, key: [junk]})
            for key, value in good.items()
            if isinstance(value, list)
        ),
    )


class Canned:
    """An Http that gives the same answer to the same question."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        self.answers = answers
        self.asked = 0

    async def send(self, method: str, url: str, *, passing: Collection[int] = (), **_: Any) -> Answer:
        self.asked += 1
        if self.asked > 2_000:
            raise AssertionError("the poll never ends")
        name = url.rpartition("/")[2]
        body = json.dumps(self.answers.get(name, {"error": {"code": 404}})).encode()
        return Answer(200 if name in self.answers else 404, httpx.Headers(), body, httpx.URL(url))


class Open:
    """An Access to canned answers."""

    def __init__(self, http: Canned) -> None:
        self.http = http

    async def token(self, refused: str = "") -> str:
        return "token-1"


def pages(cursor: Json, answers: Mapping[str, Any]) -> list[Page]:
    async def run() -> list[Page]:
        context = replace(context_for(), access=Open(Canned(answers)))  # type: ignore[arg-type]
        pull: Callable[..., AsyncIterator[Page]] = CONNECTOR.pull
        return [page async for page in pull(GmailConfig(base_url="https://gmail.example"), cursor, context)]

    return asyncio.run(run())


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_first_poll_survives_whatever_comes(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["profile", "messages", NAME]))
    answers = {**GOOD, name: data.draw(spoiled(GOOD[name]))}
    try:
        result = pages(None, answers)
    except (TransientError, AuthError):
        return
    assert result[-1].complete
    json.dumps(result[-1].next_cursor)


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_later_poll_survives_whatever_comes_and_removes_nothing(data: st.DataObject) -> None:
    cursor = pages(None, GOOD)[-1].next_cursor
    name = data.draw(st.sampled_from(["profile", "messages", "history"]))
    lost = data.draw(st.booleans())
    answers = {**GOOD, name: data.draw(spoiled(GOOD[name]))}
    if lost:
        answers.pop("history")
    try:
        result = pages(cursor, answers)
    except (TransientError, AuthError):
        return
    deleted = [delete for page in result for delete in page.deletes]
    assert deleted == [] or "messagesDeleted" in json.dumps(answers.get("history"))


def test_the_canned_answers_are_good() -> None:
    (page,) = pages(None, GOOD)
    assert [upsert.native_id for upsert in page.upserts] == [NAME]
