"""Every bank file case gives, through ``preview``, at least what its expected.json says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from extractors.bank.row import Row
from extractors.bankfile import connector
from extractors.bankfile.summary import transaction
from extractors.connector import Context, PreviewOptions
from extractors.enablebanking import rows as enablebanking
from extractors.gocardless import rows as gocardless
from extractors.plaid import rows as plaid

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


API_ROWS = sorted(
    path for path in FOLDER.glob("*.json") if json.loads(path.read_text("utf-8")).get("kind") == "api_rows"
)


def api_row(provider: str, given: dict[str, Any]) -> Row | None:
    match provider:
        case "gocardless":
            is_pending = given.pop("_pending", False)
            return gocardless.row(given, "account", pending=is_pending)
        case "enablebanking":
            return enablebanking.row(given, "account")
        case _:
            return plaid.listed(given, "account").row


@pytest.mark.parametrize("path", API_ROWS, ids=lambda path: path.stem)
def test_rows_of_a_bank_api_mean_what_their_case_says(path: Path) -> None:
    given = json.loads(path.read_text("utf-8"))
    expected = json.loads(path.with_suffix(".expected.json").read_text("utf-8"))
    rows = [api_row(given["provider"], each) for each in given["rows"]]
    found = [row and transaction(row) for row in rows]
    assert differences(expected["rows"], found) == []


def test_there_are_cases_of_every_format() -> None:
    assert {path.suffix for path in CASES} >= {".ofx", ".qif", ".sta", ".xml", ".csv"}
