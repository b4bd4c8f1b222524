"""Rows that are changed, added and moved while they are read: none is lost, none is told twice, in any interleaving."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from extractors.testing.standin import Asked
from tests.standins.rest import account

HEAD = "kind: rest\nname: shop\nbase_url: https://shop.example\nstreams:\n"
STREAM = """  - name: orders
    path: /orders
    records: items
    id: id
    paginate: {PAGINATE}
    incremental: {field: at, param: since, format: iso, order: ascending}
"""
BY_NUMBER = HEAD + STREAM.replace("PAGINATE", "type: page")
BY_OFFSET = HEAD + STREAM.replace("PAGINATE", "type: offset")
BY_CURSOR = HEAD + STREAM.replace("PAGINATE", "type: cursor, cursor: next, param: cursor")

_PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""A failing case is small enough as it is, and each try costs a server."""

Moves = dict[int, tuple[str, int]]
"""By the number of the request before which it happens: what happens, and to which row."""

moves = st.dictionaries(
    st.integers(0, 14), st.tuples(st.sampled_from(["change", "add", "touch_last"]), st.integers(0, 7)), max_size=8
)


class Clock:
    """Time passes between any two changes, or stands still within a second."""

    def __init__(self, ticks: list[bool]) -> None:
        self.second = 0
        self.ticks = ticks

    def now(self) -> str:
        if not self.ticks or self.ticks.pop():
            self.second += 1
        return f"2026-03-01T08:{self.second // 60:02}:{self.second % 60:02}Z"


@pytest.mark.parametrize("text", [BY_NUMBER, BY_OFFSET, BY_CURSOR], ids=["number", "offset", "cursor"])
@given(
    count=st.integers(1, 7),
    page=st.integers(1, 3),
    moved=moves,
    ticks=st.lists(st.booleans(), max_size=12),
    kill=st.integers(0, 9),
)
@settings(max_examples=8, deadline=None, phases=_PHASES, suppress_health_check=[HealthCheck.too_slow])
def test_rows_that_are_modified_while_they_are_read_are_never_lost(
    text: str, count: int, page: int, moved: Moves, ticks: list[bool], kill: int
) -> None:
    clock = Clock(ticks)
    with tempfile.TemporaryDirectory() as folder, account(text, Path(folder), page=page) as shop:
        for number in range(count):
            shop.system.put("orders", {"id": number, "value": 0, "at": clock.now()})
        asked = iter(range(1_000))

        def move(_: Asked) -> None:
            what, which = moved.get(next(asked), ("", 0))
            rows = shop.system.rows("orders")
            if what == "add":
                shop.system.put("orders", {"id": len(rows), "value": 0, "at": clock.now()})
            elif what:
                row = rows[-1 if what == "touch_last" else which % len(rows)]
                row.update(value=row["value"] + 1, at=clock.now())

        shop.system.before = move
        told: dict[str, Any] = {}
        versions: list[tuple[str, str]] = []
        polls = [shop.poll(kill_after=kill or None), shop.poll(0.1), shop.poll(0.2)]
        shop.system.before = lambda asked: None
        polls.append(shop.poll(0.3))
        for each in polls:
            assert each.error is None
            for upsert in each.upserts:
                told[upsert.native_id] = upsert.raw
                versions.append((upsert.native_id, upsert.version))
        fresh = shop.poll(0.4, cursor={"streams": {}, "told": []})
        assert told == {upsert.native_id: upsert.raw for upsert in fresh.upserts}
        assert len(versions) == len(set(versions))
