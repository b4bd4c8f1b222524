"""do, egress list|show, model key|test: goals of the person's own, and the model that may plan."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import out, say, show_json, show_table
from forewatch.cli.place import AsJson, client, settings, with_log
from forewatch.cli.proposals import find_card
from forewatch.instants import local
from schemas.clock import SystemClock
from schemas.errors import ConfigError

if TYPE_CHECKING:
    from forewatch.settings import Settings
    from streams.work import Log

egress = typer.Typer(no_args_is_help=True)
model = typer.Typer(no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.command("do")(do)
    app.add_typer(egress, name="egress", help="What left this machine for a model, and what was withheld.")
    app.add_typer(model, name="model", help="The model that may plan; off unless you set one up.")


def do(
    goal: Annotated[str, typer.Argument(help='What you want, as in "renew my passport".')],
    by: Annotated[str, typer.Option(help="The day by which it must be done, such as 2025-03-31.")] = "",
    another: Annotated[
        bool, typer.Option("--another", help="A second proposal, although one for the same words is open.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Propose how to reach a goal of yours. Nothing is done before you approve it.

    While a proposal for the same words is open or runs, you are told of that one instead.
    """
    body = {"channel": "cli", "who": settings().owner, "args": {"goal": goal, "by": by, "another": another}}
    answer = client().post("/goals/do", body)
    if as_json:
        show_json(answer)
        return
    proposal, kinds = answer["entries"][0]["stream"], [entry["type"] for entry in answer["entries"]]
    if "proposal.planning" in kinds:
        say(f"proposal {proposal[:8]}: a plan is being made; see 'forewatch proposals show {proposal[:8]}'")
    elif "proposal.needs_input" in kinds:
        say(f"proposal {proposal[:8]} wants to know something; see 'forewatch proposals show {proposal[:8]}'")
    else:
        say(f"proposal {proposal[:8]}; see 'forewatch proposals show {proposal[:8]}'")


@egress.command("list")
def list_(
    proposal: Annotated[str, typer.Option(help="Of one proposal: its id, or the start of it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Each request that left for a model: when, where to, how many bytes, what was withheld, what it cost."""
    if proposal:
        proposal = find_card(proposal)["id"]
    found = [row for row in with_log(_rows) if proposal in ("", row["proposal"])]
    if as_json:
        show_json(found)
        return
    zone = settings().zone
    show_table(
        ("request", "at", "to", "sent", "received", "withheld", "tokens", "cost", "end"),
        [
            (
                row["id"][:8],
                local(row["at"], zone),
                f"{row['model']} at {row['host']}",
                row["sent_bytes"],
                row["received_bytes"],
                len(row["withheld"]),
                row["tokens"],
                f"{row['cost']} {row['currency']}",
                row["outcome"],
            )
            for row in found
        ],
        empty="nothing has left for a model",
    )


@egress.command()
def show(
    request: Annotated[str, typer.Argument(help="The id of a request, or the start of it.")], as_json: AsJson = False
) -> None:
    """One request as it left, byte for byte, and each value that was withheld."""
    from forewatch.api import the_one

    rows = {row["id"]: row for row in with_log(_rows)}
    row = rows[the_one(request, list(rows), "request", "forewatch egress list")]
    if as_json:
        show_json(row)
        return
    out.print(f"to {row['host']}, {row['sent_bytes']} bytes, sha256 {row['sha256']}", markup=False)
    for message in row["request"]["messages"]:
        out.print(f"[{message['role']}]\n{message['content']}", markup=False)
    for item in row["withheld"]:
        line = f"withheld: {item['name']} ({item['type']}, {item['chars']} characters): {item['why']}"
        out.print(line.replace("_", " "), markup=False)
    out.print("the rest of the request:", markup=False)
    rest = {name: value for name, value in row["request"].items() if name != "messages"}
    out.print(json.dumps(rest, ensure_ascii=False), markup=False)


async def _rows(log: Log, _: Settings) -> list[dict[str, Any]]:
    from forewatch.egress import rows
    from streams.journal import valid_entries

    return rows([entry async for entry in valid_entries(log)])


@model.command()
def key() -> None:
    """Put the key of the model's server into the vault: one line on stdin, or typed unseen."""
    import getpass

    line = getpass.getpass("key: ") if sys.stdin.isatty() else sys.stdin.readline()
    if not line.strip():
        raise ConfigError("no key was given", remedy="type it, or pipe it in")
    asyncio.run(_keep(line.strip()))
    say("the key is in the vault; a service that runs takes it at its next start")


async def _keep(line: str) -> None:
    from extractors import registry
    from forewatch.access import Credentials
    from forewatch.planning import VAULT_ACCOUNT

    credentials = Credentials(settings(), SystemClock(), registry.Connectors())
    try:
        await credentials.keep(VAULT_ACCOUNT, {"key": line})
    finally:
        credentials.close()


@model.command("test")
def try_(as_json: AsJson = False) -> None:
    """Ask the configured model for a word, outside of any budget: does it answer, and how does it take a schema?"""
    found = asyncio.run(_tried())
    if as_json:
        show_json(found)
    else:
        say(f"{found['model']} at {found['host']}: {found['outcome']}, {found['requests']} requests, {found['way']}")
    if found["outcome"] != "answer":
        raise typer.Exit(1)


async def _tried() -> dict[str, Any]:
    from extractors import registry
    from forewatch.access import Credentials
    from forewatch.planning import model_settings, server_model, tried

    chosen, clock = settings(), SystemClock()
    limits = model_settings(chosen)
    if limits is None:
        raise ConfigError("no model is set up", remedy="set planner_url and planner_model in config.toml")
    credentials = Credentials(chosen, clock, registry.Connectors())
    try:
        return await tried(await server_model(chosen, credentials, clock), limits)
    finally:
        credentials.close()
