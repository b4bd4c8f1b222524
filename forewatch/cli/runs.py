"""runs list|show|stop|pause|resume|abort|retry|edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import out, say, show_json, show_table
from forewatch.cli.place import AsJson, client, settings, with_log
from forewatch.cli.proposals import find_card, pair
from forewatch.instants import local

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
        for line in dict.fromkeys(r["waits"] for r in runs if r["waits"]):
            say(line)


async def _runs(log: Log, chosen: Settings) -> list[dict[str, Any]]:
    from forewatch.cards import run_row, waiting
    from streams.journal import read_books

    books = await read_books(log)
    states = [state for book in books.values() for state in book.proposals.values()]
    waits = waiting(books.values(), chosen.zone)
    rows = [row for state in states if (row := run_row(state)) is not None]
    return [row | {"waits": waits.get(row["id"], "")} for row in rows]


@app.command()
def show(run: Run, as_json: AsJson = False) -> None:
    """What was done, step by step, with its receipts: the journal of one run."""
    card = find_card(run)
    entries = with_log(lambda log, chosen: _entries(log, chosen, card["id"]))
    if as_json:
        show_json({"proposal": card, "journal": entries})
        return
    zone = settings().zone
    out.print(card["title"], markup=False)
    show_table(
        ("when", "entry", "step", "detail"),
        [(local(e["at"], zone), e["type"], e["body"].get("step", ""), e["says"]) for e in entries],
        empty="",
    )
    if card["waits"]:
        say(card["waits"])


async def _entries(log: Log, chosen: Settings, proposal: str) -> list[dict[str, Any]]:
    from forewatch.cards import entry_line
    from streams.journal import valid_entries

    found = [entry async for entry in valid_entries(log) if entry.stream == proposal]
    return [entry.model_dump(mode="json") | {"says": entry_line(entry, chosen.zone)} for entry in found]


Why = Annotated[str, typer.Option("--reason", help="Why; kept.")]
Digest = Annotated[str, typer.Option(help="The code of the plan that you saw; without it, the present one is meant.")]


def _tell(run: str, verb: str, args: dict[str, Any], done: str, as_json: bool, digest: str = "") -> None:
    card = find_card(run)
    body = {"channel": "cli", "who": settings().owner, "digest": digest or card["digest"], "args": args}
    answer = client().post(f"/proposals/{card['id']}/{verb}", body)
    if as_json:
        show_json(answer)
    else:
        say(f"{card['title']}: {done}")


@app.command()
def stop(run: Run, reason: Why = "", as_json: AsJson = False) -> None:
    """Stop before the next effect. What is under way is finished and recorded."""
    _tell(run, "stop", {"reason": reason}, "stopping", as_json)


@app.command()
def pause(run: Run, reason: Why = "", as_json: AsJson = False) -> None:
    """Begin nothing more until it is resumed. What is under way is finished; waits keep their dates."""
    _tell(run, "pause", {"reason": reason}, "paused", as_json)


@app.command()
def resume(run: Run, as_json: AsJson = False) -> None:
    """Go on with a paused run; what has become due meanwhile happens now."""
    _tell(run, "resume", {}, "going on", as_json)


@app.command()
def abort(
    run: Run,
    undo: Annotated[bool, typer.Option("--undo", help="Also take back what was done, as far as it can be.")] = False,
    reason: Why = "",
    as_json: AsJson = False,
) -> None:
    """Stop for good; with --undo, take back what was done, last step first. A run that is over can be undone too."""
    done = "stopping, then undoing what can be undone" if undo else "stopping"
    _tell(run, "abort", {"undo": undo, "reason": reason}, done, as_json)


@app.command()
def retry(
    run: Run,
    step: Annotated[str, typer.Argument(help="The step that failed, such as s2.")],
    digest: Digest = "",
    as_json: AsJson = False,
) -> None:
    """Try a step that failed once more, and go on from there."""
    _tell(run, "retry", {"step": step}, f"{step} is tried again", as_json, digest)


@app.command()
def edit(
    run: Run,
    step: Annotated[str, typer.Argument(help="A step that has not begun, such as s3.")],
    change: Annotated[list[str], typer.Argument(help="NAME=VALUE, once for each argument.")],
    digest: Digest = "",
    as_json: AsJson = False,
) -> None:
    """Change what has not begun yet; an effect that changes has to be approved again."""
    args = {"step": step, "args": dict(pair(item) for item in change)}
    _tell(run, "edit", args, "changed; see 'forewatch runs show' whether it asks you", as_json, digest)
