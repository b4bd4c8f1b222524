"""Hostile definitions and hostile systems: everything ends as rows, a rejection or an error of ours."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import httpx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extractors.rest import paging, rows
from extractors.rest.loader import DefinitionErrors, load, parsed
from extractors.rest.mapping import Drift
from extractors.testing.standin import Reply
from schemas.clock import zone
from schemas.errors import AuthError, TransientError
from tests.standins.rest import account

_WORDS = """
kind rest graphql name base_url auth type bearer streams path records id paginate page cursor incremental field map
amount value {bind.x} {cursor} {a.__class__} $x [0] a||b https://x.example http://[::1 !!python/name:os.system
"""
WORDS = st.sampled_from(_WORDS.split())
YAML = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)
_KNOWN = "id number total currency due_on updated_at status supplier links name amount close_date items key"
KNOWN = _KNOWN.split()
ROW = st.dictionaries(st.sampled_from(KNOWN), JSON, max_size=10)


@given(document=st.dictionaries(WORDS, YAML, max_size=8))
@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_definition_is_right_or_its_mistakes_are_told(document: Any) -> None:
    with contextlib.suppress(DefinitionErrors):
        parsed(json.dumps(document), "f.yaml")


@given(text=st.text(max_size=200))
@settings(max_examples=80, deadline=None)
def test_any_text_is_a_definition_or_says_why_not(text: str) -> None:
    with contextlib.suppress(DefinitionErrors):
        parsed(text, "f.yaml")


@given(expression=st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_expression_parses_or_is_told(expression: str) -> None:
    text = {"kind": "rest", "name": "x", "base_url": "https://x.example"}
    stream = {"name": "s", "path": "/s", "records": expression, "id": "id"}
    with contextlib.suppress(DefinitionErrors):
        parsed(json.dumps({**text, "streams": [stream]}), "f.yaml")


@given(row=ROW | JSON)
@settings(max_examples=100, deadline=None)
def test_any_row_is_shaped_or_drift(row: Any) -> None:
    for name in ("erp", "crm", "hr", "issues"):
        definition = load(name)
        for stream in definition.streams:
            try:
                shaped = rows.shaped(definition, stream, row, "", zone("Europe/Berlin"))
            except Drift as drift:
                rows.rejected(stream, row, str(drift))
            else:
                assert shaped.row.model_dump_json()


@given(document=JSON)
@settings(max_examples=100, deadline=None)
def test_any_answer_is_a_list_or_of_the_wrong_shape(document: Any) -> None:
    for stream in load("erp").streams:
        with contextlib.suppress(rows.WrongShape):
            rows.listed(stream, document)
        with contextlib.suppress(paging.Stuck, AuthError):
            given_ = paging.Given(document, httpx.Headers(), httpx.URL("https://x.example/y"), 3)
            paging.following(stream.paginate, None, given_)


BODIES = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b'{"items": null}',
    b'{"items": 17}',
    b'{"items": [null, 1, "x", [], {}]}',
    b'{"items": ' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    b'{"items": [' + b'{"id": 1, "x": ' * 300 + b"1" + b"}" * 300 + b"]}",
    b'{"items": [{"id": 1, "x": 1' + b"0" * 100_000 + b"}]}",
    b'{"items": [{"id": "\\ud800", "x": "\\u0000"}]}',
    b'{"items": [{"id": 1}], "items": [{"id": 2}]}',
    b'{"items": [{"id": 1',
    b"\xff\xfe\x00",
    b"<html>",
    json.dumps({"items": [{"id": 1}] * 25_000}).encode(),
]


def test_any_body_ends_a_poll_without_a_bug(tmp_path: Path) -> None:
    text = (
        "kind: rest\nname: x\nbase_url: https://x.example\n"
        "streams: [{name: s, path: /s, records: items, id: id, deletions: {full_diff: daily}}]\n"
    )
    with account(text, tmp_path) as shop:
        shop.system.put("s", {"id": "first"})
        assert len(shop.poll().upserts) == 1
        for body in BODIES:
            shop.system.answer = lambda asked, body=body: Reply(200, body)  # type: ignore[method-assign,misc]
            result = shop.poll(1, cursor=shop.cursor)
            assert result.error is None or isinstance(result.error, TransientError), body[:40]
            assert "s/first" not in [delete.native_id for delete in result.deletes] or result.error is None
