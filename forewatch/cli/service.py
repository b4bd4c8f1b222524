"""init, serve, doctor: the service as a whole."""

from __future__ import annotations

import asyncio
import gc
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from forewatch.cli.console import Exit, say, show_json, show_table
from forewatch.cli.leaving import leaving_at_once
from forewatch.cli.place import AsJson, client, settings
from forewatch.instants import local
from forewatch.log import configure


def register(app: typer.Typer) -> None:
    for command in (init, serve, status, doctor):
        app.command()(command)


def init(
    timezone: Annotated[str, typer.Option(help="Your IANA time zone; this machine's by default.")] = "",
) -> None:
    """Make the home folder and its config.toml."""
    from forewatch.setup_home import init_home

    chosen = settings()
    path = init_home(chosen.home, timezone)
    zone = settings().timezone
    say(f"Forewatch lives in {chosen.home}")
    say(f"settings: {path}, time zone {zone}")
    if timezone and timezone != zone:
        say(f"it was there before and stays as it is; for {timezone}, change timezone in {path}")
    say("next: forewatch accounts add maildir ~/Maildir, then forewatch serve")


def serve() -> None:
    """Run the service until it is interrupted."""
    gc.disable()  # what a start loads stays: until it is over, collecting finds nothing and costs a tenth of it
    with leaving_at_once():  # until the service hears the signals itself
        from forewatch.serve import serve as run

        chosen = settings()
        configure(chosen.log_level)
        asyncio.run(run(chosen, on_ready=_collect_from_now_on))


def _collect_from_now_on() -> None:
    gc.freeze()
    gc.enable()


def status(as_json: AsJson = False) -> None:
    """What the running service is doing."""
    found = client().get("/status")
    if as_json:
        show_json(found)
    else:
        show_table(("what", "value"), _for_person(found, settings().zone).items(), empty="")


def _for_person(status: dict[str, Any], zone: ZoneInfo) -> dict[str, Any]:
    from forewatch.doctor import canary_check

    flight = status["canary"]
    return (
        status
        | {name: local(status[name], zone) for name in ("now", "next_due")}
        | {"canary": canary_check(flight, zone).detail if flight else "none was sent"}
    )


def doctor(as_json: AsJson = False) -> None:
    """Check everything that Forewatch rests on, and say how to mend what is wrong."""
    from forewatch.doctor import examine

    checks = examine(settings)
    if as_json:
        show_json([check.as_json() for check in checks])
    else:
        show_table(
            ("check", "state", "detail", "what to do"),
            [(c.name, c.state, c.detail, c.remedy) for c in checks],
            empty="",
        )
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(Exit.UNHEALTHY)
