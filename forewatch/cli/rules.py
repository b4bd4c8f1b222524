"""rules check|test|why, and those of their own files: backtest, new, add, stats, and which are in use."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli import backtest, newrule, rulesinuse, stats
from forewatch.cli.console import Exit, out, say, show_json, show_table
from forewatch.cli.place import AsJson, settings, with_log
from schemas.clock import SystemClock
from schemas.errors import NotFound
from schemas.suggest import did_you_mean

if TYPE_CHECKING:
    from forewatch.settings import Settings
    from rules.ruleset import RuleSet
    from schemas.event import Event
    from streams.work import Log

app = typer.Typer(no_args_is_help=True)
backtest.register(app)
newrule.register(app)
stats.register(app)
rulesinuse.register(app)

Paths = Annotated[list[Path] | None, typer.Argument(help="Rule files, folders, or ids of rules; by default all.")]


def _rules(paths: list[Path] | None) -> RuleSet:
    from forewatch.wiring import build_setup, load_rules
    from rules.loader import load

    chosen = settings()
    setup = build_setup(chosen, SystemClock())
    if not paths:
        return load_rules(chosen, setup)
    if not any(path.exists() for path in paths):
        in_use = load_rules(chosen, setup)
        if all(str(path) in in_use.by_id for path in paths):
            return in_use.with_inhibitors(map(str, paths))
    return load(paths, zone=chosen.zone, playbooks=setup.playbooks.keys())


@app.command()
def check(paths: Paths = None, as_json: AsJson = False) -> None:
    """Is every rule well formed, and can it fire? Exit code 2 for an error, 1 for a warning."""
    from rules.lint import lint

    rules = _rules(paths)
    warnings = lint(rules)
    if as_json:
        show_json({"rules": len(rules), "warnings": [str(warning) for warning in warnings]})
    else:
        for warning in warnings:
            say(str(warning))
        say(f"{len(rules)} rules, {len(warnings)} warnings")
    if warnings:
        raise typer.Exit(Exit.FAILED)


@app.command()
def health(as_json: AsJson = False) -> None:
    """Which rules cannot see what they wait for: nothing comes, their sources are silent, or no history fills."""
    found = with_log(_health)
    if as_json:
        show_json(found)
    else:
        show_table(("rule", "what"), [(f["rule"], f["says"]) for f in found], empty="every rule sees what it waits for")
    if found:
        raise typer.Exit(Exit.FAILED)


async def _health(log: Log, chosen: Settings) -> list[dict[str, str]]:
    from dataclasses import asdict

    from forewatch.watchdog import findings
    from forewatch.wiring import shipped_rules

    return [asdict(found) for found in await findings(log, _rules(None), shipped_rules, chosen, SystemClock().now())]


@app.command("test")
def run_tests(paths: Paths = None, as_json: AsJson = False) -> None:
    """Run each rule's own examples: those that must fire, and those on which it must stay silent."""
    from rules.testing import run_examples

    rules = _rules(paths)
    results = [result for rule in rules for result in run_examples(rule, rules=rules)]
    failed = [result for result in results if not result.passed]
    if as_json:
        show_json(
            {"examples": len(results), "failed": [{"rule": r.rule, "example": r.name, "why": r.why} for r in failed]}
        )
    else:
        for result in failed:
            say(f"{result.rule}: {result.name}: {result.why}")
        say(f"{len(results)} examples, {len(failed)} failed")
    if failed:
        raise typer.Exit(Exit.FAILED)


@app.command()
def schema() -> None:
    """The JSON Schema of rule files, for editors that complete and check."""
    from rules.schema import json_schema

    show_json(json_schema())


@app.command()
def why(
    event: Annotated[str, typer.Argument(help="An event's id, or the start of it.")],
    rule: Annotated[str, typer.Argument(help="Only this rule.")] = "",
    as_json: AsJson = False,
) -> None:
    """Why each rule fired, or did not, on an event: every condition's value, and what would have changed it."""
    found = with_log(lambda log, chosen: _why(log, chosen, event, rule))
    if as_json:
        show_json(found)
        return
    for item in found:
        out.print(f"{item['rule']}: {item['outcome']} ({item['reason']})", markup=False)
        for value in item["values"]:
            mark = "+" if value["holds"] else "-"
            out.print(f"  {mark} {value['condition']}   was {value['value']!r}", markup=False)
        if item["nearest"]:
            out.print(f"  would have fired if: {item['nearest']}", markup=False)
        if item["bound"]:
            out.print(f"  {item['bound']}", markup=False)


async def _why(log: Log, chosen: Settings, wanted: str, rule: str) -> list[dict[str, Any]]:
    """Replays the owner's events up to that one, with the rules in use then: the answer is what evaluation saw."""
    from rules.explain import why as explain
    from schemas.event import Event
    from streams import topics
    from streams.codec import decode
    from streams.work import read_entries

    before: list[Event] = []
    for partition in range(log.partitions(topics.EVENTS)):
        before.clear()
        async for entry in read_entries(log, topics.EVENTS, partition):
            event = decode(Event, entry.value or b"")
            before.append(event)
            if event.id.startswith(wanted):
                own = [one for one in before if one.owner == event.owner]
                rules = await _rules_then(log, chosen, own[:-1])
                _must_have(rules, rule, event)
                found = explain(rules, own, owner=event.owner, zone=chosen.zone, rule=rule or None)
                return [item.model_dump(mode="json") for item in found]
    raise NotFound(f"there is no event {wanted!r}", remedy="see 'forewatch events tail'")


async def _rules_then(log: Log, chosen: Settings, before: Sequence[Event]) -> RuleSet:
    """The rules that were in use after these events; those of the files where the log names none."""
    from streams.rulebook import CHANGED, RuleBook

    changed = next((event for event in reversed(before) if event.kind == CHANGED), None)
    if changed is None or changed.payload is None or changed.payload.type != "rules":
        return _rules(None)
    return await RuleBook(log).rules(changed.payload.digest, chosen.zone)


def _must_have(rules: RuleSet, rule: str, event: Event) -> None:
    if not rule or rule in rules.by_id:
        return
    if any(known.id == rule for known in _rules(None)):
        day = event.observed_at.date().isoformat()
        raise NotFound(
            f"the rule {rule!r} was not in use when the event came, on {day}",
            remedy="ask without a rule, or see 'forewatch rules backtest'",
        )
    remedy = did_you_mean(rule, rules.by_id) or "see 'forewatch rules list'"
    raise NotFound(f"there is no rule {rule!r}", remedy=remedy)
