"""What doctor says of the model (off it costs nothing and is no fault; on, is it there and what may it still cost?) and
of what could not be read."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from actions.journal import Draft, Tip, seal
from forewatch.doctor import Check, examine
from forewatch.reading import host_of
from forewatch.settings import Settings
from forewatch.wiring import open_settings_log
from schemas.clock import SystemClock
from schemas.errors import PoisonError
from schemas.model import Json
from streams import topics
from streams.codec import encode
from streams.deadletter import dead_letter
from streams.work import Output


def settings(home: Path, **changes: Any) -> Settings:
    home.mkdir(mode=0o700, exist_ok=True)
    return Settings(home=home, timezone="UTC", **changes)


def checks(of: Settings) -> dict[str, Check]:
    return {check.name: check for check in examine(lambda: of) if check.name.startswith("model")}


@pytest.fixture
def line() -> Iterator[str]:
    """Somebody who picks up."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def asked(of: Settings, prompt: int, answered: bool = True) -> None:
    """A request of today, as the planner journals it."""

    async def write() -> None:
        now = SystemClock().now()
        body: dict[str, Json] = {"rung": "strict", "prompt_tokens": prompt, "max_tokens": 100, "cost": "0.25"}
        drafts = [Draft("p1", "model.asked", now, "planner", "x", body)]
        (entry,) = seal(drafts, owner="me", epoch=1, tip=lambda stream: Tip(0, 0, ""))
        entries = [entry]
        if answered:
            told: dict[str, Json] = {
                "asked": entry.id, "prompt_tokens": prompt, "completion_tokens": 40, "cost": "0.20",
            }  # fmt: skip
            later = Draft("p1", "model.answered", now, "planner", entry.id, told)
            entries += seal([later], owner="me", epoch=1, tip=lambda stream: Tip(entry.seq, 1, entry.hash))
        log = await open_settings_log(of)
        try:
            await log.append([Output(topics.JOURNAL, b"me", encode(each), 0) for each in entries])
        finally:
            await log.close()

    asyncio.run(write())


def test_no_model_is_no_fault(tmp_path: Path) -> None:
    assert checks(settings(tmp_path)) == {"model": Check("model", "ok", "off: playbooks plan by themselves")}


def test_no_model_costs_nothing(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom forewatch.doctor import _model\n"
        "from forewatch.settings import Settings\n"
        "print([check.state for check in _model(Settings(home=Path(sys.argv[1]), timezone='UTC'))],\n"
        "      'openai' in sys.modules, 'httpx' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["['ok']", "False", "False"]


def test_half_a_model_is_a_fault_that_names_the_other_half(tmp_path: Path) -> None:
    (check,) = checks(settings(tmp_path, planner_model="small")).values()
    assert (check.state, check.detail) == ("fail", "planner_url is not set")
    assert "FOREWATCH_PLANNER_URL" in check.remedy


def test_a_model_that_is_there_is_told_with_what_it_may_still_cost(tmp_path: Path, line: str) -> None:
    of = settings(tmp_path, planner_model="small", planner_url=line)
    found = checks(of)
    assert {check.state for check in found.values()} == {"ok"}
    assert found["model"].detail.startswith(f"small at {line.split('/')[2]} answers")
    assert found["model budget"].detail == "nothing was answered yet; today 0 of 400000 tokens"
    asked(of, 1000)
    used = "the last answer came by strict; today 1040 of 400000 tokens, 0.20 EUR"
    assert checks(of)["model budget"] == Check("model budget", "ok", used)


def test_a_budget_that_is_used_up_says_how_long(tmp_path: Path, line: str) -> None:
    of = settings(tmp_path, planner_model="small", planner_url=line, planner_tokens_per_day=2000)
    asked(of, 900, answered=False)
    check = checks(of)["model budget"]
    assert (check.state, check.detail) == ("warn", "nothing was answered yet; today 1000 of 2000 tokens, 0.25 EUR")
    assert "again tomorrow" in check.remedy


def test_a_model_that_nobody_answers_for_leaves_the_playbooks(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    check = checks(settings(tmp_path, planner_model="small", planner_url=f"http://127.0.0.1:{port}/v1"))["model"]
    assert check.state == "warn"
    assert "until then playbooks plan by themselves" in check.remedy


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://box.example/v1", ("box.example", 80)),
        ("https://box.example/v1", ("box.example", 443)),
        ("https://box.example:8443/v1", ("box.example", 8443)),
    ],
)
def test_a_model_is_looked_for_at_the_port_where_its_texts_are_said_to_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, place: tuple[str, int]
) -> None:
    tried: list[tuple[str, int]] = []

    def nobody(where: tuple[str, int], *_: Any) -> None:
        tried.append(where)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", nobody)
    assert checks(settings(tmp_path, planner_model="small", planner_url=url))["model"].state == "warn"
    assert tried == [place]
    assert host_of(url) == "{}:{}".format(*place)


def refused(of: Settings, *letters: Output) -> None:
    async def write() -> None:
        log = await open_settings_log(of)
        try:
            await log.append(letters)
        finally:
            await log.close()

    asyncio.run(write())


def dead_letters(of: Settings) -> Check:
    (check,) = (check for check in examine(lambda: of) if check.name == "dead letters")
    return check


def test_what_could_not_be_read_lately_is_told_with_its_accounts_and_where_to_look(tmp_path: Path) -> None:
    chosen, now = settings(tmp_path), SystemClock().now()
    error = PoisonError("no date in\x1b[31m line 7", code="malformed")
    old = dead_letter("ics", "a.ics", error, b"x", now - timedelta(days=31), account="calendar")
    new = [
        dead_letter("ofx", f"row {n}", error, b"x", now - timedelta(days=n), account=account)
        for n, account in enumerate(("bank", "mail", "bank", "bank"), start=1)
    ]
    refused(chosen, old)
    assert dead_letters(chosen) == Check("dead letters", "ok", "none in 30 days")
    refused(chosen, *new, new[0])
    check = dead_letters(chosen)
    at = f"{now - timedelta(days=1):%Y-%m-%d %H:%M}"
    assert check.state == "warn"
    assert check.detail == f"4 in 30 days (bank 3, mail 1); the newest at {at}: no date in[31m line 7"
    assert "FROM dead_letters ORDER BY refused_at DESC" in check.remedy


def test_the_checks_need_nothing_of_the_command_line() -> None:
    code = "import sys, forewatch.doctor; print(*(name for name in sys.modules if name.startswith('forewatch.cli.')))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
