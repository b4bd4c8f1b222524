"""permissions list|allow|revoke, stop-everything, resume-everything: what you say once for everything to come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import say, show_json, show_table
from forewatch.cli.place import AsJson, client, duration, settings, with_log
from schemas.clock import SystemClock
from schemas.errors import ConfigError, Unreachable

if TYPE_CHECKING:
    from forewatch.settings import Settings
    from schemas.command import Verb
    from streams.work import Log

app = typer.Typer(no_args_is_help=True)


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="permissions", help="What may be done without asking you each time.")
    root.command("stop-everything")(stop_everything)
    root.command("resume-everything")(resume_everything)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """Every permission that you gave, those that are over with the reason."""
    rows = with_log(_rows)
    if as_json:
        show_json(rows)
        return
    show_table(
        ("id", "state", "allows", "why not"),
        [(row["id"], row["state"], row["says"], row["lost"]) for row in rows],
        empty="nothing is allowed ahead: everything that reaches others is confirmed",
    )


async def _rows(log: Log, chosen: Settings) -> list[dict[str, Any]]:
    from streams.journal import read_books

    now, rows = SystemClock().now(), []
    for book in (await read_books(log)).values():
        for standing in book.experience.permissions.values():
            state = "stands" if standing.stands(now) else "lost" if standing.lost else "over"
            document = standing.permission.model_dump(mode="json")
            says = standing.permission.says(chosen.zone)
            rows.append(document | {"state": state, "lost": standing.lost, "says": says})
        for name, track in book.experience.tracks.items():
            told = {"id": name, "state": track.level, "says": f"{track.row} in a row went well", "lost": track.why}
            rows += [told] if track.level != "ask" or track.why else []
    return rows


@app.command()
def allow(
    tool: Annotated[str, typer.Argument(help="The tool, such as mail.send.")],
    to: Annotated[str, typer.Argument(help="The exact mail address, IBAN or URL.")],
    cap: Annotated[str, typer.Option(help="The most that one act may move, such as '50.00 EUR'.")] = "",
    cap_period: Annotated[str, typer.Option(help="The most that all acts of a period may move.")] = "",
    times: Annotated[int, typer.Option(help="How many acts a period may hold.")] = 1,
    period: Annotated[str, typer.Option(help="day, week or month.")] = "month",
    for_: Annotated[str, typer.Option("--for", help="How long it stands, such as 90d; a year at most.")] = "90d",
    as_json: AsJson = False,
) -> None:
    """Let a tool act on one destination without a confirmation each time, within these bounds.

    Everything else is still asked. One bad outcome, an undo, or 'proposals wrong' ends it.
    """
    ends = SystemClock().now() + duration(for_, "--for")
    args: dict[str, Any] = {"tool": tool, "to": to, "times": times, "period": period, "expires_at": ends.isoformat()}
    args |= {name: _money(text) for name, text in (("cap", cap), ("cap_period", cap_period)) if text}
    answer = client().post("/standing/allow", _body(args))
    made = answer["entries"][0]["body"]["permission"]
    if as_json:
        show_json(made)
    else:
        say(f"allowed as {made['id']}; see 'forewatch permissions list'")


def _money(text: str) -> dict[str, str]:
    amount, _, currency = text.strip().partition(" ")
    if not currency:
        raise ConfigError(f"{text!r} is no amount", remedy="write it as '50.00 EUR'")
    return {"amount": amount, "currency": currency.strip().upper()}


@app.command()
def revoke(
    permission: Annotated[str, typer.Argument(help="Its id, or the start of it.")], as_json: AsJson = False
) -> None:
    """Take a permission back, at once: also for what is about to be sent under it."""
    answer = client().post("/standing/revoke", _body({"id": permission}))
    if as_json:
        show_json(answer)
    else:
        say("taken back; it is asked again from now on")


def stop_everything(reason: Annotated[str, typer.Option(help="Why; kept.")] = "") -> None:
    """Begin nothing more, at once and until 'resume-everything': no step of any run, whatever was approved.

    What is under way at this moment ends and is recorded. It holds over restarts, and without a running service too.
    """
    if _said("stop_everything", {"reason": reason}):
        say("stopped: nothing is begun any more")
    else:
        say("stopped: no service is running, and the next one will begin nothing")


def resume_everything() -> None:
    """Let the runs go on after 'stop-everything'. What has expired meanwhile is asked again."""
    word = "going on" if _said("resume_everything", {}) else "it goes on when the service is started"
    say(word)


def _said(verb: Verb, args: dict[str, Any]) -> bool:
    """To the running service, which answers when it is durable; else into its log. Was there a service?"""
    try:
        client().post(f"/standing/{verb}", _body(args))
    except Unreachable:
        with_log(lambda log, chosen: _write(log, chosen, verb, args))
        return False
    return True


def _body(args: dict[str, Any]) -> dict[str, Any]:
    return {"channel": "cli", "who": settings().owner, "args": args}


async def _write(log: Log, chosen: Settings, verb: Verb, args: dict[str, Any]) -> None:
    import uuid

    from actions.policy.experience import STREAM
    from schemas import ids
    from schemas.command import Command
    from streams import topics
    from streams.codec import encode
    from streams.work import Output

    command = Command(
        id=ids.command_id(STREAM, verb, uuid.uuid4().hex), owner=chosen.owner, who=chosen.owner, channel="cli",
        verb=verb, proposal=STREAM, args=args, at=SystemClock().now(),
    )  # fmt: skip
    await log.append([Output(topics.COMMANDS, chosen.owner.encode(), encode(command))])
