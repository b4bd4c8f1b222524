"""Every bank file case gives, through ``preview``, at least what its expected.json says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from extractors.bankfile import connector
from extractors.connector import Context, PreviewOptions

FOLDER = Path(__file__).parent / "bank"
CASES = sorted(path for path in FOLDER.iterdir() if path.suffix in (".ofx", ".qfx", ".qif", ".sta", ".xml", ".csv"))
CONTEXT = Context("nora", "giro", ZoneInfo("Europe/Berlin"), datetime(2026, 4, 1, tzinfo=UTC))


def differences(expected: Any, found: Any, at: str = "") -> list[str]:
    """Where ``found`` lacks what is expected; it may say more."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return [line for key, value in expected.items() for line in differences(value, found.get(key), f"{at}.{key}")]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for i, (value, other) in pairs for line in differences(value, other, f"{at}[{i}]")]
    return [] if expected == found else [f"{at}: expected {expected!r}, found {found!r}"]


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_bank_file_means_what_its_case_says(path: Path) -> None:
    expected = json.loads(path.with_suffix(".expected.json").read_text("utf-8"))
    given = expected.pop("given", {})
    expected.pop("why")
    options = PreviewOptions(currency=given.get("account_currency"), answers=given.get("answers", {}))
    preview = connector.preview(path, CONTEXT, options)
    assert preview.rejected == []
    assert differences({"result": "ok", **expected}, json.loads(json.dumps(preview.summary))) == []


def test_there_are_cases_of_every_format() -> None:
    assert {path.suffix for path in CASES} >= {".ofx", ".qif", ".sta", ".xml", ".csv"}
