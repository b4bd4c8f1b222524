"""proposals list|digest|show|approve|edit|reject|snooze|never|answer|confirm|endorse|wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from forewatch.cli.console import out, say, show_json, show_table
from forewatch.cli.place import AsJson, client, settings, with_log
from forewatch.instants import local
from schemas.clock import SystemClock, at_local, occurs
from schemas.errors import ConfigError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from forewatch.settings import Settings
    from streams.work import Log

app = typer.Typer(no_args_is_help=True)

Proposal = Annotated[str, typer.Argument(help="Its id, or the start of it.")]
Scope = Literal["key", "entity", "rule"]
Digest = Annotated[
    str, typer.Option(help="The code of what you saw; without it, what 'proposals show' shows now is meant.")
]


@app.command("list")
def list_(
    all_: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False, as_json: AsJson = False
) -> None:
    """What Forewatch proposes."""
    cards = with_log(lambda log, chosen: read_cards(log, chosen))
    shown = [card for card in cards if all_ or card["is_open"]]
    if as_json:
        show_json(shown)
        return
    zone = settings().zone
    show_table(
        ("id", "state", "urgency", "by", "title"),
        [(c["id"][:8], c["phase"], c["urgency"], local(c["deadline_at"], zone), c["title"]) for c in shown],
        empty="nothing is proposed",
    )


@app.command()
def digest(as_json: AsJson = False) -> None:
    """What did not interrupt you and is still open: what matters most first, with the reason."""
    cards = with_log(lambda log, chosen: read_cards(log, chosen))
    waiting = [c for c in cards if c["is_open"] and c["phase"] != "snoozed" and c["surface"] == "digest"]
    waiting.sort(key=lambda c: (-c["priority"].get("score", 0.0), c["deadline_at"] or "", c["id"]))
    if as_json:
        show_json(waiting)
        return
    zone = settings().zone
    show_table(
        ("id", "priority", "by", "why not now", "title"),
        [(c["id"][:8], _score(c), local(c["deadline_at"], zone)[:10], c["why_surface"], c["title"]) for c in waiting],
        empty="nothing waits in the digest",
    )


def _score(card: dict[str, Any]) -> str:
    return f"{card['priority'].get('score', 0.0):.2f}"


async def read_cards(log: Log, chosen: Settings) -> list[dict[str, Any]]:
    """Every proposal, as it is shown."""
    from forewatch.cards import card, unread_accounts, waiting
    from forewatch.wiring import build_setup
    from streams.accounts import accounts, cursors
    from streams.journal import read_books

    books, setup = await read_books(log), build_setup(chosen, SystemClock())
    states, places = accounts(log), cursors(log)
    await states.refresh()
    await places.refresh()
    unread = unread_accounts(states, places.get, SystemClock().now())
    waits = waiting(books.values(), chosen.zone)
    return [
        card(state, setup, chosen.zone, unread, waits.get(state.id, ""))
        for book in books.values()
        for state in book.proposals.values()
    ]


def find_card(wanted: str) -> dict[str, Any]:
    from forewatch.api import the_one

    cards = {card["id"]: card for card in with_log(lambda log, chosen: read_cards(log, chosen))}
    return cards[the_one(wanted, list(cards), "proposal")]


@app.command()
def show(proposal: Proposal, as_json: AsJson = False) -> None:
    """One proposal: what, why, the evidence, the plan, the risk."""
    card = find_card(proposal)
    if as_json:
        show_json(card)
    else:
        show_card(card)


def show_card(card: dict[str, Any]) -> None:
    for line in card["lines"]:
        out.print(line, markup=False)


def _send(proposal: str, verb: str, digest: str, args: dict[str, Any], done: str, as_json: bool) -> None:
    card = find_card(proposal)
    body = {"channel": "cli", "who": settings().owner, "digest": digest or card["digest"], "args": args}
    answer = client().post(f"/proposals/{card['id']}/{verb}", body)
    if as_json:
        show_json(answer)
    else:
        say(f"{card['title']}: {done}")


@app.command()
def approve(proposal: Proposal, digest: Digest = "", as_json: AsJson = False) -> None:
    """Allow exactly what is shown, once."""
    _send(proposal, "approve", digest, {}, f"approved; see 'forewatch runs show {proposal}'", as_json)


@app.command()
def edit(
    proposal: Proposal,
    step: Annotated[str, typer.Argument(help="The step, such as s1.")],
    change: Annotated[list[str], typer.Argument(help="NAME=VALUE, once for each argument.")],
    digest: Digest = "",
    as_json: AsJson = False,
) -> None:
    """Change arguments of a step; the proposal is then offered again."""
    args = dict(pair(item) for item in change)
    _send(proposal, "edit", digest, {"step": step, "args": args}, "changed; look at it and approve it", as_json)


def pair(text: str) -> tuple[str, Any]:
    """NAME=VALUE; the value is JSON where it can be."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"{text!r} is not of the form NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


@app.command()
def reject(
    proposal: Proposal, reason: Annotated[str, typer.Option(help="Why; kept.")] = "", as_json: AsJson = False
) -> None:
    """Not this time."""
    _send(proposal, "reject", "", {"reason": reason}, "rejected", as_json)


@app.command()
def never(
    proposal: Proposal,
    scope: Annotated[
        Scope, typer.Option(help="key: this matter; entity: this rule about this other side; rule: this rule.")
    ] = "key",
    as_json: AsJson = False,
) -> None:
    """Never again: for this rule and this matter, or for more. 'memory forget' takes it back."""
    _send(proposal, "never", "", {"scope": scope}, "never again; 'forewatch memory forget' takes it back", as_json)


@app.command()
def snooze(
    proposal: Proposal,
    until: Annotated[
        str, typer.Argument(help="2026-03-31T09:00, 3d or 2h; 'clears': when it is over; 'changes': when it is new.")
    ],
    as_json: AsJson = False,
) -> None:
    """Come back to it later, or know of it until it clears or changes."""
    if until in ("clears", "changes"):
        _send(proposal, "snooze", "", {"until": until}, f"noted; quiet until it {until}", as_json)
        return
    zone = settings().zone
    when, which = _instant(until, SystemClock().now(), zone)
    _send(proposal, "snooze", "", {"until": when.isoformat()}, f"asleep until {local(when, zone)}{which}", as_json)


def _instant(text: str, now: datetime, zone: ZoneInfo) -> tuple[datetime, str]:
    """With a word on which instant was taken, where the clocks change."""
    units = {"d": "days", "h": "hours", "m": "minutes"}
    try:
        if text[:-1].isdecimal() and text[-1:] in units:
            return now + timedelta(**{units[text[-1]]: int(text[:-1])}), ""
        when = datetime.fromisoformat(text)
        if when.tzinfo:
            return when.astimezone(UTC), ""
        return at_local(when.date(), when.time(), zone), _which(when, zone)
    except (ValueError, OverflowError) as error:
        raise ConfigError(
            f"{text!r} is neither a time nor a duration", remedy="write 2026-03-31T09:00, 3d, clears or changes"
        ) from error


def _which(when: datetime, zone: ZoneInfo) -> str:
    match occurs(when.date(), when.time(), zone):
        case "never":
            return f"; there is no {when:%H:%M} on that day, when the clocks go forward"
        case "twice":
            second = when.replace(tzinfo=zone, fold=1).isoformat(timespec="minutes")
            return f", the first of two on that day, when the clocks go back; the second is {second}"
        case "once":
            return ""


@app.command()
def confirm(
    proposal: Proposal,
    step: Annotated[str, typer.Argument(help="The step that asks, such as s2.")],
    digest: Digest = "",
    as_json: AsJson = False,
) -> None:
    """Confirm one step that asks for it by itself, with its exact values."""
    gates = find_card(proposal)["gates"]
    seen = digest or gates.get(step, "")
    if not seen:
        raise ConfigError(
            f"step {step} does not ask for a confirmation", remedy=f"asking now: {sorted(gates) or 'none'}"
        )
    _send(proposal, "confirm", seen, {"step": step}, f"{step} confirmed", as_json)


@app.command()
def endorse(
    proposal: Proposal,
    step: Annotated[str, typer.Argument(help="The step that asks, such as s2.")],
    identifier: Annotated[list[str], typer.Argument(help="What is to stay in, exactly as it was shown.")],
    digest: Digest = "",
    as_json: AsJson = False,
) -> None:
    """Leave a link, number or address from outside in what is sent. The step then asks again, with it."""
    gates = find_card(proposal)["gates"]
    args = {"step": step, "identifiers": identifier}
    _send(proposal, "endorse", digest or gates.get(step, ""), args, f"{step} asks again, with it", as_json)


@app.command()
def wrong(
    proposal: Proposal,
    step: Annotated[str, typer.Argument(help="The step that did it, such as s2.")],
    reason: Annotated[str, typer.Option(help="Why; kept.")] = "",
    as_json: AsJson = False,
) -> None:
    """Say that what a step did was not right: the permission or the autonomy that it rested on is lost."""
    _send(proposal, "wrong", "", {"step": step, "reason": reason}, "noted", as_json)


@app.command()
def answer(
    proposal: Proposal,
    reply: Annotated[
        list[str],
        typer.Argument(help="SLOT=VALUE for what was asked; or STEP=yes|no: did it happen, and NAME=VALUE it gave."),
    ],
    digest: Digest = "",
    as_json: AsJson = False,
) -> None:
    """Answer what the proposal, or a step with an unknown outcome, asks."""
    pairs = dict(pair(item) for item in reply)
    questions = find_card(proposal)["unknown"]
    ((name, value), *given) = pairs.items()
    if name in questions:
        if value not in ("yes", "no"):
            raise ConfigError(f"{name}={value}: did it happen?", remedy=f"say {name}=yes or {name}=no")
        args: dict[str, Any] = {"step": name, "happened": value == "yes", "out": dict(given)}
        _send(proposal, "answer", digest or questions[name], args, "noted", as_json)
    else:
        _send(proposal, "answer", digest, {"slots": pairs}, "noted", as_json)
