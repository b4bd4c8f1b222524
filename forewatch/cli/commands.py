"""forewatch: all commands. Each group of them is a module of this package."""

from __future__ import annotations

import os
import sqlite3
import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from forewatch.cli import (
    accounts,
    audit,
    demo,
    events,
    goals,
    history,
    matters,
    mcp,
    memory,
    permissions,
    plugins,
    proposals,
    rules,
    runs,
    service,
)
from forewatch.cli.console import Exit, fail, say
from forewatch.cli.failures import in_words
from forewatch.cli.place import use_home
from forewatch.log import configure
from schemas.errors import ForewatchError


class Commands(TyperGroup):
    """Typer takes a reader that went away for a failure, and so does Python at its end, when it flushes."""

    def invoke(self, ctx: Any) -> Any:
        try:
            found = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # `forewatch events tail | head`: it has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(Exit.OK) from None
        return found


app = typer.Typer(
    name="forewatch",
    cls=Commands,
    help="Watches your mail, calendar and bank, and proposes what to do before a deadline hurts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
service.register(app)
demo.register(app)
goals.register(app)
app.add_typer(accounts.app, name="accounts", help="Connect sources.")
app.add_typer(events.app, name="events", help="What the sources said, as events.")
app.add_typer(rules.app, name="rules", help="What is watched for.")
app.add_typer(proposals.app, name="proposals", help="What Forewatch proposes, and your answers.")
permissions.register(app)
app.add_typer(matters.app, name="matters", help="Events that belong together.")
app.add_typer(runs.app, name="runs", help="What was approved and is being done.")
memory.register(app)
app.add_typer(plugins.app, name="plugins", help="Other people's tools: what you let them do.")
app.add_typer(history.app, name="history", help="Your history, by SQL.")
mcp.register(app)
app.add_typer(audit.app, name="audit", help="The journal of everything proposed and done.")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            sys.stdout.write(f"forewatch {version('forewatch')}\n")
        except PackageNotFoundError:
            sys.stdout.write("forewatch, from a checkout that is not installed\n")
        raise typer.Exit


@app.callback()
def options(
    home: Annotated[
        str | None,  # no Path: an empty one is the current directory
        typer.Option(help="Where everything is kept; FOREWATCH_HOME sets it too.", metavar="PATH", show_default=False),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", callback=_version, is_eager=True)
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is done, to stderr.")] = False,
) -> None:
    configure("debug" if verbose else "warning")
    use_home(home)


def run() -> None:
    """What was asked for: our errors, and what the machine does to us, become one line and a documented exit code."""
    speak_anywhere()
    try:
        app()
    except ForewatchError as error:
        fail(error)
    except (OSError, sqlite3.Error) as error:
        if (said := in_words(error)) is None:
            raise
        fail(said)
    except KeyboardInterrupt:
        say("interrupted")
        raise SystemExit(Exit.INTERRUPTED) from None


def speak_anywhere() -> None:
    """A terminal that has no such character, or a file name that is no text, is no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
