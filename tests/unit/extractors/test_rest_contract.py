"""The rest connector against the laws of connectors and under faults, with each style of paging and of deletion."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from extractors.rest import Rest
from extractors.rest.config import RestConfig
from extractors.rest.loader import load
from extractors.rest.pagination import OnePage
from extractors.testing import ConnectorContract, Key
from extractors.testing.faults import fault_machine
from schemas.model import Json
from tests.standins.rest import SECRETS, SystemStandIn

FIRST = datetime(2026, 3, 1, 8, tzinfo=UTC)

MAP = "map: {title: name, amount: {value: total, currency: currency}, due: due_on, status: state}"
CURSOR = """
  - name: orders
    path: /orders
    records: "data[*]"
    id: id
    paginate: {type: cursor, cursor: meta.next, param: cursor}
    incremental: {field: updated_at, param: since, format: iso, lookback: 1m, order: ascending}
    deletions: {mode: field, when: "state == 'deleted'"}
"""
PAGES = """
  - name: orders
    path: /orders
    records: items
    id: id
    paginate: {type: page}
    incremental: {field: updated_at, param: since, format: iso_ms, inclusive: false, order: ascending}
    deletions: {full_diff: hourly}
"""
OFFSETS = """
  - name: orders
    path: /orders
    records: items
    id: id
    paginate: {type: offset, size_param: limit, size: 50, total: total}
    deletions: {full_diff: daily}
"""
LINKS = """
  - name: orders
    path: /orders
    records: items
    id: id
    paginate: {type: link_header}
    deletions: {full_diff: daily}
"""
JSON_LINKS = """
  - name: orders
    path: /orders
    records: items
    id: id
    paginate: {type: json_link, link: links.next}
    incremental: {field: updated_at, param: since, format: iso}
    deletions: {full_diff: hourly}
"""
GRAPHQL = """
  - name: orders
    document: "query($since: DateTime, $after: String) { orders(since: $since, after: $after) { id } }"
    records: "data.orders.edges[*].node"
    id: id
    paginate: {type: graphql, info: data.orders.pageInfo}
    incremental: {field: updated_at, param: since, format: iso_us, order: ascending}
    deletions: {mode: field, when: "state == 'deleted'"}
"""
STYLES = {
    "cursor": CURSOR,
    "pages": PAGES,
    "offsets": OFFSETS,
    "links": LINKS,
    "json_links": JSON_LINKS,
    "graphql": GRAPHQL,
}


class RestSource:
    """One stream of orders, in a system that speaks one of the styles."""

    def __init__(self, folder: Path, style: str) -> None:
        kind = "graphql" if style == "graphql" else "rest"
        head = f"kind: {kind}\nname: shop\nbase_url: https://shop.example/api\nauth: {{type: bearer}}\nstreams:"
        text = f"{head}{STYLES[style]}    {MAP}\n"
        self.file = folder / f"{style}.yaml"
        self.file.write_text(text)
        self.system = SystemStandIn(load(str(self.file)))
        self.system.start()
        self.key = Key(secrets=dict(SECRETS))
        self.config = RestConfig(definition=str(self.file), base_url=self.system.url, allow_private=True)
        self.clock = 0
        self.added = 0

    def _now(self) -> str:
        self.clock += 1
        return (FIRST + timedelta(seconds=30 * self.clock)).isoformat().replace("+00:00", "Z")

    def add(self, **fields: Any) -> None:
        self.added += 1
        row = {
            "id": self.added,
            "name": f"Order {self.added}",
            "total": 10.5 * self.added,
            "currency": "EUR",
            "due_on": "2026-03-20",
            "state": "open",
            "updated_at": self._now(),
        }
        self.system.put("orders", {**row, **fields})

    def _first(self) -> dict[str, Any]:
        return next(row for row in self.system.rows("orders") if row["state"] != "deleted")

    def change(self) -> None:
        self._first().update(name=f"Renamed at {self.clock}", updated_at=self._now())

    def remove(self) -> None:
        row = self._first()
        if self.system.definition.streams[0].is_diffed:
            self.system.held["orders"] = [held for held in self.system.held["orders"] if held.row is not row]
        else:
            row.update(state="deleted", updated_at=self._now())

    def poison(self) -> None:
        self.add(total={"odd": True})

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        faults = self.system.faults()
        return {
            "down": self.system.stop,
            "html": lambda: faults["html"](0),
            "revoked": lambda: faults["revoked"](0),
            "truncated": lambda: faults["half"](0),
            "failing": lambda: faults["500"](0),
            "drifted": self._drift,
        }

    def _drift(self) -> None:
        """The list has another name from one day to the other."""
        stream = self.system.definition.streams[0].model_copy(update={"records": "data.other", "paginate": OnePage()})
        self.system.definition = self.system.definition.model_copy(update={"streams": (stream,)})

    def fingerprint(self) -> Json:
        return [dict(row) for row in self.system.rows("orders")]

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return self.system.faults()

    def heal(self) -> None:
        self.system.heal()

    def lose_cursors(self) -> None:
        self.system.lose_cursors()

    def close(self) -> None:
        self.system.stop()


class _Contract(ConnectorContract):
    connector = Rest(page_items=2)
    style = ""

    @pytest.fixture(autouse=True)
    def _closing(self) -> Iterator[None]:
        self.opened: list[RestSource] = []
        yield
        for source in self.opened:
            source.close()

    def source(self, folder: Path) -> RestSource:
        source = RestSource(folder, self.style)
        self.opened.append(source)
        return source


class TestCursors(_Contract):
    style = "cursor"


class TestPages(_Contract):
    style = "pages"


class TestOffsets(_Contract):
    style = "offsets"


class TestLinks(_Contract):
    style = "links"


class TestJsonLinks(_Contract):
    style = "json_links"


class TestGraphQL(_Contract):
    style = "graphql"


class _Passing(RestSource):
    """Leaves nothing behind."""

    def __init__(self, style: str) -> None:
        super().__init__(Path(tempfile.mkdtemp()), style)

    def close(self) -> None:
        super().close()
        shutil.rmtree(self.file.parent)


def _machine(style: str) -> Any:
    return fault_machine(lambda: _Passing(style), Rest(page_items=2), examples=8, steps=8).TestCase


TestCursorsUnderFaults = _machine("cursor")
TestPagesUnderFaults = _machine("pages")
TestOffsetsUnderFaults = _machine("offsets")
TestJsonLinksUnderFaults = _machine("json_links")
TestGraphQLUnderFaults = _machine("graphql")
