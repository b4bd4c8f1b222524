"""`rules why` answers with the rules that were in use when the event came, whatever the files say today."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from forewatch.cli.commands import app
from forewatch.settings import Settings
from forewatch.wiring import open_settings_log
from rules.ruleset import RuleSet
from schemas import ids
from schemas.event import Event
from schemas.money import Money
from schemas.payloads import BankPayload
from schemas.rule import Rule
from streams import topics
from streams.codec import encode
from streams.rulebook import RuleBook
from streams.work import Output

NOW = datetime(2026, 3, 1, 8, tzinfo=UTC)
MERCHANTS = ("acme", "shop", "acme", "elsewhere")
STRANGER = Rule.model_validate({
    "id": "stranger", "title": "Somebody new", "when": {"kind": "bank.posted"},
    "new_value": {"value": "payload.merchant", "min_history": 3}, "propose": {"title": "{{ new_value.value }}"},
})  # fmt: skip
UNPAID = Rule.model_validate({
    "id": "unpaid", "title": "Not paid", "when": {"kind": "mail.received"},
    "unless": {"kind": "bank.posted", "before": "30d"}, "propose": {"title": "Pay"},
})  # fmt: skip


def row(number: int) -> Event:
    at = NOW + timedelta(days=1 + number)
    return Event(
        id=ids.event_id("bank", "bank.posted", str(number), "1"),
        owner="me",
        account="bank",
        source="bankfile",
        kind="bank.posted",
        subject=f"r{number}",
        version="1",
        occurred_at=at,
        observed_at=at,
        amount=Money.of("-20", "EUR"),
        payload=BankPayload(merchant=MERCHANTS[number % len(MERCHANTS)]),
    )


async def _lived(settings: Settings, rule: Rule = STRANGER, rows: int = len(MERCHANTS)) -> None:
    settings.home.mkdir(parents=True, exist_ok=True)
    log = await open_settings_log(settings)
    try:
        await RuleBook(log).bring_into_use(RuleSet.of([rule], zone=ZoneInfo("UTC")), ["me"], NOW)
        await log.append([Output(topics.EVENTS, b"me", encode(row(number))) for number in range(rows)])
    finally:
        await log.close()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("why") / "home"
    asyncio.run(_lived(Settings(home=home)))
    return home


def asked(home: Path, event: Event, *rest: str) -> str:
    done = CliRunner().invoke(app, ["--home", str(home), "rules", "why", event.id, *rest])
    assert done.exit_code == 0, done.output + str(done.exception)
    return done.stdout


def test_a_rule_that_only_the_log_knows_explains_itself(home: Path) -> None:
    (found,) = json.loads(asked(home, row(3), "--json"))
    assert (found["rule"], found["outcome"], found["reason"]) == ("stranger", "fired", "new_value")


@pytest.mark.parametrize(
    ("number", "nearest"),
    [
        (1, "what is known: at least 3 events in 0 days (it is 1 events in 1 days)"),
        (2, "seen before: a value that was never seen (it is acme)"),
    ],
)
def test_a_value_that_was_not_told_says_what_it_lacked(home: Path, number: int, nearest: str) -> None:
    assert f"would have fired if: {nearest}" in asked(home, row(number), "stranger")


def test_a_rule_of_today_that_was_not_in_use_then_is_told_so(home: Path) -> None:
    done = CliRunner().invoke(app, ["--home", str(home), "rules", "why", row(1).id, "low-balance"])
    assert "'low-balance' was not in use when the event came, on 2026-03-03" in str(done.exception)


def test_that_not_all_was_kept_which_could_settle_it_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rules.recent.CAP", 4)
    asyncio.run(_lived(Settings(home=tmp_path), UNPAID, 5))
    *_, line = asked(tmp_path, row(4), "unpaid").splitlines()
    assert line.endswith("are kept: none up to 2026-03-02 08:00 counts any more")
