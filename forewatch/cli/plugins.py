"""plugins list|index|add|check|update|remove|secret|egress."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forewatch.cli.console import Exit, out, say, show_json, show_table
from forewatch.cli.place import AsJson, client, settings
from forewatch.instants import local
from schemas.clock import SystemClock
from schemas.errors import ConfigError, Refused, Unreachable
from schemas.suggest import did_you_mean

if TYPE_CHECKING:
    from actions.plugins.manifest import PluginManifest
    from forewatch.plugins.house import House
    from forewatch.plugins.review import Review
    from forewatch.plugins.shelf import Shelf

app = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The plugin's name.")]
Yes = Annotated[bool, typer.Option("--yes", help="Agree to what is shown, without being asked.")]


def _house() -> House:
    from forewatch.plugins.house import House

    return House(settings(), SystemClock())


def _shelf() -> Shelf:
    from forewatch.plugins.shelf import Shelf

    return Shelf(settings().home)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """The plugins, whether each is on, and why not."""
    from forewatch.plugins.installed import installed

    house, trusted = _house(), settings().trusted_plugins
    house.tools()
    rows: list[dict[str, Any]] = [
        {"plugin": s.plugin, "kind": s.kind, "version": s.version, "standing": s.standing, "tools": list(s.tools),
         "reasons": list(s.reasons)}
        for s in house.states
    ]  # fmt: skip
    for name, point in installed().items():
        version = point.dist.version if point.dist else ""
        is_on = name in trusted
        reasons = [] if is_on else ["it would run inside of Forewatch; name it in trusted_plugins if you trust it so"]
        rows.append({"plugin": name, "kind": "python", "version": version, "standing": "on" if is_on else "untrusted",
                     "tools": [], "reasons": reasons})  # fmt: skip
    if as_json:
        show_json(rows)
        return
    show_table(
        ("plugin", "kind", "version", "standing", "tools", "why"),
        [(r["plugin"], r["kind"], r["version"], r["standing"], len(r["tools"]), "; ".join(r["reasons"])) for r in rows],
        empty="there are no plugins; see 'forewatch plugins index'",
    )


@app.command()
def index(as_json: AsJson = False) -> None:
    """Servers that were looked at and tested, each with how to install it."""
    from forewatch.plugins.index import index as read_index

    entries = list(read_index().values())
    if as_json:
        show_json([entry.model_dump(mode="json") for entry in entries])
        return
    rows = [(entry.name, entry.licence, entry.about, entry.install) for entry in entries]
    show_table(("name", "licence", "about", "install"), rows, empty="the index is empty")


@app.command()
def add(
    what: Annotated[str, typer.Argument(help="The file of a manifest, or a name of the index.")],
    program: Annotated[Path | None, typer.Option(help="Of the index: the folder that you installed it in.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Of the index: the folder that it may see.")] = None,
    host: Annotated[list[str] | None, typer.Option(help="Of the index: a host that it may ask; repeatable.")] = None,
    yes: Yes = False,
) -> None:
    """Start a server, confined as it will be, show what it is and may do, and let it in if you agree."""
    from forewatch.plugins import index as vetting
    from schemas.yaml_text import text_of

    is_file = Path(what).suffix in (".yaml", ".yml") or "/" in what
    entry = None if is_file else vetting.vetted(what)
    text = text_of(Path(what)) if entry is None else vetting.filled(entry, program, folder, host or [])
    manifest = _shelf().check(text)
    if manifest.plugin in _shelf().names() and _shelf().pin(manifest.plugin) is not None:
        raise Refused(
            f"there is a plugin {manifest.plugin!r} already", code="exists",
            remedy=f"say 'forewatch plugins update {manifest.plugin} FILE'",
        )  # fmt: skip
    seen = _reviewed(manifest)
    if entry is not None and seen.now.sha != entry.listing:
        say("attention: it does not list what it listed when it was looked at for the index")
    _agree(seen, text, yes)


@app.command()
def check(
    name: Annotated[str, typer.Argument(help="One plugin; by default all.")] = "", as_json: AsJson = False
) -> None:
    """Start each server and compare what it lists with what you reviewed. Exit code 1 for a difference."""
    shelf = _shelf()
    found: dict[str, list[str]] = {}
    for each in [name] if name else shelf.names():
        seen = _reviewed(shelf.manifest(each))
        found[each] = ["nobody has reviewed it yet"] if seen.before is None else list(seen.differences())
        if seen.before is not None and seen.now.tools != seen.before.tools:
            shelf.note(each, seen.now.tools)
    _tell_service()
    if as_json:
        show_json(found)
    else:
        for each, lines in found.items():
            out.print(f"{each}: {'as reviewed' if not lines else ''}", markup=False)
            for line in lines:
                out.print(f"  {line}", markup=False)
    if any(found.values()):
        raise typer.Exit(Exit.FAILED)


@app.command()
def update(
    name: Name,
    file: Annotated[Path | None, typer.Argument(help="A new manifest; by default the one that is there.")] = None,
    yes: Yes = False,
) -> None:
    """Review a plugin again: after a change of its server, its manifest, its version."""
    from schemas.yaml_text import text_of

    shelf = _shelf()
    manifest = shelf.manifest(name)
    text = text_of(file or shelf.path(name))
    if file is not None:
        manifest = shelf.check(text)
        if manifest.plugin != name:
            raise Refused(f"{file} is the manifest of {manifest.plugin!r}", code="other", remedy="give that of " + name)
    seen = _reviewed(manifest)
    if seen.is_settled and shelf.seen(name) is None and text == shelf.path(name).read_text("utf-8"):
        say(f"{name}: as reviewed, nothing to agree to")
        return
    _agree(seen, text, yes)


@app.command()
def remove(name: Name) -> None:
    """Take a plugin away: from this moment on it reaches nobody and is not called."""
    shelf = _shelf()
    if name not in shelf.names():
        shelf.manifest(name)  # says which there are
    shelf.remove(name)
    _tell_service()
    say(f"{name} is gone; its secrets stay until 'forewatch plugins secret {name} SECRET --forget'")


@app.command()
def secret(
    name: Name,
    secret: Annotated[str, typer.Argument(help="The secret's name in the manifest.")],
    forget: Annotated[bool, typer.Option("--forget", help="Take it out of the vault.")] = False,
) -> None:
    """Give the broker a secret of a plugin: asked for, or from stdin. The plugin itself never sees it."""
    from forewatch.access import key_source
    from forewatch.plugins.house import vault_account

    text = None if forget else _asked(secret)
    if text == "":
        raise ConfigError("no secret was given", remedy="type it, or pipe it in")
    from extractors.vault import Vault

    vault = Vault.open(settings().vault, key_source(settings()))
    try:
        vault.update(vault_account(name), {secret: text})
    finally:
        vault.close()
    say(f"{secret} is {'forgotten' if forget else 'in the vault'}")
    if text and name not in _shelf().names():
        say(f"attention: there is no plugin {name!r} yet; {did_you_mean(name, _shelf().names()) or 'add it'}")


@app.command()
def egress(
    name: Annotated[str, typer.Argument(help="One plugin; by default all.")] = "",
    blocked: Annotated[bool, typer.Option("--blocked", help="Only what was blocked.")] = False,
    as_json: AsJson = False,
) -> None:
    """What plugins asked of the world, and what was blocked."""
    from forewatch.plugins.ledger import FileLedger

    chosen = settings()
    entries = [
        entry
        for entry in FileLedger(chosen.home).entries()
        if (not name or entry.plugin == name) and (entry.phase == "blocked" if blocked else entry.phase != "started")
    ]
    if as_json:
        show_json([entry.model_dump(mode="json") for entry in entries])
        return
    show_table(
        ("at", "plugin", "what", "host", "path", "status", "out", "in"),
        [
            (
                local(e.at, chosen.zone),
                e.plugin,
                e.reason or e.method,
                e.host,
                e.path,
                e.status,
                e.bytes_out,
                e.bytes_in,
            )
            for e in entries
        ],
        empty="nothing was asked",
    )


def _reviewed(manifest: PluginManifest) -> Review:
    from forewatch.plugins.review import review

    return review(manifest, _shelf().pin(manifest.plugin), _house(), SystemClock())


def _agree(seen: Review, text: str, yes: bool) -> None:
    for line in seen.lines():
        out.print(line, markup=False)
    if not yes:
        if not sys.stdin.isatty():
            raise Refused("nobody is here to agree", code="not_agreed", remedy="read it and say --yes")
        if not typer.confirm("Let it in?"):
            raise Refused("not agreed: nothing changed", code="not_agreed")
    _shelf().put(seen.manifest, text, seen.now)
    _tell_service()
    say(f"{seen.manifest.plugin} is on: {', '.join(sorted(made.name for made in seen.tools.values())) or 'no tools'}")


def _asked(name: str) -> str:
    text = typer.prompt(name, hide_input=True) if sys.stdin.isatty() else sys.stdin.readline()
    return str(text).strip()


def _tell_service() -> None:
    """A running service follows at once; one that does not run has nothing to follow."""
    try:
        client().post("/plugins/reload")
    except Unreachable:
        return
