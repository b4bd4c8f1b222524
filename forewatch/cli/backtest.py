"""rules backtest: what a rule would have said over the history of this home."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import say, show_json, show_table
from forewatch.cli.place import AsJson, duration, rules_in_use, settings, with_log
from schemas.clock import SystemClock, to_the_minute
from schemas.errors import NotFound
from schemas.suggest import did_you_mean

if TYPE_CHECKING:
    from rules.backtest import Report, RuleReport, Sample
    from rules.ruleset import RuleSet
    from streams.work import Log


def register(app: typer.Typer) -> None:
    app.command()(backtest)


def backtest(
    what: Annotated[str, typer.Argument(metavar="FILE|ID", help="A rule file or folder, or the id of a rule in use.")],
    since: Annotated[str, typer.Option(help="Count only what is said in this last time, such as 90d.")] = "",
    compare: Annotated[
        str,
        typer.Option(
            metavar="FILE|REVISION", help="Another version: a file, or an earlier revision (see 'rules show')."
        ),
    ] = "",
    show: Annotated[int, typer.Option(min=0, max=100, help="Examples of each rule, at each end.")] = 3,
    as_json: AsJson = False,
) -> None:
    """What these rules would have said over your history, how often, and how you answered where they were in use.

    Reads the log only: no service is needed, and a running one does not mind. Nothing is proposed.
    """
    from forewatch.wiring import build_setup

    chosen = settings()
    playbooks = build_setup(chosen, SystemClock()).playbooks.keys()
    rules, only = _rules(what, list(playbooks))
    other = _from_file(Path(compare), list(playbooks)) if Path(compare).is_file() else None
    report = _run(rules, only, other or compare, duration(since, "--since") if since else None, show)
    if as_json:
        show_json(_document(report))
    else:
        _show(report)


def _rules(what: str, playbooks: list[str]) -> tuple[RuleSet, str]:
    """The rules to play, and the one of them that was asked for; empty: all of them."""
    if Path(what).exists():
        return _from_file(Path(what), playbooks), ""
    in_use = rules_in_use()
    if what not in in_use.by_id:
        remedy = did_you_mean(what, in_use.by_id) or "see 'forewatch rules list'"
        raise NotFound(f"there is no file and no rule {what!r}", remedy=remedy)
    return _all_on(in_use.with_inhibitors([what])), what


def _from_file(path: Path, playbooks: list[str]) -> RuleSet:
    """Its rules, those too that are not enabled: a backtest is what one does before."""
    from rules.loader import load

    return _all_on(load([path], zone=settings().zone, playbooks=playbooks))


def _all_on(rules: RuleSet) -> RuleSet:
    from rules.ruleset import RuleSet

    return RuleSet.of([rule.model.model_copy(update={"enabled": True}) for rule in rules], zone=rules.zone)


async def _revision(log: Log, wanted: str, rules: RuleSet) -> RuleSet:
    """The one revision of any of these rules that was in use once and whose name starts so."""
    from rules.ruleset import RuleSet
    from schemas.rule import Rule
    from streams.rulebook import RuleBook

    book = RuleBook(log)
    await book.refresh()
    found = [one for rule in rules for one in book.revisions(rule.id) if one.revision.startswith(wanted)]
    if len(found) != 1:
        what = f"{len(found)} revisions start with" if found else "there is no file and no revision"
        raise NotFound(f"{what} {wanted!r}", remedy="see 'forewatch rules show ID'")
    return RuleSet.of([Rule.model_validate(found[0].model)], zone=rules.zone)


def _run(rules: RuleSet, only: str, other: RuleSet | str, since: timedelta | None, show: int) -> Report:
    """``other``: rules, or a revision; empty: nothing to compare with."""
    from forewatch.backtesting import read_answers, read_histories
    from rules.backtest import backtest as run

    async def read(log: Any, chosen: Any) -> Report:
        histories, answers = await read_histories(log), await read_answers(log)
        newest = max((event.observed_at for events in histories.values() for event in events), default=None)
        start = newest - since if newest is not None and since is not None else None
        options: dict[str, Any] = {"since": start, "answers": answers, "only": only, "shown": show}
        if other:
            options["against"] = await _revision(log, other, rules) if isinstance(other, str) else other
        return run(rules, histories, zone=chosen.zone, **options)

    return with_log(read)


def _document(report: Report) -> dict[str, Any]:
    found = report.model_dump(mode="json")
    for row, rule in zip(found["rules"], report.rules, strict=True):
        row["precision"] = round(rule.precision, 4) if rule.precision is not None else None
    return found


def _show(report: Report) -> None:
    rows = [(r.rule, r.triggers, r.retractions, r.suppressions, f"{r.per_week:.2f}", _answers(r)) for r in report.rules]
    columns = ("rule", "said", "withdrawn", "suppressed", "a week", "approved of answered")
    show_table(columns, rows, empty="no rules")
    zone = settings().zone
    for rule in report.rules:
        samples = [*((" ", s) for s in rule.first), *((" ", s) for s in rule.last)]
        if rule.difference is not None:
            samples = [*(("+", s) for s in rule.difference.only_here), *(("-", s) for s in rule.difference.only_there)]
            say(f"{rule.rule}: both say {rule.difference.both}; + only this one, - only the other")
        shown = [(mark, to_the_minute(s.at, zone), rule.rule, _title(s)) for mark, s in samples]
        if shown:
            show_table(("", "when", "rule", "title"), shown, empty="")
    say(f"{report.events} events, {report.days} days counted")


def _answers(rule: RuleReport) -> str:
    return f"{rule.right} of {rule.answered}" if rule.answered else "-"


def _title(sample: Sample) -> str:
    return f"{sample.title} (withdrawn)" if sample.retracted else sample.title
