"""Every calendar case file against what it is expected to mean, through ``preview``."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from extractors.connector import Context, PreviewOptions
from extractors.ics import connector
from schemas.clock import start_of_day

FOLDER = Path(__file__).parent / "calendar"
CASES = sorted(FOLDER.glob("*.ics"))
ZONES = ("America/Los_Angeles", "America/St_Johns", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Kiritimati", "UTC")


def expectation(case: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(case.with_suffix(".expected.json").read_text("utf-8"))
    return loaded


def summary(case: Path, zone: str, window: list[str]) -> dict[str, Any]:
    """``rejected`` of a case holds the UIDs of the entries that cannot be read."""
    tz = ZoneInfo(zone)
    first, last = (start_of_day(date.fromisoformat(day), tz) for day in window)
    wanted = expectation(case).get("rejected", [])
    context = Context("nora", "test", tz, datetime(2026, 3, 1, tzinfo=UTC))
    shown = connector.preview(case, context, PreviewOptions(window=(first, last)))
    told = [next((uid for uid in wanted if uid in str(item)), item) for item in shown.rejected]
    assert told == wanted
    return dict(shown.summary)


def as_expected(found: list[dict[str, Any]], wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was found, of it the fields that the case speaks of."""
    return [{key: row[key] for key in want} for row, want in zip(found, wanted, strict=True)]


def test_there_are_cases() -> None:
    assert len(CASES) >= 11


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_calendar_file_means_what_its_case_says(case: Path) -> None:
    expected = expectation(case)
    found = summary(case, expected["user_tz"], expected["window"])
    for key in ("occurrences", "cancelled"):
        if key in expected:
            assert as_expected(found[key], expected[key]) == expected[key]
    assert found["method"] == expected.get("method", found["method"])


@pytest.mark.parametrize("case", [case for case in CASES if "alt" in expectation(case)], ids=lambda case: case.stem)
def test_another_owner_sees_it_in_another_zone(case: Path) -> None:
    expected = expectation(case)
    other = expected["alt"]
    found = summary(case, other["user_tz"], expected["window"])["occurrences"]
    wanted = {key: value for key, value in other.items() if key != "user_tz"}
    assert as_expected(found[:1], [wanted]) == [wanted]


@pytest.mark.parametrize(
    "case", [case for case in CASES if expectation(case).get("same_in_every_user_tz")], ids=lambda case: case.stem
)
@pytest.mark.parametrize("zone", ZONES)
def test_dates_are_the_same_for_every_owner(case: Path, zone: str) -> None:
    expected = expectation(case)
    found = summary(case, zone, expected["window"])["occurrences"]
    assert as_expected(found, expected["occurrences"]) == expected["occurrences"]
