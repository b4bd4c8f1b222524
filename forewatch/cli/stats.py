"""rules stats: what became of each rule's proposals."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import show_json, show_table
from forewatch.cli.place import AsJson, duration, rules_in_use, with_log
from forewatch.cli.rulesinuse import the_rule
from schemas.clock import SystemClock

if TYPE_CHECKING:
    from actions.proposal.figures import RuleFigures
    from forewatch.settings import Settings
    from streams.work import Log


def register(app: typer.Typer) -> None:
    app.command()(stats)


def stats(
    rule: Annotated[str, typer.Argument(help="Only this rule.")] = "",
    since: Annotated[str, typer.Option(help="Count only what happened in this last time, such as 90d.")] = "",
    as_json: AsJson = False,
) -> None:
    """How often each rule fired, and what you made of it: approved, rejected, snoozed; its rate of false alarms."""
    if rule:
        the_rule(rules_in_use(), rule)
    start = SystemClock().now() - duration(since, "--since") if since else None
    found = [row for row in with_log(lambda log, chosen: _figures(log, chosen, start)) if rule in ("", row.rule)]
    if as_json:
        show_json([_document(row) for row in found])
        return
    show_table(
        ("rule", "fired", "withdrawn", "held back", "proposals", "at once", "approved", "rejected", "false alarms"),
        [
            (r.rule, r.fired, r.withdrawn, sum(r.suppressed.values()), r.proposals, r.interrupted, r.approved,
             r.rejected, _rate(r))
            for r in found
        ],
        empty="no rule has fired yet",
    )  # fmt: skip


def _document(row: RuleFigures) -> dict[str, Any]:
    rate = row.false_alarm_rate
    return row.model_dump(mode="json") | {"false_alarm_rate": None if rate is None else round(rate, 4)}


def _rate(row: RuleFigures) -> str:
    rate = row.false_alarm_rate
    return "not answered yet" if rate is None else f"{rate:.0%}"


async def _figures(log: Log, chosen: Settings, since: datetime | None) -> list[RuleFigures]:
    from actions.proposal.figures import figures
    from forewatch.backtesting import read_signals
    from streams.journal import valid_entries

    return figures(await read_signals(log), [entry async for entry in valid_entries(log)], since)
