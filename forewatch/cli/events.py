"""events tail|show|erase|preview."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import out, say, show_json, show_table
from forewatch.cli.place import AsJson, settings, with_log
from forewatch.instants import local
from schemas.clock import SystemClock, start_of_day, zone
from schemas.errors import ConfigError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from extractors.connector import Preview
    from forewatch.settings import Settings
    from schemas.event import Event
    from streams.work import Entry, Log

app = typer.Typer(no_args_is_help=True)

LOOK_EVERY_S = 0.3


@app.command()
def tail(
    lines: Annotated[int, typer.Option("--lines", "-n", help="How many of the newest events to start with.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for more.")] = False,
    kind: Annotated[str, typer.Option(help="Only kinds that start so, such as mail or bank.posted.")] = "",
    as_json: AsJson = False,
) -> None:
    """The newest events, oldest first; --json gives one JSON document a line."""
    with_log(lambda log, chosen: _tail(log, chosen, lines, follow, kind, as_json))


async def _tail(log: Log, chosen: Settings, lines: int, follow: bool, kind: str, as_json: bool) -> None:
    from streams import topics

    places = {p: max(0, await log.end(topics.EVENTS, p) - 4 * lines) for p in range(log.partitions(topics.EVENTS))}
    found = [d for p in places for d in await _documents(log, places, p) if d["kind"].startswith(kind)]
    found.sort(key=lambda document: document["observed_at"])
    for document in found[-lines:] if lines else []:
        _show_line(document, chosen, as_json)
    while follow:
        await asyncio.sleep(LOOK_EVERY_S)
        for partition in places:
            for document in await _documents(log, places, partition):
                if document["kind"].startswith(kind):
                    _show_line(document, chosen, as_json)


async def _documents(log: Log, places: dict[int, int], partition: int) -> list[dict[str, Any]]:
    """Everything from the place on, which moves."""
    import msgspec

    from streams import topics

    found: list[Entry] = []
    while entries := await log.read(topics.EVENTS, partition, places[partition], 1000):
        found += entries
        places[partition] = entries[-1].offset + 1
    return [msgspec.json.decode(entry.value) for entry in found if entry.value]


def _show_line(document: dict[str, Any], chosen: Settings, as_json: bool) -> None:
    if as_json:
        show_json(document)
        return
    when = local(document["occurred_at"], chosen.zone)
    amount = document.get("amount") or {}
    money = f" {amount['amount']} {amount['currency']}" if amount else ""
    out.print(
        f"{when}  {document['kind']:<20} {document['title']}{money}  [{document['id'][:8]}]",
        markup=False,
    )


@app.command()
def show(event: str, as_json: AsJson = False) -> None:
    """One event, whole. A prefix of its id is enough."""
    document = with_log(lambda log, _: _find(log, event))
    if as_json:
        show_json(document)
    else:
        show_table(("field", "value"), [(k, v) for k, v in document.items() if v not in (None, "", [], {})], empty="")


async def _find(log: Log, wanted: str) -> dict[str, Any]:
    """NotFound also where the start of an id is that of several events."""
    from forewatch.api import the_one
    from streams import topics

    partitions = range(log.partitions(topics.EVENTS))
    found = {document["id"]: document for p in partitions for document in await _documents(log, {p: 0}, p)}
    return found[the_one(wanted, list(found), "event", "forewatch events tail")]


@app.command()
def erase(event: str) -> None:
    """Erase what one event tells of: all versions of that mail, appointment or booking, and what was concluded from it.

    Needs the service to be stopped: it rewrites the log. What plans did in the world stays, and so does what the source
    itself still has.
    """
    from forewatch.erase import begun
    from forewatch.erase import erase as erase_from_log
    from forewatch.serve import only_one
    from streams.erase import event_target

    chosen = settings()
    if target := begun(chosen, event_target(event)):
        title = "what was begun"
    else:
        found = with_log(lambda log, _: _find(log, event))
        target, title = event_target(found["id"]), found["title"]
    with only_one(chosen.home):
        gone = erase_from_log(chosen, target, SystemClock())
    say(f"{title}: erased, with {gone.proposals} proposals that rested on it")


@app.command()
def preview(
    file: Path,
    tz: Annotated[str, typer.Option(help="The owner's zone; that of the settings by default.")] = "",
    since: Annotated[str, typer.Option("--from", help="First local day, for calendars.")] = "",
    until: Annotated[str, typer.Option("--to", help="Local day after the last, for calendars.")] = "",
    currency: Annotated[str, typer.Option(help="For bank files that name none.")] = "",
    answer: Annotated[list[str] | None, typer.Option(help="An answer to a question, as date_order=DMY.")] = None,
    kind: Annotated[str, typer.Option(help="maildir, ics or bankfile; by default what the file looks like.")] = "",
    as_json: AsJson = False,
) -> None:
    """What Forewatch would make of one mail, calendar or bank file. Nothing is stored."""
    found = _preview(file, tz, (since, until), currency, answer or [], kind)
    if as_json:
        show_json(_document(file, found))
    else:
        _show_preview(found, zone(tz) if tz else settings().zone)


def _preview(file: Path, tz: str, days: tuple[str, str], currency: str, answers: list[str], kind: str) -> Preview:
    from extractors import registry
    from extractors.connector import Context, PreviewOptions

    owner_zone = zone(tz) if tz else settings().zone
    now = SystemClock().now()
    if not file.exists():
        raise ConfigError(f"{file} does not exist", remedy="check the path")
    connector = registry.for_files(kind) if kind else registry.sniff(file)
    if connector is None:
        raise ConfigError(f"{file}: not a mail, calendar or bank file that is known here", remedy="name its --kind")
    window = None
    if any(days):
        first = _day(days[0]) if days[0] else now.astimezone(owner_zone).date()
        last = _day(days[1]) if days[1] else first + timedelta(days=366)
        window = (start_of_day(first, owner_zone), start_of_day(last, owner_zone))
    if odd := next((pair for pair in answers if "=" not in pair), ""):
        raise ConfigError(f"--answer {odd}: not of the form QUESTION=CHOICE", remedy="as in --answer date_order=DMY")
    pairs = dict(pair.split("=", 1) for pair in answers)
    options = PreviewOptions(window=window, answers=pairs, currency=currency or None)
    return connector.preview(file, Context("me", "preview", owner_zone, now), options)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"{text!r} is not a day", remedy="write it as 2026-03-31") from error


def _document(file: Path, found: Preview) -> dict[str, Any]:
    """The summary's keys first (docs/reference/preview.md), then everything in full."""
    events = [event.model_dump(mode="json") for event in found.events]
    return {
        **found.summary,
        "file": str(file),
        "kind": found.kind,
        "events": events,
        "event_facts": [fact for event in events for fact in event["facts"]],
        "warnings": list(found.warnings),
        "rejected": [{"where": r.where, "code": r.code, "reason": r.reason} for r in found.rejected],
        "questions": [
            {"code": q.code, "text": q.text, "where": q.where, "choices": dict(q.choices)} for q in found.questions
        ],
    }


def _shown(event: Event, owner_zone: ZoneInfo) -> str:
    """When it is, by the owner's clock; for an appointment when it begins, not when it was told."""
    if event.all_day and event.wall_start:
        return event.wall_start[:10]
    return local(event.starts_at or event.occurred_at, owner_zone)


def _show_preview(found: Preview, owner_zone: ZoneInfo) -> None:
    rows = [(e.kind, _shown(e, owner_zone), e.title, e.amount or "", len(e.facts)) for e in found.events]
    show_table(("kind", "when", "title", "amount", "facts"), rows, empty="no events")
    facts = [(f.kind, f.origin, f.certainty, f.span.quote if f.span else "") for e in found.events for f in e.facts]
    if facts:
        show_table(("fact", "from", "certainty", "words"), facts, empty="")
    for warning in found.warnings:
        say(f"warning: {warning}")
    for item in found.rejected:
        say(f"rejected: {item.where}: {item.reason} ({item.code})")
    for question in found.questions:
        say(f"question {question.code}: {question.text}; answer with --answer {question.code}=...")
