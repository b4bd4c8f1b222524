"""audit verify: is the journal whole and unchanged?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from forewatch.cli.console import Exit, say, show_json
from forewatch.cli.place import AsJson, with_log

if TYPE_CHECKING:
    from forewatch.settings import Settings
    from streams.work import Log

app = typer.Typer(no_args_is_help=True)


@app.callback()
def group() -> None:
    """The journal of everything proposed and done."""


@app.command()
def verify(as_json: AsJson = False) -> None:
    """Check the hash chain of every proposal and run. Exit code 1 when an entry was edited, dropped or moved."""
    found = with_log(_verify)
    if as_json:
        show_json(found)
    else:
        say(f"{found['entries']} entries in {found['streams']} streams")
        for fault in found["faults"]:
            say(f"fault: {fault}")
        say("the journal is whole" if not found["faults"] else "the journal is NOT whole")
    if found["faults"]:
        raise typer.Exit(Exit.FAILED)


async def _verify(log: Log, _: Settings) -> dict[str, Any]:
    from actions.policy.audit import verify as faults_of
    from streams.journal import valid_entries

    entries = [entry async for entry in valid_entries(log)]
    faults = [str(fault) for fault in faults_of(entries)]
    return {"entries": len(entries), "streams": len({entry.stream for entry in entries}), "faults": faults}
