"""rules new|add: a rule made from an event of yours, and a rule file put into use."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import say, show_json
from forewatch.cli.place import AsJson, rules_in_use, settings, with_log
from schemas.clock import SystemClock
from schemas.errors import ConfigError, NotFound

if TYPE_CHECKING:
    from forewatch.settings import Settings
    from rules.drafting import Draft
    from streams.work import Log


def register(app: typer.Typer) -> None:
    app.command()(new)
    app.command()(add)


def new(
    from_event: Annotated[str, typer.Option(help="An event's id, or the start of it.")],
    name: Annotated[str, typer.Option("--id", help="The rule's id; by default made from the event.")] = "",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it to this file, which must not exist.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """A rule that would have fired on that event, with examples and comments: a beginning for your own."""
    made = with_log(lambda log, chosen: _draft(log, chosen, from_event, name))
    if output is not None:
        _write(output, f"# yaml-language-server: $schema={_schema_file()}\n{made.text}")
        say(f"wrote the rule {made.id!r} to {output}")
        say(f"next: forewatch rules test {output}, then forewatch rules backtest {output}")
    if as_json:
        show_json({"id": made.id, "text": made.text, "file": str(output) if output else None})
    elif output is None:
        typer.echo(made.text, nl=False)


async def _draft(log: Log, chosen: Settings, wanted: str, name: str) -> Draft:
    from forewatch.backtesting import read_histories
    from rules.drafting import draft

    taken = rules_in_use().by_id.keys()
    for events in (await read_histories(log)).values():
        for event in events:
            if event.id.startswith(wanted):
                return draft(event, zone=chosen.zone, name=name, taken=list(taken))
    raise NotFound(f"there is no event {wanted!r}", remedy="see 'forewatch events tail'")


def add(
    file: Annotated[Path, typer.Argument(help="A rule file.")],
    as_json: AsJson = False,
) -> None:
    """Put a rule file into use: it is checked together with the rules in use, its examples are run, and it is copied.

    A running service takes it up at once.
    """
    from forewatch.cli.rulesinuse import take_up
    from forewatch.wiring import build_setup, load_rules
    from rules.loader import load
    from rules.testing import run_examples

    chosen = settings()
    setup = build_setup(chosen, SystemClock())
    rules = load([file], zone=chosen.zone, playbooks=setup.playbooks.keys())
    in_use = load_rules(chosen, setup).by_id
    if twice := [rule.id for rule in rules if rule.id in in_use]:
        raise ConfigError(
            f"there is a rule {twice[0]!r} already, in {in_use[twice[0]].file}",
            remedy="change it there, or give this one another id",
        )
    for rule in rules:
        for result in run_examples(rule, rules=rules):
            if not result.passed:
                raise ConfigError(f"{result.rule}: {result.name}: {result.why}", remedy="mend the rule or its example")
    place = chosen.home / "rules" / file.with_suffix(".yaml").name
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _write(place, file.read_text(encoding="utf-8"))
    found: dict[str, Any] = {"file": str(place), "rules": [rule.id for rule in rules]}
    found["when"] = take_up()
    if as_json:
        show_json(found)
    else:
        say(f"{', '.join(found['rules'])}: in use {found['when']} ({place})")


def _schema_file() -> Path:
    """The schema of this version, where editors find it."""
    from rules.schema import json_schema

    path = settings().home / "rules.schema.json"
    path.write_text(json.dumps(json_schema(), indent=1), encoding="utf-8")
    return path


def _write(path: Path, text: str) -> None:
    """A new file that only the owner can read; ConfigError if there is one."""
    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}", remedy="choose another name") from error
