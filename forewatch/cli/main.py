"""forewatch: the command line. Each group of commands is a module of this package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

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
from forewatch.cli.place import use_home
from forewatch.log import configure
from schemas.errors import ForewatchError

app = typer.Typer(
    name="forewatch",
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


@app.callback()
def options(
    home: Annotated[
        Path | None, typer.Option(help="Where everything is kept; FOREWATCH_HOME sets it too.", show_default=False)
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is done, to stderr.")] = False,
) -> None:
    configure("debug" if verbose else "warning")
    use_home(home)


def main() -> None:
    """The entry point: our errors become one line on stderr and a documented exit code."""
    try:
        app()
    except ForewatchError as error:
        fail(error)
    except BrokenPipeError:  # the reader of stdout went away: `forewatch events tail | head`
        sys.stderr.close()
        raise SystemExit(Exit.OK) from None
    except KeyboardInterrupt:
        say("interrupted")
        raise SystemExit(Exit.INTERRUPTED) from None
