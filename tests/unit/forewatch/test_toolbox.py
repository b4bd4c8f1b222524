"""What is offered: everything that ships where everything is set up, and nothing that lacks what it needs."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from actions.testing.desk import Desk
from actions.tools.tool import SELF_EFFECTS, Registry
from extractors.connector import Access
from extractors.testing import Key
from forewatch.outgoing.accounts import Outgoing
from forewatch.settings import Settings
from forewatch.storage.query import HistoryQuery
from forewatch.toolbox import toolbox
from schemas.account import AccountState, Permission
from schemas.clock import ManualClock
from schemas.errors import Refused, StepFailed, TransientError

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
PAYER = {"payer": "Nora", "payer_iban": "DE02 1203 0000 0000 2020 51"}


def account(connector: str, *allow: Permission, **more: Any) -> AccountState:
    given = {"id": connector.replace("_", "-"), "owner": "me", "connector": connector, "created_at": NOW}
    return AccountState.model_validate({**given, "allow": allow, **more})


class House:
    def __init__(self, home: Path, **settings: Any) -> None:
        self.accounts: list[AccountState] = []
        clock, chosen = ManualClock(NOW), Settings(home=home, **settings)
        outgoing = Outgoing(self._enter, clock, chosen.zone)
        outgoing.accounts = lambda: self.accounts
        self.registry: Registry = toolbox(chosen, clock, outgoing)

    def _enter(self, account: AccountState, asked: bool) -> AbstractAsyncContextManager[Access]:
        return Key().open(NOW)

    @property
    def offered(self) -> set[str]:
        return set(self.registry.names())


def test_an_installation_without_settings_offers_nothing_that_reaches_out(tmp_path: Path) -> None:
    house = House(tmp_path)
    manifests = [manifest for name in house.offered if (manifest := house.registry.manifest(name))]
    assert {"notify", "mail.draft", "calendar.add", "document.write", "meeting.times"} <= house.offered
    assert [each.name for each in manifests if {"hosts", "scopes", "secrets"} & set(each.permissions)] == []
    assert [each.name for each in manifests if each.effect not in SELF_EFFECTS] == ["file.discard"]


def test_with_everything_set_up_every_tool_that_ships_is_offered(tmp_path: Path) -> None:
    house = House(tmp_path, folders=(tmp_path,), web_hosts=("example.org",), **PAYER)
    house.accounts = [account("imap", "send", "write"), account("caldav", "write")]
    desk = Desk(tmp_path, ManualClock(NOW)).registry()
    assert house.offered == set(desk.names())
    assert [n for n in desk.names() if house.registry.manifest(n) != desk.manifest(n)] == []


def test_a_permission_offers_just_the_tools_that_need_it_and_takes_them_away(tmp_path: Path) -> None:
    house = House(tmp_path)
    before = house.offered
    house.accounts = [account("gmail", "send")]
    assert house.offered - before == {"mail.send", "mail.reply", "mail.answer_invitation", "mail.unsubscribe"}
    house.accounts = [account("graph_mail", "write"), account("google_calendar")]
    assert house.offered - before == {"mail.label", "mail.move"}
    house.accounts = [account("google_calendar", "write")]
    assert {name.partition(".")[0] for name in house.offered - before} == {"meeting"}
    for status in ("removed", "paused", "needs_reauth"):
        house.accounts = [account("google_calendar", "write", status=status)]
        assert house.offered == before


@pytest.mark.parametrize(("code", "told"), [("too_slow", TransientError), ("not_allowed", StepFailed)])
def test_a_query_that_a_busy_machine_did_not_finish_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, told: type[Exception]
) -> None:
    def refuse(query: HistoryQuery, sql: str, rows: int) -> None:
        raise Refused("not this one", code=code)

    monkeypatch.setattr(HistoryQuery, "page", refuse)
    tool = House(tmp_path).registry.tool("history.query")
    assert tool is not None
    with pytest.raises(told, match="not this one"):
        asyncio.run(tool.call({"sql": "SELECT 1"}, "key"))
