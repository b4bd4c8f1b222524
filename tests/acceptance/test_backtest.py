"""A backtest over a played household says what the service said, from the command line as from code."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from typer.testing import CliRunner

from forewatch.backtesting import read_answers, read_histories
from forewatch.cli.commands import app
from forewatch.demo import Play, run, settings_of
from forewatch.testing import approve_all
from forewatch.wiring import open_settings_log
from rules.backtest import Said
from rules.drafting import draft
from rules.library import library_paths
from rules.loader import load
from rules.replay import Replay, Stops, replay
from schemas.event import Event
from schemas.trigger import SIGNALS, Merge, Signal, Trigger
from streams import topics

ZONE = ZoneInfo("Europe/Berlin")
RULES = load(library_paths(), zone=ZONE)


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Forty-five days over the change of clocks in spring; what is offered is approved."""
    play = Play(tmp_path_factory.mktemp("backtest"), seed=5, start=date(2026, 2, 20), days=45, answer=approve_all)
    asyncio.run(run(play))
    return play


async def _written(play: Play) -> tuple[dict[str, list[Event]], list[Signal], dict[Said, bool]]:
    log = await open_settings_log(settings_of(play))
    try:
        entries = [
            e for p in range(log.partitions(topics.TRIGGERS)) for e in await log.read(topics.TRIGGERS, p, 0, 99_999)
        ]
        signals = [SIGNALS.validate_json(entry.value) for entry in entries if entry.value]
        return await read_histories(log), signals, await read_answers(log)
    finally:
        await log.close()


def said(signals: Iterable[Signal]) -> list[str]:
    return [signal.model_dump_json() for signal in signals]


def test_it_says_what_the_service_said_word_for_word(play: Play) -> None:
    histories, live, _ = asyncio.run(_written(play))
    ((owner, events),) = histories.items()
    assert len([signal for signal in live if isinstance(signal, Trigger)]) >= 3
    assert said(Replay(RULES, owner, ZONE, Stops(events)).tell(events)) == said(live)


def test_each_rule_alone_says_what_it_said_among_all(play: Play) -> None:
    histories, live, _ = asyncio.run(_written(play))
    ((owner, events),) = histories.items()
    for rule in RULES:
        alone = replay(type(RULES)([rule], ZONE), events, owner=owner, zone=ZONE)
        assert said(alone) == said(s for s in live if not isinstance(s, Merge) and s.rule == rule.id)


def test_the_command_reports_it_with_the_answers(play: Play) -> None:
    _, live, answers = asyncio.run(_written(play))
    counts = Counter(signal.rule for signal in live if isinstance(signal, Trigger))
    library = library_paths()[0].parent if library_paths()[0].is_file() else library_paths()[0]
    home = str(settings_of(play).home)
    done = CliRunner().invoke(app, ["--home", home, "rules", "backtest", str(library), "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert {row["rule"]: row["triggers"] for row in report["rules"] if row["triggers"]} == counts
    assert sum(row["answered"] for row in report["rules"]) == len(answers) > 0
    assert all(row["first"][0]["title"] for row in report["rules"] if row["triggers"])


def test_the_command_compares_two_files(play: Play, tmp_path: Path) -> None:
    rule = (
        "rules:\n  - id: charge\n    title: A charge\n    when: {kind: bank.posted, where: 'amount < -%s'}\n"
        "    propose: {title: '{{ merchant }} took {{ amount | abs | money }}'}\n"
    )
    (tmp_path / "new.yaml").write_text(rule % 20)
    (tmp_path / "old.yaml").write_text(rule % 200)
    home = str(settings_of(play).home)
    files = [str(tmp_path / "new.yaml"), "--compare", str(tmp_path / "old.yaml")]
    done = CliRunner().invoke(app, ["--home", home, "rules", "backtest", *files, "--since", "14d"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0].startswith("charge\t")
    assert any(line.startswith("+\t") for line in lines)
    assert not any(line.startswith("-\t") for line in lines)


def test_what_is_neither_a_file_nor_a_rule_is_told(play: Play) -> None:
    done = CliRunner().invoke(app, ["--home", str(settings_of(play).home), "rules", "backtest", "nothing"])
    assert "there is no file and no rule 'nothing'" in str(done.exception)


def test_every_event_of_a_household_can_be_the_beginning_of_a_rule(play: Play) -> None:
    histories, _, _ = asyncio.run(_written(play))
    events = {(event.kind, *(fact.kind for fact in event.facts)): event for event in histories["me"]}
    drafted = {event.kind for event in events.values() if event.source != "clock" and draft(event, zone=ZONE).text}
    assert {"mail.received", "bank.posted", "calendar.scheduled"} <= drafted


def test_from_an_event_to_a_rule_in_use(play: Play, tmp_path: Path) -> None:
    def forewatch(*arguments: str) -> str:
        done = CliRunner().invoke(app, ["--home", str(settings_of(play).home), *arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    histories, _, _ = asyncio.run(_written(play))
    event = next(event for event in reversed(histories["me"]) if event.kind == "bank.posted")
    mine = str(tmp_path / "mine.yaml")
    forewatch("rules", "new", "--from-event", event.id[:12], "--id", "mine", "--output", mine)
    forewatch("rules", "check", mine)
    forewatch("rules", "test", mine)
    report = json.loads(forewatch("rules", "backtest", mine, "--json"))
    assert report["rules"][0]["triggers"] >= 1
    forewatch("rules", "add", mine)
    assert "mine\t" in forewatch("rules", "list")
    again = CliRunner().invoke(app, ["--home", str(settings_of(play).home), "rules", "add", mine])
    assert "there is a rule 'mine' already" in str(again.exception)
