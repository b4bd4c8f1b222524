"""What two plays of one household are compared by: what was done, not the order in which two threads did it."""

from pathlib import Path

import pytest

from actions.tools import ics
from forewatch.testing import effects

ONE, OTHER = ["UID:a", "SUMMARY:Dentist"], ["UID:b", "SUMMARY:Passport"]


def outcome_of(home: Path, *entries: list[str]) -> dict[str, str]:
    text = ics.EMPTY
    for entry in entries:
        text = ics.inserted(text, entry)
    home.mkdir(exist_ok=True)
    (home / "calendar.ics").write_text(text, newline="")
    return effects(home)


def test_entries_that_two_plans_added_at_once_may_stand_in_either_order(tmp_path: Path) -> None:
    assert outcome_of(tmp_path, ONE, OTHER) == outcome_of(tmp_path, OTHER, ONE)


@pytest.mark.parametrize("entries", [[ONE], [ONE, OTHER, OTHER], [ONE, ["UID:b", "SUMMARY:Visa"]]])
def test_an_entry_that_is_lost_or_doubled_or_changed_is_a_difference(tmp_path: Path, entries: list[list[str]]) -> None:
    assert outcome_of(tmp_path / "a", *entries) != outcome_of(tmp_path / "b", ONE, OTHER)
