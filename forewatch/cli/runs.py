"""runs list|show|stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import out, say, show_json, show_table
from forewatch.cli.place import AsJson, client, settings, with_log
from forewatch.cli.proposals import find_card

if TYPE_CHECKING:
    from forewatch.settings import Settings
    from streams.work import Log

app = typer.Typer(no_args_is_help=True)

Run = Annotated[str, typer.Argument(help="The id of its proposal, or the start of it.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Everything that was approved, newest last."""
    runs = with_log(_runs)
    if as_json:
        show_json(runs)
    else:
        show_table(
            ("id", "state", "steps", "title"),
            [(r["id"][:8], r["state"], f"{r['done']}/{r['steps']}", r["title"]) for r in runs],
            empty="nothing was approved yet",
        )


async def _runs(log: Log, chosen: Settings) -> list[dict[str, Any]]:
    from forewatch.cards import run_row
    from streams.journal import read_books

    books = await read_books(log)
    rows = [run_row(state) for book in books.values() for state in book.proposals.values()]
    return [row for row in rows if row is not None]


@app.command()
def show(run: Run, as_json: AsJson = False) -> None:
    """What was done, step by step, with its receipts: the journal of one run."""
    card = find_card(run)
    entries = with_log(lambda log, chosen: _entries(log, chosen, card["id"]))
    if as_json:
        show_json({"proposal": card, "journal": entries})
        return
    out.print(card["title"], markup=False)
    show_table(
        ("when", "entry", "step", "detail"),
        [(e["at"], e["type"], e["body"].get("step", ""), e["says"]) for e in entries],
        empty="",
    )


async def _entries(log: Log, _: Settings, proposal: str) -> list[dict[str, Any]]:
    from forewatch.cards import entry_line
    from streams.journal import valid_entries

    found = [entry async for entry in valid_entries(log) if entry.stream == proposal]
    return [entry.model_dump(mode="json") | {"says": entry_line(entry)} for entry in found]


@app.command()
def stop(run: Run, reason: Annotated[str, typer.Option(help="Why; kept.")] = "", as_json: AsJson = False) -> None:
    """Stop before the next effect. What is under way is finished and recorded."""
    card = find_card(run)
    body = {"channel": "cli", "who": settings().owner, "args": {"reason": reason}}
    answer = client().post(f"/proposals/{card['id']}/stop", body)
    if as_json:
        show_json(answer)
    else:
        say(f"{card['title']}: stopping")
