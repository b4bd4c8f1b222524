"""demo: a year of an invented household, played through the real pipeline on a simulated clock."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import say, show_json, talk
from forewatch.cli.place import AsJson
from forewatch.cli.proposals import show_card

if TYPE_CHECKING:
    from rich.progress import Progress

    from forewatch.demo import Played
    from forewatch.sample.speech import Book


def register(app: typer.Typer) -> None:
    app.command()(demo)


def demo(
    seed: Annotated[int, typer.Option(help="Another household, another year.")] = 1,
    zone: Annotated[str, typer.Option(help="Where the household lives.")] = "Europe/Berlin",
    days: Annotated[int | None, typer.Option(min=1, help="Only the first days of the year.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Worded as nobody who wrote the extractors has seen.")] = False,
    keep: Annotated[
        Path | None, typer.Option(help="Keep everything in this folder; going on where it stopped.")
    ] = None,
    show: Annotated[int, typer.Option(help="How many proposals to print in full.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Play a year and print what Forewatch proposed, and how well that fits what should have been noticed."""
    if keep is not None:
        _play(keep.absolute(), seed, zone, days, fresh, show, as_json)
        return
    with tempfile.TemporaryDirectory(prefix="forewatch-demo-") as folder:
        _play(Path(folder), seed, zone, days, fresh, show, as_json)


def _play(home: Path, seed: int, zone: str, days: int | None, fresh: bool, show: int, as_json: bool) -> None:
    from forewatch.demo import Play, run

    home.mkdir(parents=True, exist_ok=True)
    with _bar() as progress:
        task = progress.add_task(f"seed {seed}", total=None)
        told: set[date] = set()

        def tell(day: date, start: date, end: date) -> None:
            progress.update(task, total=(end - start).days, completed=(day - start).days + 1, description=str(day))
            if not progress.console.is_terminal and day.day == 1 and day not in told:
                told.add(day)
                progress.console.print(f"{day:%B} ...")

        book: Book = "fresh" if fresh else "usual"
        played = asyncio.run(run(Play(home, seed=seed, book=book, zone=zone, days=days, progress=tell)))
    if as_json:
        for state in played.proposals:
            show_json(_card(played, state))
        show_json(figures(played))
    else:
        _print(played, show)


def _bar() -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=talk, transient=True)


def figures(played: Played) -> dict[str, Any]:
    """The last line of ``demo --json``."""
    score = played.score
    return {
        "recall": round(score.recall, 4),
        "precision": round(score.precision, 4),
        "cancellation_recall": round(score.cancellation_recall, 4),
        "interruptions_per_week": round(played.interruptions * 7 / played.days, 2),
        "redundancy": round(score.redundancy, 4),
        "events": played.events,
        "proposals": len(played.proposals),
        "situations": len(played.household.situations),
        "look_alikes": len(played.household.look_alikes),
        "counts": {
            "situations": score.situations,
            "noticed": score.noticed,
            "proposals": score.proposals,
            "right": score.right,
            "said": score.said,
            "said_right": score.said_right,
            "cancelled": score.cancelled,
            "withdrawn": score.withdrawn,
            "repeated": score.repeated,
            "look_alikes": score.look_alikes,
            "disturbed": score.disturbed,
            "busiest_day": played.busiest_day,
            "daily_budget": played.setup.settings.daily_budget,
        },
        "rules": [asdict(rule) for rule in score.rules],
        "seed": played.household.seed,
    }


def _card(played: Played, state: Any) -> dict[str, Any]:
    from zoneinfo import ZoneInfo

    from forewatch.cards import card

    return card(state, played.setup, ZoneInfo(played.household.zone))


def _print(played: Played, show: int) -> None:
    for state in played.proposals[:show]:
        show_card(_card(played, state))
        sys.stdout.write("\n")
    rest = len(played.proposals) - show
    for state in played.proposals[show:]:
        sys.stdout.write(f"{state.offered_at:%Y-%m-%d}  {state.phase:<10} {state.title}\n")
    numbers = {name: value for name, value in figures(played).items() if name not in ("counts", "rules")}
    sys.stdout.write("\n" + "\n".join(f"{name:<24}{value}" for name, value in numbers.items()) + "\n")
    findings = {
        "missed": played.score.misses,
        "false alarm": played.score.false_alarms,
        "not withdrawn": played.score.not_withdrawn,
    }
    for word, found in findings.items():
        for finding in found:
            say(f"{word}: {finding.what}: {finding.reason}")
    if rest > 0:
        say(f"{show} of {len(played.proposals)} proposals are shown in full; --show {len(played.proposals)} shows all")
