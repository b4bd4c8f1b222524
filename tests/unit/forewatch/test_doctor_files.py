"""What doctor says of an account whose file is not what the account reads."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from extractors import registry
from forewatch.settings import Settings
from forewatch.wiring import open_settings_log
from schemas.account import CursorState
from schemas.errors import ConfigError
from streams.accounts import cursors

Forewatch = Callable[..., Any]

CALENDAR = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:1@x\r\nDTSTAMP:20261101T000000Z\r\n"
    "DTSTART:20270328T013000Z\r\nSUMMARY:Night train\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)
EMPTY_CALENDAR = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nEND:VCALENDAR\r\n"
CSV = "Date;Amount;Currency;Text\n2026-02-01;-3.00;EUR;Kiosk\n2026-02-02;-4.00;EUR;Kiosk\n"
LETTER = "Dear Nora,\nsee you on Friday.\n"


async def polled(account: str) -> None:
    """As a poll leaves it that found nothing to complain of."""
    now = datetime(2026, 12, 1, tzinfo=UTC)
    log = await open_settings_log(Settings.load(None))
    try:
        await log.append([cursors(log).output(CursorState(account=account, polled_at=now, succeeded_at=now))])
    finally:
        await log.close()


@pytest.mark.parametrize(
    ("kind", "name", "content", "says"),
    [
        ("ics", "family.ics", CSV, ("warn", "family.ics is not what ics expects", "looks like bankfile")),
        ("ics", "family.ics", LETTER, ("warn", "no BEGIN:VCALENDAR in it", "put the right file there")),
        ("bankfile", "march.csv", CALENDAR, ("warn", "is not what bankfile expects", "accounts add ics")),
        ("bankfile", "march.csv", LETTER, ("warn", "is not what bankfile expects", "put the right file there")),
        ("ics", "family.ics", CALENDAR, ("ok", "last polled")),
        ("ics", "family.ics", EMPTY_CALENDAR, ("ok", "last polled")),
        ("bankfile", "march.csv", CSV, ("ok", "last polled")),
    ],
)
def test_a_file_that_is_not_what_its_account_reads_is_told(
    forewatch: Forewatch, tmp_path: Path, kind: str, name: str, content: str, says: tuple[str, ...]
) -> None:
    path = tmp_path / name
    path.write_text(CSV if kind == "bankfile" else CALENDAR)
    assert forewatch("accounts", "add", kind, path, "--name", "it").code == 0
    path.write_text(content)  # it was right once: 'accounts add' would not have taken it
    asyncio.run(polled("it"))
    (check,) = (check for check in forewatch("doctor", "--json").json if check["name"] == "account it")
    assert check["state"] == says[0]
    for words in says[1:]:
        assert words in f"{check['detail']} {check['remedy']}"


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (ConfigError("unknown connector 'ics'", remedy="install its package"), "unknown connector 'ics'"),
        (PermissionError(13, "Permission denied", "family.ics"), "Permission denied"),
    ],
)
def test_an_account_that_cannot_even_be_looked_at_ends_no_other_check(
    forewatch: Forewatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Exception, says: str
) -> None:
    for name in ("it", "other"):
        (path := tmp_path / f"{name}.ics").write_text(CALENDAR)
        assert forewatch("accounts", "add", "ics", path, "--name", name).code == 0
        asyncio.run(polled(name))

    def refuse(name: str) -> None:
        raise broken

    monkeypatch.setattr(registry, "connector", refuse)
    found = {check["name"]: check for check in forewatch("doctor", "--json").json}
    assert [found[f"account {name}"]["state"] for name in ("it", "other")] == ["fail", "fail"]
    assert says in found["account it"]["detail"]
