from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parents[2] / "cases"
Forewatch = Callable[..., Any]


def maildir(root: Path, name: str = "Mail") -> Path:
    for part in ("cur", "new", "tmp"):
        (root / name / part).mkdir(parents=True)
    return root / name


def test_init_makes_a_home_that_only_the_owner_can_read(forewatch: Forewatch, home: Path) -> None:
    said = forewatch("init", "--timezone", "Asia/Kolkata")
    assert said.code == 0
    assert said.out == ""
    assert home.stat().st_mode & 0o077 == 0
    assert 'timezone = "Asia/Kolkata"' in (home / "config.toml").read_text()


def test_init_twice_changes_nothing(forewatch: Forewatch, home: Path) -> None:
    forewatch("init", "--timezone", "Asia/Kolkata")
    (home / "config.toml").write_text('timezone = "UTC"\n')
    assert forewatch("init", "--timezone", "Europe/Paris").code == 0
    assert (home / "config.toml").read_text() == 'timezone = "UTC"\n'


def test_init_with_an_unknown_zone_says_what_to_use(forewatch: Forewatch) -> None:
    said = forewatch("init", "--timezone", "Berlin")
    assert said.code == 2
    assert "IANA" in said.err


def test_an_account_is_added_listed_paused_and_removed(forewatch: Forewatch, tmp_path: Path) -> None:
    assert forewatch("accounts", "add", "maildir", maildir(tmp_path), "--name", "post").code == 0
    assert [row["status"] for row in forewatch("accounts", "list", "--json").json] == ["active"]
    forewatch("accounts", "pause", "post")
    assert [row["status"] for row in forewatch("accounts", "list", "--json").json] == ["paused"]
    forewatch("accounts", "remove", "post")
    assert forewatch("accounts", "list", "--json").json == []


def test_the_same_account_cannot_be_added_twice(forewatch: Forewatch, tmp_path: Path) -> None:
    path = maildir(tmp_path)
    forewatch("accounts", "add", "maildir", path)
    said = forewatch("accounts", "add", "maildir", path)
    assert said.code == 2
    assert "already" in said.err
    assert "--name" in said.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("accounts", "add", "mialdir", "x"), 2, "did you mean 'maildir'?"),
        (("accounts", "add", "maildir", "/nowhere"), 2, "/nowhere does not exist"),
        (("accounts", "add", "maildir", "/nowhere", "--set", "colour=red"), 2, "colour"),
        (("accounts", "add", "maildir", "/nowhere", "--set", "colour"), 2, "NAME=VALUE"),
        (("accounts", "pause", "nobody"), 3, "there is no account 'nobody'"),
        (("accounts", "sync", "nobody"), 3, "there is no account 'nobody'"),
        (("proposals", "approve", "nobody"), 3, "there is no proposal"),
        (("status",), 6, "no service answers"),
        (("events", "show", "abc"), 3, "there is no event 'abc'"),
        (("events", "preview", "/nowhere"), 2, "/nowhere does not exist"),
        (("events", "preview", __file__, "--kind", "gmail"), 2, "gmail reads a service, not a file"),
        (("proposals", "show", "abc"), 3, "there is no proposal 'abc'"),
        (("runs", "stop", "abc"), 3, "there is no proposal 'abc'"),
        (("runs", "pause", "abc"), 3, "there is no proposal 'abc'"),
        (("runs", "resume", "abc"), 3, "there is no proposal 'abc'"),
        (("runs", "abort", "abc", "--undo"), 3, "there is no proposal 'abc'"),
        (("runs", "retry", "abc", "s1"), 3, "there is no proposal 'abc'"),
        (("runs", "edit", "abc", "s1", "text=x"), 3, "there is no proposal 'abc'"),
        (("history", "query", "SELECT 1"), 2, "there is no history"),
        (("history", "query", "@/nowhere.sql"), 2, "/nowhere.sql"),
        (("nonsense",), 2, "nonsense"),
    ],
)
def test_a_mistake_is_one_clear_line_and_a_documented_exit_code(
    forewatch: Forewatch, arguments: tuple[str, ...], code: int, says: str
) -> None:
    said = forewatch(*arguments)
    assert said.code == code
    assert says in said.err
    assert said.out == ""
    assert "Traceback" not in said.err


def test_an_empty_home_has_empty_lists(forewatch: Forewatch) -> None:
    for command in (
        ("accounts", "list"), ("proposals", "list"), ("proposals", "digest"), ("runs", "list"),
        ("rules", "stats"), ("rules", "health"),
    ):  # fmt: skip
        assert forewatch(*command, "--json").json == []
    assert forewatch("events", "tail").out == ""
    assert forewatch("audit", "verify", "--json").json == {"entries": 0, "streams": 0, "faults": []}


def test_preview_stores_nothing(forewatch: Forewatch, home: Path) -> None:
    said = forewatch("events", "preview", CASES / "email" / "e11_flight_jsonld.eml", "--json")
    assert said.json["facts"][0]["reservation"] == "QX7RTZ"
    assert not home.exists()


def test_preview_reads_a_calendar_in_a_given_zone_and_window(forewatch: Forewatch) -> None:
    said = forewatch(
        "events", "preview", CASES / "calendar" / "c04_floating.ics", "--json",
        "--tz", "America/New_York", "--from", "2026-03-01", "--to", "2026-05-01",
    )  # fmt: skip
    assert [o["start"] for o in said.json["occurrences"]] == ["2026-03-29T12:00:00Z"]


def test_preview_asks_what_it_cannot_know_and_takes_the_answer(forewatch: Forewatch) -> None:
    path = CASES / "bank" / "b13_csv_ambiguous_dates.csv"
    assert forewatch("events", "preview", path, "--json").json["questions"][0]["code"] == "date_order"
    answered = forewatch("events", "preview", path, "--json", "--answer", "date_order=DMY").json
    assert [t["booked"] for t in answered["transactions"]] == ["2026-04-03", "2026-04-05"]


def test_a_preview_for_people_shows_facts_with_their_words(forewatch: Forewatch) -> None:
    said = forewatch("events", "preview", CASES / "email" / "e09_html_invoice_hidden.eml")
    assert "mail.received" in said.out
    assert "1.234,56" in said.out
