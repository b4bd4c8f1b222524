"""Playing a household onto a disk: whole files, in time, and the same after any interruption."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from forewatch.sample import accounts, generate, materialise, shown_until
from forewatch.sample.household import Drop, Household

AT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def household(*drops: Drop) -> Household:
    return Household(1, "UTC", date(2026, 3, 1), date(2026, 3, 2), "Ada Example", "ada@example.example", drops, ())


SMALL = household(
    Drop(AT, "mail/new/1.host", "add", b"one"),
    Drop(AT + HOUR, "calendar/family.ics", "add", b"first"),
    Drop(AT + 2 * HOUR, "mail/cur/1.host:2,S", "add", b"one"),
    Drop(AT + 2 * HOUR, "mail/new/1.host", "delete"),
    Drop(AT + 3 * HOUR, "calendar/family.ics", "replace", b"second"),
)


def files(root: Path) -> dict[str, tuple[bytes, float]]:
    """What a program that watches the sources can see."""
    return {
        str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mtime)
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.relative_to(root).parts[0].startswith(".")
    }


def test_only_what_happened_by_then_is_there(tmp_path: Path) -> None:
    materialise(SMALL, tmp_path, AT + HOUR)
    assert {name: content for name, (content, _) in files(tmp_path).items()} == {
        "mail/new/1.host": b"one",
        "calendar/family.ics": b"first",
    }


def test_files_carry_the_time_of_their_drop(tmp_path: Path) -> None:
    materialise(SMALL, tmp_path, AT + 4 * HOUR)
    assert files(tmp_path)["calendar/family.ics"] == (b"second", (AT + 3 * HOUR).timestamp())


def test_a_read_mail_moves_from_new_to_cur(tmp_path: Path) -> None:
    materialise(SMALL, tmp_path, AT + 2 * HOUR)
    assert set(files(tmp_path)) == {"mail/cur/1.host:2,S", "calendar/family.ics"}
    assert {folder.name for folder in (tmp_path / "mail").iterdir()} == {"new", "cur", "tmp"}


def test_many_small_steps_end_where_one_large_step_does(tmp_path: Path) -> None:
    for step in range(5):
        materialise(SMALL, tmp_path / "steps", AT + step * HOUR)
    materialise(SMALL, tmp_path / "leap", AT + 4 * HOUR)
    assert files(tmp_path / "steps") == files(tmp_path / "leap")


def test_a_step_that_was_done_before_changes_nothing(tmp_path: Path) -> None:
    materialise(SMALL, tmp_path, AT + 3 * HOUR)
    before = files(tmp_path)
    materialise(SMALL, tmp_path, AT + 3 * HOUR, since=AT + HOUR)
    materialise(SMALL, tmp_path, AT + 3 * HOUR)
    assert files(tmp_path) == before


def test_an_explicit_since_leaves_older_things_alone(tmp_path: Path) -> None:
    materialise(SMALL, tmp_path, AT + 3 * HOUR, since=AT + 2 * HOUR)
    assert set(files(tmp_path)) == {"calendar/family.ics"}


def test_another_household_starts_from_the_beginning(tmp_path: Path) -> None:
    other = Household(2, "UTC", SMALL.start, SMALL.end, "Bo", "bo@example.example", SMALL.drops, ())
    materialise(SMALL, tmp_path, AT + 4 * HOUR)
    (tmp_path / "mail/cur/1.host:2,S").unlink()
    materialise(other, tmp_path, AT + 4 * HOUR)
    assert "mail/cur/1.host:2,S" in files(tmp_path)


class Killed(BaseException):
    """Nothing that code may catch by accident."""


@pytest.mark.parametrize("survived", range(12))
def test_a_kill_between_any_two_renames_is_made_good_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survived: int
) -> None:
    left = [survived]
    rename = os.replace

    def dying(source: os.PathLike[str], target: os.PathLike[str]) -> None:
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        rename(source, target)

    monkeypatch.setattr(os, "replace", dying)
    monkeypatch.setattr(Path, "replace", lambda self, target: dying(self, target))
    try:
        for step in (1, 2, 4):
            materialise(SMALL, tmp_path / "killed", AT + step * HOUR)
    except Killed:
        monkeypatch.undo()
        stands = shown_until(SMALL, tmp_path / "killed")
        times = [at for _, at in files(tmp_path / "killed").values()]
        assert stands is None or all(at <= stands.timestamp() for at in times)
        assert stands is not None or not times, "what a redelivered poll finds would be from the future"
        materialise(SMALL, tmp_path / "killed", AT + 4 * HOUR)
    monkeypatch.undo()
    materialise(SMALL, tmp_path / "whole", AT + 4 * HOUR)
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_a_damaged_mark_costs_time_and_nothing_else(tmp_path: Path) -> None:
    materialise(SMALL, tmp_path, AT + 4 * HOUR)
    before = files(tmp_path)
    (tmp_path / ".played").write_text("{", "utf-8")
    materialise(SMALL, tmp_path, AT + 4 * HOUR)
    assert files(tmp_path) == before


def test_accounts_point_at_what_a_year_leaves_on_disk(tmp_path: Path) -> None:
    home = generate(1, "Europe/Berlin", date(2026, 1, 1))
    materialise(home, tmp_path, datetime(2026, 3, 1, tzinfo=UTC))
    found = accounts(home)
    assert [name for name, _, _ in found] == ["mail", "calendar", "bank-a", "bank-b"]
    assert all((tmp_path / str(config["path"])).exists() for _, _, config in found)
