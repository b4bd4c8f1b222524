"""The threat model names a test for each row, and each of them exists."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
ROWS = [
    [cell.strip() for cell in line.strip("|\n ").split(" | ")]
    for line in (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("|") and "::" in line
]


def test_every_row_says_what_holds_it_what_is_left_and_which_test_tries_it() -> None:
    assert len(ROWS) >= 30
    assert [row for row in ROWS if len(row) != 4 or not all(row)] == []
    assert len({row[0] for row in ROWS}) == len(ROWS)
    lines = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8").splitlines()
    tables = [line for line in lines if line.startswith("|") and not line.startswith(("|---", "| threat"))]
    assert len(tables) == len(ROWS)


@pytest.mark.parametrize("name", [row[-1] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_test_of_a_row_exists(name: str) -> None:
    file, *inside = name.split("::")
    body: list[ast.stmt] = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    for part in inside:
        found = next((node for node in body if getattr(node, "name", None) == part), None)
        assert found is not None, f"{file} has no {part}"
        body = getattr(found, "body", [])
    assert inside[-1].startswith("test_")
