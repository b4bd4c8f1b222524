"""What somebody meets who does not know Forewatch yet, and mistypes."""

import asyncio
import io
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console

from forewatch.api import the_one
from forewatch.cli import console
from forewatch.instants import local
from forewatch.matters import output
from forewatch.serve import only_one
from forewatch.settings import Settings
from forewatch.wiring import open_settings_log
from rules.testing import make_event
from schemas.errors import NotFound
from schemas.event import Event

Forewatch = Callable[..., Any]

CALENDAR = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1@x\r\nDTSTAMP:20261101T000000Z\r\n"
    "DTSTART;TZID=Europe/Berlin:20270328T013000\r\nSUMMARY:Night train\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


@pytest.fixture
def calendar(tmp_path: Path) -> Path:
    path = tmp_path / "family.ics"
    path.write_text(CALENDAR)
    return path


def test_the_version_is_told(forewatch: Forewatch) -> None:
    said = forewatch("--version")
    assert said.code == 0
    assert said.out.startswith("forewatch")


def test_init_on_an_old_home_says_that_its_zone_stays(forewatch: Forewatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOREWATCH_TIMEZONE")
    forewatch("init", "--timezone", "Europe/Berlin")
    said = forewatch("init", "--timezone", "Asia/Tokyo")
    assert said.code == 0
    assert "time zone Europe/Berlin" in said.err
    assert "stays as it is" in said.err


def test_a_file_of_another_kind_is_not_taken_and_the_right_command_is_named(
    forewatch: Forewatch, calendar: Path
) -> None:
    said = forewatch("accounts", "add", "bankfile", calendar)
    assert said.code == 2
    assert f"forewatch accounts add ics {calendar}" in said.err
    assert forewatch("accounts", "list", "--json").json == []


def test_a_folder_that_holds_something_else_so_far_is_taken_with_a_word(forewatch: Forewatch, calendar: Path) -> None:
    said = forewatch("accounts", "add", "bankfile", calendar.parent)
    assert said.code == 0
    assert "looks like ics" in said.err


def test_a_place_is_not_watched_twice_under_two_names(forewatch: Forewatch, calendar: Path) -> None:
    forewatch("accounts", "add", "ics", calendar, "--name", "family")
    said = forewatch("accounts", "add", "ics", calendar, "--name", "other")
    assert said.code == 2
    assert "watched already, as 'family'" in said.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("accounts", "pause", "famly"), 3, "did you mean 'family'?"),
        (("accounts", "add", "ics", "CALENDAR", "--name", "Bad Name!"), 2, "--name: a name has small letters"),
        (("accounts", "add", "ics", "CALENDAR", "--name", "b", "--every", "-5"), 2, "--every: give seconds"),
        (("accounts", "add", "ics", "CALENDAR", "--set", "colour=red"), 2, "ics has no setting 'colour'"),
        (("accounts", "answer", "family", "foo", "bar"), 2, "family asks nothing"),
        (("events", "preview", "CALENDAR", "--answer", "foo"), 2, "QUESTION=CHOICE"),
        (("events", "show", ""), 3, "there is no event ''"),
        (("egress", "show", "zz"), 3, "see 'forewatch egress list'"),
        (("egress", "list", "--proposal", "zz"), 3, "there is no proposal 'zz'"),
        (("plugins", "secret", "zz", "key"), 2, "no secret was given"),
        (("plugins", "add", "/nowhere"), 2, "/nowhere"),
        (("rules", "stats", "invoice-unpayd"), 3, "did you mean 'invoice-unpaid'?"),
        (("proposals", "never", "zz", "--scope", "foo"), 2, "--scope"),
        (("history", "query", "SELECT 1", "--export", "csv", "--json"), 2, "exclude one another"),
    ],
)
def test_a_near_miss_is_told_what_was_meant(
    forewatch: Forewatch,
    calendar: Path,
    arguments: tuple[str, ...],
    code: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    forewatch("accounts", "add", "ics", calendar, "--name", "family")
    said = forewatch(*(calendar if word == "CALENDAR" else word for word in arguments))
    assert (said.code, said.out) == (code, "")
    assert says in said.err


def test_an_id_with_one_wrong_digit_is_told_the_right_one_and_an_empty_one_is_none() -> None:
    known = ["3e6989c9-a99b-5208-ad6e-c4324aa0d64c"]
    with pytest.raises(NotFound, match="did you mean '3e6989c9'"):
        the_one("3e6989c8", known, "proposal")
    with pytest.raises(NotFound, match="there is no proposal ''"):
        the_one("", known, "proposal")


def test_a_preview_says_when_an_appointment_is_by_the_clock_of_its_owner(forewatch: Forewatch, calendar: Path) -> None:
    said = forewatch("events", "preview", calendar, "--tz", "America/New_York", "--from", "2027-03-01")
    assert "2027-03-27 20:30" in said.out


def test_tables_tell_the_owners_clock_to_the_minute() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert local("2027-03-28T00:59:59.999999+00:00", berlin) == "2027-03-28 01:59"
    assert local(datetime.fromisoformat("2027-03-28T01:00:00+00:00"), berlin) == "2027-03-28 03:00"
    assert local(None, berlin, empty="never") == "never"


def test_an_empty_home_is_no_folder(forewatch: Forewatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = forewatch("--home", "", "accounts", "list")
    assert (said.code, said.out) == (2, "")
    assert "--home is empty; name a folder, or leave it out" in said.err
    monkeypatch.setenv("FOREWATCH_HOME", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    said = forewatch("init")
    assert (said.code, said.out) == (2, "")
    assert "FOREWATCH_HOME is empty; name a folder, or leave it out" in said.err
    assert list(tmp_path.iterdir()) == []
    assert forewatch("--home", "mine", "init").code == 0, "the option wins"
    assert (tmp_path / "mine" / "config.toml").exists()


@pytest.mark.parametrize("width", [40, 80, 300])
def test_no_value_of_a_wide_table_is_cut_off(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "out", Console(force_terminal=True, width=width, highlight=False, color_system=None))
    columns = [f"column_{n}" for n in range(12)]
    values = [f"{n}" * 30 for n in range(10)]
    console.show_table(columns, [[*values, "short", None]], empty="")
    shown = "".join(capsys.readouterr().out.split())
    for value in values:
        assert shown.count(value[0]) >= 30
    assert "…" not in shown
    assert "column_11" in shown


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("accounts", "remove", "famly", "--erase"), 3, "did you mean 'family'?"),
        (("accounts", "remove", "family", "--erase"), 2, "stop it first"),
        (("events", "erase", "NEAR"), 3, "did you mean '"),
        (("events", "erase", "ID"), 2, "stop it first"),
        (("memory", "forget", "zz", "--erase"), 3, "there is no memory 'zz'"),
    ],
)
def test_the_service_is_to_be_stopped_for_an_erasure_only_where_there_is_something_to_erase(
    forewatch: Forewatch, home: Path, calendar: Path, arguments: tuple[str, ...], code: int, says: str
) -> None:
    forewatch("accounts", "add", "ics", calendar, "--name", "family")
    event = make_event({"kind": "account.silent", "subject": "a"}, 1, ZoneInfo("UTC"), "me")
    asyncio.run(append(event))
    words = {"ID": event.id, "NEAR": f"{event.id[:6]}zz"}
    with only_one(home):
        said = forewatch(*(words.get(word, word) for word in arguments))
    assert said.code == code
    assert says in said.err


async def append(event: Event) -> None:
    log = await open_settings_log(Settings.load(None))
    try:
        await log.append([output(event)])
    finally:
        await log.close()
