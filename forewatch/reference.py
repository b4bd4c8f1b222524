"""Writes the generated pages and the JSON Schema of rules: ``python -m forewatch.reference docs/reference``."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

from actions.tools.tool import Manifest
from forewatch.cli.console import Exit
from forewatch.settings import PREFIX, Settings
from rules.schema import json_schema

_HOW_IT_SPEAKS = (
    "stdout is data, stderr is talk. `--json` gives one JSON document, with exact instants.",
    "",
    "Tables are for a terminal and show the owner's clock; in a pipe they are lines without a header, separated by",
    "tabs. An id may be shortened to its start.",
)
_EXITS = {
    Exit.OK: "done",
    Exit.FAILED: "it failed; the line on stderr says what and what to do",
    Exit.USAGE: "wrong arguments, settings or rule file",
    Exit.NOT_FOUND: "what was named does not exist",
    Exit.UNHEALTHY: "`doctor` found something that must be mended",
    Exit.NEEDS_SIGN_IN: "a person must let Forewatch in",
    Exit.UNREACHABLE: "no service is running",
    Exit.REFUSED: "refused by policy or by the state of the thing; nothing changed",
    Exit.INTERRUPTED: "interrupted",
}

_NEWS = {
    "maildir": "the names in the folders; an mbox file when it has changed",
    "ics": "files and addresses that have changed (`ETag`, `Last-Modified`)",
    "imap": "QRESYNC or CONDSTORE where the server has them, else UIDs and flags",
    "bankfile": "files that are new or have changed",
    "jmap": "`Email/changes` since the last state",
    "graph_calendar": "delta queries",
    "caldav": "`sync-collection`, else ETags",
    "graph_mail": "delta queries, folder by folder",
    "gmail": "the history since the last poll",
    "google_calendar": "`syncToken`",
    "enablebanking": "the last 21 days of each account are read again",
    "gocardless": "the last 21 days of each account are read again",
    "simplefin": "the last 14 days are read again",
    "rest": "as its definition says: what has changed since, or the whole list",
    "plaid": "`/transactions/sync` since the last whole loop",
    "fints": "the last 21 days of each account are read again",
}
"""How each connector that we ship finds what is new."""
_ANSWER = re.compile(r"^([a-z-]+):((?:.*)(?:\n[ \t]+.*)*)", re.MULTILINE)
_WHERE = re.compile(r"[:;] [^:;]*\.py.*$| \([^)]*\.py\)")
"""Where in the code a limit stands: of no interest to the reader of the page."""


def cli() -> str:
    """Every command with its arguments and options, and the exit codes."""
    import typer

    from forewatch.cli.commands import app

    lines = ["# Command line", "", *_HOW_IT_SPEAKS, ""]
    lines += _commands(typer.main.get_command(app), "forewatch")
    lines += ["## Exit codes", "", "| code | meaning |", "|---|---|"]
    lines += [f"| {int(code)} | {meaning} |" for code, meaning in _EXITS.items()]
    return "\n".join(lines) + "\n"


def _commands(command: Any, name: str) -> Iterator[str]:
    children = getattr(command, "commands", None)
    if children is None:
        yield from _command(command, name)
        return
    for child in sorted(children):
        yield from _commands(children[child], f"{name} {child}")


def _command(command: Any, name: str) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    usage = " ".join(p.name.rstrip("_").upper() if p.required else f"[{p.name.rstrip('_').upper()}]" for p in arguments)
    yield from (f"## `{f'{name} {usage}'.strip()}`", "", command.help or "", "")
    rows = [(p.name.upper(), p.help or "") for p in arguments if getattr(p, "help", "")]
    rows += [(", ".join(f"`{opt}`" for opt in p.opts), p.help or "") for p in options if p.name != "help"]
    if rows:
        yield from ("| | |", "|---|---|", *(f"| {left} | {right} |" for left, right in rows), "")


def settings() -> str:
    """Every setting with its type, default and meaning."""
    lines = [
        "# Settings",
        "",
        f"`config.toml` in the home folder; `{PREFIX}<NAME>` in the environment wins over it.",
        "The home folder itself is chosen by `--home`, `FOREWATCH_HOME`, or is `~/.local/share/forewatch`.",
        "",
        "| name | default | meaning |",
        "|---|---|---|",
    ]
    meanings = _meanings()
    for name, field in Settings.model_fields.items():
        if name != "home":
            meaning = " ".join(meanings[name].replace("``", "`").split())
            lines.append(f"| `{name}` | `{field.get_default()!r}` | {meaning} |")
    return "\n".join(lines) + "\n"


def _meanings() -> dict[str, str]:
    """The docstring below each setting; pydantic would read the source for them at every start."""
    (settings,) = ast.parse(inspect.getsource(Settings)).body
    assert isinstance(settings, ast.ClassDef)
    meanings: dict[str, str] = {}
    for pair in pairwise(settings.body):
        match pair:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                meanings[name] = text
    return meanings


def connectors() -> str:
    """What each connector that we ship reads, how it is let in, how it finds what is new, and what its limits are."""
    from extractors import registry

    shipped = [name for name in registry.names() if type(registry.connector(name)).__module__.startswith("extractors.")]
    quality = {name: _quality(name) for name in shipped}
    lines = [
        "# Connectors",
        "",
        "`forewatch accounts kinds` lists them, `forewatch accounts add KIND PLACE` connects one. They only read.",
        "For a source that is not here, [write one](../howto/write-a-connector.md).",
        "",
        "| kind | reads | is let in by | finds what is new by | limits |",
        "|---|---|---|---|---|",
    ]
    for name in shipped:
        cells = (_reads(name), _let_in_by(name), _NEWS[name], _limits(quality[name]["bounded"]))
        lines.append(f"| `{name}` | {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    lines += [
        "",
        "## What they do not promise",
        "",
        "Each answers the same questions of quality in its `quality.yaml`. These answers are not *done*: what is",
        "*todo* is missing, what is *exempt* cannot be. (What is no file has no preview and is not recognised as one.)",
        "",
        "| kind | question | answer |",
        "|---|---|---|",
    ]
    lines += [
        f"| `{name}` | {question} | {answer.replace('|', '/')} |"
        for name in shipped
        for question, answer in sorted(quality[name].items())
        if not answer.startswith("done") and not (answer.startswith("exempt") and question in ("preview", "sniffed"))
    ]
    return "\n".join(lines) + "\n"


def _quality(name: str) -> Mapping[str, str]:
    """The answers by question, with what their comments add: ``done # why``, ``todo: why`` or ``exempt: why``."""
    source = Path(str(import_module(f"extractors.{name}").__file__)).with_name("quality.yaml").read_text("utf-8")
    return {question: " ".join(answer.split()) for question, answer in _ANSWER.findall(source)}


def _limits(answer: str) -> str:
    return _WHERE.sub("", answer.partition("#")[2].strip())


def _reads(name: str) -> str:
    """In the words that a person is shown; for files those of the connector's own first line."""
    from extractors import registry

    if login := getattr(registry.connector(name), "login", None):
        return str(login.reads)
    return (import_module(f"extractors.{name}.connector").__doc__ or "").partition(": ")[2].rstrip(".")


def _let_in_by(name: str) -> str:
    from extractors import registry

    connector = registry.connector(name)
    login = getattr(connector, "login", None)
    if login is None:
        return "nothing"
    if hasattr(connector, "login_for"):
        return "what its definition says"
    ways = []
    if login.secrets:
        ways.append(", ".join(f"*{secret.prompt}*" for secret in login.secrets))
    if login.scopes:
        ways.append(f"a sign-in (OAuth): {', '.join(sorted(login.scopes))}")
    return "; or ".join(ways) + (", then a page on which you consent" if hasattr(connector, "begin") else "")


def tools() -> str:
    """Every tool that ships, with all that risk and recovery rest on; whether it is offered depends on the settings."""
    from actions.testing.desk import Desk
    from schemas.clock import SystemClock

    registry = Desk(Path("/nonesuch"), SystemClock()).registry()
    lines = [
        "# The toolbox",
        "",
        "Made from the manifests of the tools that ship. What the words mean is on [the page on tools](tools.md); how",
        "accounts, folders and payments are set up is in [let it act](../howto/let-it-act.md). A tool is offered only",
        "where what it needs is set up.",
        "",
    ]
    for name in registry.names():
        manifest = registry.manifest(name)
        assert manifest is not None
        lines += _tool(manifest)
    return "\n".join(lines).rstrip() + "\n"


def _tool(m: Manifest) -> list[str]:
    undo = f"by `{m.undo.tool}`" if m.undo else ("by you" if m.reversible == "yes" else m.reversible)
    found = "yes" if m.look_up else "no"
    touches = "; ".join(f"{kind}: {', '.join(each)}" for kind, each in m.permissions.items()) or "nothing"
    returns = ", ".join(f"`{field}` ({type_})" for field, type_ in m.returns.items())
    lines = [f"## `{m.name}`", "", m.description, "", "| | |", "|---|---|"]
    for name, arg in m.args.items():
        lines.append(f"| `{name}` | {arg.type}{'' if arg.required else ', optional'}: {arg.says} |")
    if m.open_args:
        lines.append(f"| `{m.open_args}*` | any: further values by name |")
    lines += [
        f"| returns | {returns} |",
        f"| effect, class | {m.effect}, {m.effect_class} |",
        f"| can be looked up | {found} |",
        f"| time-out, settle time | {m.timeout_s:g} s, {m.settle_s:g} s |",
        f"| can be taken back | {undo} |",
        f"| touches | {touches} |",
        "",
    ]
    return lines


def pages() -> dict[str, str]:
    schema = json.dumps(json_schema(), indent=1) + "\n"
    return {
        "cli.md": cli(),
        "settings.md": settings(),
        "connectors.md": connectors(),
        "toolbox.md": tools(),
        "rules.schema.json": schema,
    }


if __name__ == "__main__":
    for page, text in pages().items():
        (Path(sys.argv[1]) / page).write_text(text, encoding="utf-8")
