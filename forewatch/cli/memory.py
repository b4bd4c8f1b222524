"""memory list|show|keep|correct|forget, and remember: what was learnt from your answers, and your word on it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import out, say, show_json, show_table
from forewatch.cli.place import AsJson, client, settings, with_log
from forewatch.instants import local
from schemas.clock import SystemClock
from schemas.errors import Refused, Unreachable

if TYPE_CHECKING:
    from forewatch.settings import Settings
    from streams.work import Log

app = typer.Typer(no_args_is_help=True)

Which = Annotated[str, typer.Argument(help="Its id, or the start of it.")]


def register(main: typer.Typer) -> None:
    main.add_typer(app, name="memory", help="What was learnt from your answers, and what you told it.")
    main.command()(remember)


@app.command("list")
def list_(
    query: Annotated[
        str, typer.Argument(help="Words to look for; the best first. Without: all, the newest first.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """What is remembered."""
    found = _asked(query) if query else with_log(_documents)
    if as_json:
        show_json(found)
        return
    zone = settings().zone
    show_table(
        ("id", "kind", "standing", "times", "last", "says"),
        [(m["id"][:8], m["kind"], m["standing"], m["support"], local(m["last"], zone), m["says"]) for m in found],
        empty="nothing is remembered" + (" of that" if query else ""),
    )


def _asked(query: str) -> list[dict[str, Any]]:
    """A running service may search by meaning."""
    try:
        found: list[dict[str, Any]] = client().get("/memory", query=query)
    except Unreachable:
        return with_log(lambda log, chosen: _documents(log, chosen, query))
    return found


async def _documents(log: Log, chosen: Settings, query: str = "") -> list[dict[str, Any]]:
    from actions.memory.recall import ranked
    from forewatch.memories import documents, index, read_book

    book = await read_book(log, chosen)
    searched = index(chosen, book.memory)
    found = ranked(book.memory, query, None, searched.search) if query else list(book.memory)
    return documents(book, found, chosen.zone)


def _find(wanted: str) -> dict[str, Any]:
    from forewatch.api import the_one

    found = {memory["id"]: memory for memory in with_log(_documents)}
    return found[the_one(wanted, list(found), "memory", "forewatch memory list")]


@app.command()
def show(memory: Which, as_json: AsJson = False) -> None:
    """One memory, and each act of yours that it rests on."""
    from forewatch.memories import lines

    found = _find(memory)
    if as_json:
        show_json(found)
        return
    for line in lines(found, settings().zone):
        out.print(line, markup=False)


@app.command()
def keep(memory: Which, as_json: AsJson = False) -> None:
    """It holds: from now on it fills its place in new plans by itself."""
    _tell("keep", _find(memory), {}, "it holds from now on", as_json)


@app.command()
def correct(
    memory: Which,
    value: Annotated[str, typer.Argument(help="What it should say: the text of a note, the value of a preference.")],
    as_json: AsJson = False,
) -> None:
    """Say it right; what you say holds."""
    found = _find(memory)
    args = {"text": value} if found["code"] == "note" else {"value": _value(value, found)}
    _tell("correct", found, args, "corrected", as_json)


def _value(text: str, memory: dict[str, Any]) -> Any:
    """Text stays text, whatever it looks like; a value of another type is read as JSON where it is some."""
    if isinstance((memory["value"] or {}).get("v"), str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


@app.command()
def forget(
    memory: Which,
    erase: Annotated[
        bool, typer.Option("--erase", help="Take a note out of the log, too. The service must be stopped.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """It is used no more, and what it rests on counts no more. A "never again" ends."""
    if not erase:
        _tell("forget", _find(memory), {}, "forgotten", as_json)
        return
    from forewatch.erase import begun
    from forewatch.erase import erase as erase_from_log
    from forewatch.serve import only_one
    from streams.erase import note_target

    chosen = settings()
    target = begun(chosen, note_target(memory)) or note_target(_note(memory))
    with only_one(chosen.home):
        erase_from_log(chosen, target, SystemClock())
    say("erased")


def _note(wanted: str) -> str:
    """The id of a note of the person's own, forgotten or not: nothing else can be taken out by itself."""
    from forewatch.api import the_one

    notes = with_log(_notes)
    if not any(note.startswith(wanted) for note in notes):
        _find(wanted)
        remedy = "erase the event or the account that it was learnt from"
        raise Refused("only a note of yours can be taken out by itself", code="not_a_note", remedy=remedy)
    return the_one(wanted, notes, "note", "forewatch memory list")


async def _notes(log: Log, chosen: Settings) -> list[str]:
    from streams.journal import valid_entries

    return [str(entry.body["memory"]) async for entry in valid_entries(log) if entry.type == "memory.noted"]


def remember(
    text: Annotated[str, typer.Argument(help="In your own words.")],
    rule: Annotated[str, typer.Option(help="Only for what this rule proposes.")] = "",
    about: Annotated[str, typer.Option(help="Only for this other side: an address, a merchant, a name.")] = "",
    event: Annotated[
        list[str] | None, typer.Option(help="An event that it is about; erased, it takes this along.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Tell the memory something."""
    args = {"text": text, "rule": rule, "entity": about, "events": event or []}
    _tell("remember", None, args, "remembered", as_json)


def _tell(verb: str, memory: dict[str, Any] | None, args: dict[str, Any], done: str, as_json: bool) -> None:
    named = {**args, "memory": memory["id"]} if memory else args
    answer = client().post(f"/memory/{verb}", {"channel": "cli", "who": settings().owner, "args": named})
    if as_json:
        show_json(answer)
    else:
        say(f"{memory['says']}: {done}" if memory else done)
