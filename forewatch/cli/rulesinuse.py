"""rules list|show|enable|disable|reload: which rules are in use, in what revision, and which should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import out, say, show_json, show_table
from forewatch.cli.place import AsJson, client, rules_in_use, settings, with_log
from forewatch.instants import local
from schemas.errors import ConfigError, NotFound, Unreachable
from schemas.suggest import did_you_mean

if TYPE_CHECKING:
    from forewatch.settings import Settings
    from rules.prepared import PreparedRule
    from rules.ruleset import RuleSet
    from streams.work import Log

Id = Annotated[str, typer.Argument(help="The id of a rule.")]


def register(app: typer.Typer) -> None:
    app.command("list")(list_)
    for command in (show, enable, disable, reload):
        app.command()(command)


def list_(as_json: AsJson = False) -> None:
    """All rules: those that are in use, and those that are off."""
    rules = rules_in_use()
    rows = [
        {"id": r.id, "title": r.title, "detector": r.detector, "urgency": r.propose.urgency, "file": r.file}
        | {"state": "on" if rules.is_on(r.id) else "off", "revision": r.revision}
        for r in rules
    ]
    if as_json:
        show_json(rows)
    else:
        columns = ("id", "state", "detector", "urgency", "title")
        show_table(columns, [[row[column] for column in columns] for row in rows], empty="no rules")


def show(rule: Id, as_json: AsJson = False) -> None:
    """One rule as it is evaluated: with its blueprint filled in and its overrides applied, and its revisions."""
    rules = rules_in_use()
    found = the_rule(rules, rule)
    document = _document(found, rules.is_on(rule), with_log(lambda log, chosen: _revisions(log, chosen, rule)))
    if as_json:
        show_json(document)
        return
    show_table(("what", "value"), [(key, value) for key, value in document.items() if isinstance(value, str)], empty="")
    for one in document["revisions"]:
        say(f"revision {one['revision']}, in use since {one['since']}")
    out.print_json(data=document["rule"])


async def _revisions(log: Log, chosen: Settings, rule: str) -> list[dict[str, str]]:
    from streams.rulebook import RuleBook

    book = RuleBook(log)
    await book.refresh()
    return [{"revision": one.revision, "since": local(one.at, chosen.zone)} for one in book.revisions(rule)]


def _document(rule: PreparedRule, is_on: bool, revisions: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "id": rule.id,
        "title": rule.title,
        "state": "on" if is_on else "off",
        "place": str(rule.place),
        "revision": rule.revision,
        "revisions": revisions,
        "rule": rule.model.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"examples"}),
    }


def enable(rule: Id) -> None:
    """Switch a rule on, whatever its file says. A running service takes it up at once."""
    _switch(rule, on=True)


def disable(rule: Id) -> None:
    """Switch a rule off, without touching its file; what it proposed and is still open is withdrawn."""
    _switch(rule, on=False)


def _switch(name: str, *, on: bool) -> None:
    from forewatch.switches import read_switches, switched, write_switches

    chosen, rules = settings(), rules_in_use()
    the_rule(rules, name)
    word = "on" if on else "off"
    if rules.is_on(name) == on:
        say(f"{name} is {word} already")
        return
    folder = chosen.home / "rules"
    before = read_switches(folder)
    write_switches(folder, switched(before, rules, name, on=on))
    try:
        rules_in_use()
    except ConfigError:
        write_switches(folder, before)
        raise
    say(f"{name} is {word} {take_up()}")


def reload(as_json: AsJson = False) -> None:
    """Let the running service take up the rule files as they are now; it does so by itself within seconds."""
    found = client().post("/rules/reload")
    if as_json:
        show_json(found)
        return
    for word, names in found.items():
        if names:
            say(f"{word}: {', '.join(names)}")
    if not any(found.values()):
        say("nothing changed")


def take_up() -> str:
    """Let a running service look at the files; when they are in use, in words."""
    try:
        client().post("/rules/reload")
    except Unreachable:
        return "from the next start of the service on"
    return "from now on"


def the_rule(rules: RuleSet, name: str) -> PreparedRule:
    if name not in rules.by_id:
        remedy = did_you_mean(name, rules.by_id) or "see 'forewatch rules list'"
        raise NotFound(f"there is no rule {name!r}", remedy=remedy)
    return rules.by_id[name]
