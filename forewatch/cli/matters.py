"""matters list|show|split|join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import out, say, show_json, show_table
from forewatch.cli.place import AsJson, settings, tell_service, with_log
from forewatch.instants import local
from schemas.clock import SystemClock
from schemas.errors import NotFound

if TYPE_CHECKING:
    from forewatch.matters import Matter, Word
    from forewatch.settings import Settings
    from streams.work import Log

app = typer.Typer(no_args_is_help=True)

First = Annotated[str, typer.Argument(help="An event's id, or the start of it.")]
Second = Annotated[str, typer.Argument(help="Another event's id, or the start of it.")]


async def _known(log: Log, chosen: Settings) -> list[Matter]:
    from forewatch.matters import known

    return (await known(log, chosen.owner))[0]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Events that belong together, by what, and how sure that is."""
    found = with_log(_known)
    if as_json:
        show_json([matter.document() for matter in found])
        return
    show_table(
        ("matter", "events", "ties", "surest", "first"),
        [
            (
                matter.name,
                len(matter.things),
                ", ".join(dict.fromkeys(edge.tie.how for edge in matter.ties)),
                min((edge.tie.score for edge in matter.ties), default=1.0),
                matter.things[0].title,
            )
            for matter in found
        ],
        empty="no two events belong together",
    )


@app.command()
def show(
    matter: Annotated[str, typer.Argument(help="Its name, or the id of an event in it; the start is enough.")],
    as_json: AsJson = False,
) -> None:
    """One matter: its events, and what ties each of them to it."""
    found = [one for one in with_log(_known) if _is_meant(one, matter)]
    if len(found) != 1:
        raise NotFound(f"{len(found) or 'no'} matters are called {matter!r}", remedy="see 'forewatch matters list'")
    document = found[0].document()
    if as_json:
        show_json(document)
        return
    zone = settings().zone
    out.print(document["matter"], markup=False)
    for thing in document["things"]:
        money = f" {thing['amounts'][0]}" if thing["amounts"] else ""
        line = f"  {local(thing['at'], zone)[:10]}  {thing['kind']:<20} {thing['title']}{money}  [{thing['event'][:8]}]"
        out.print(line, markup=False)
    for tie in document["ties"]:
        out.print(f"  tie {tie['how']} ({tie['score']:g}): {' = '.join(tie['names'])}", markup=False)
        for part in tie["parts"]:
            out.print(f"    {'+' if part['holds'] else '-'} {part['name']}: {part['shared']}", markup=False)


def _is_meant(matter: Matter, wanted: str) -> bool:
    return matter.name == wanted or any(thing.event.startswith(wanted) for thing in matter.things)


@app.command()
def split(first: First, second: Second, as_json: AsJson = False) -> None:
    """These two do not belong together. It is remembered: they never become one again by themselves."""
    _tell((first, second), "matter.split", "parted, for good", as_json)


@app.command()
def join(first: First, second: Second, as_json: AsJson = False) -> None:
    """These two belong together."""
    _tell((first, second), "matter.joined", "joined", as_json)


def _tell(wanted: tuple[str, str], word: Word, done: str, as_json: bool) -> None:
    from forewatch.matters import output, told

    async def go(log: Log, chosen: Settings) -> Any:
        event = await told(log, chosen.owner, wanted, word, SystemClock().now())
        await log.append([output(event)])
        return event.model_dump(mode="json")

    event = with_log(go)
    is_up = tell_service()
    if as_json:
        show_json(event)
    else:
        say(f"{event['title']}: {done}" + ("" if is_up else "; it counts when the service runs"))
