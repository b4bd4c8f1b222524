"""The shared mail cases: what ``preview`` makes of each input file is what its expected.json says."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from extractors import registry
from extractors.connector import Context, Preview, PreviewOptions

FOLDER = Path(__file__).parent / "email"
INPUTS = sorted(path for path in FOLDER.iterdir() if path.suffix in (".eml", ".mbox"))
NOTES = {"why", "rule", "filename_rule", "must_not_raise"}
"""Keys for readers. That nothing raises is what every case shows by ending."""


def previewed(path: Path) -> Preview:
    connector = registry.sniff(path)
    assert connector is not None
    assert connector.name == "maildir"
    context = Context("nora", "cases", ZoneInfo("Europe/Berlin"), datetime(2026, 3, 3, tzinfo=UTC))
    return connector.preview(path, context, PreviewOptions())


def problems(expected: dict[str, Any], summary: dict[str, Any]) -> list[str]:
    """``items`` are what is expected of each mail of a file that holds several, in order."""
    checks = {key: value for key, value in expected.items() if key not in {*NOTES, "items"}}
    found = [problem for key, value in checks.items() if (problem := mismatch(key, value, summary))]
    if "items" in expected:
        pairs = enumerate(zip(expected["items"], summary["items"], strict=True))
        found += [f"[{number}] {problem}" for number, (want, item) in pairs for problem in problems(want, item)]
    return found


def mismatch(key: str, expected: Any, summary: dict[str, Any]) -> str | None:
    """Why the summary does not hold what the case expects; None where it does."""
    name, _, relation = key.rpartition("_")
    match relation or key:
        case "contains" | "contain" if name.endswith("_not"):
            text = summary[name.removesuffix("_not")]
            wrong = [part for part in expected if part in text]
        case "contains":
            wrong = [part for part in expected if part not in summary[name]]
        case "contain":
            wrong = [part for part in expected if not any(part in each for each in summary[name])]
        case "amounts" if name == "not":
            wrong = [value for value in expected if value in {each["value"] for each in summary["amounts"]}]
        case "expires":
            found = [fact["on"] for fact in summary["facts"] if fact["kind"] == "expiry"]
            return None if found == expected else f"expires: {expected} against {found}"
        case "facts":
            wrong = [fact for fact in expected if fact not in summary["facts"]]
        case _:
            wrong = [] if summary[key] == expected else [expected]
    return f"{key}: {wrong} against {summary.get(key, summary.get(name))}" if wrong else None


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.stem)
def test_a_mail_file_becomes_what_its_case_expects(path: Path) -> None:
    expected = json.loads((FOLDER / f"{path.stem}.expected.json").read_text("utf-8"))
    result = previewed(path)
    assert problems(expected, dict(result.summary)) == []
    assert not result.rejected


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.stem)
def test_file_names_are_bare(path: Path) -> None:
    for event in previewed(path).events:
        assert event.payload is not None
        for attachment in getattr(event.payload, "attachments", ()):
            assert not set(attachment.filename) & set("/\\\0")


def test_every_input_file_has_a_case() -> None:
    assert INPUTS
    assert all((FOLDER / f"{path.stem}.expected.json").exists() for path in INPUTS)
