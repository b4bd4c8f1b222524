"""accounts kinds|add|list|auth|test|sync|pause|resume|answer|remove|rekey."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import ValidationError

from forewatch.cli.console import say, show_json, show_table
from forewatch.cli.place import AsJson, client, settings, tell_service, with_log
from forewatch.instants import local
from schemas.clock import SystemClock
from schemas.errors import ConfigError, NotFound, Unreachable
from schemas.suggest import did_you_mean

if TYPE_CHECKING:
    from extractors.connector import Connector
    from forewatch.settings import Settings
    from schemas.account import AccountState, Status
    from streams.accounts import Fold
    from streams.work import Log

app = typer.Typer(no_args_is_help=True)


@app.command()
def add(
    kind: Annotated[str, typer.Argument(help="maildir, ics, bankfile, imap, caldav, gmail, ...: 'accounts kinds'")],
    place: Annotated[
        str, typer.Argument(help="The file, folder or URL to watch; for a server a mail address or its host.")
    ] = "",
    name: Annotated[str, typer.Option(help="A short name for it; by default made from the place.")] = "",
    option: Annotated[
        list[str] | None, typer.Option("--set", help="A further setting of the connector, as NAME=VALUE.")
    ] = None,
    every: Annotated[float, typer.Option(help="Seconds between polls.")] = 300,
    secret: Annotated[
        list[str] | None, typer.Option(help="A secret from a file, as NAME=@FILE; what is not given is asked for.")
    ] = None,
    device: Annotated[
        bool, typer.Option("--device", help="Sign in by a code that is typed on another device.")
    ] = False,
    redirect: Annotated[str, typer.Option(help="The address that is registered with the bank's gateway.")] = "",
    wait: Annotated[bool, typer.Option(help="Wait for what it gives first, where the service runs.")] = True,
) -> None:
    """Watch a source. Read-only: nothing at the source is ever changed.

    What needs a sign-in is asked for, tried, and kept sealed; nothing is kept when the source does not let us in.
    """
    from extractors import registry
    from forewatch.cli import connecting

    connector = registry.connector(kind)
    options = dict(map(_pair, option or []))
    if getattr(connector, "login", None) is None:
        account = _local_account(connector, place, name, options, every)
        with_log(lambda log, _: _append(log, account))
    else:
        wishes = connecting.wishes(_nested(options), secret or [], device, redirect)
        account = _account(connector, place, name or _id(kind, place or "account"), {}, every)
        with_log(lambda log, _: _is_free(log, account))
        connected = connecting.connect(connector, place, wishes, account.id)
        account = account.model_copy(update={"config": connected.config, "consent_expires_at": connected.ends_at})
        with_log(lambda log, _: _append(log, account))
    say(f"watching {account.title} as {account.id!r}; polled every {every:.0f} s while 'forewatch serve' runs")
    before = with_log(lambda log, _: _last_poll(log, account.id))
    if tell_service() and wait:
        _follow(account.id, before)


@app.command()
def kinds(as_json: AsJson = False) -> None:
    """What can be connected, and what is read there."""
    from extractors import registry

    rows = []
    for kind in registry.names():
        login = getattr(registry.connector(kind), "login", None)
        rows.append(
            {"kind": kind, "reads": login.reads if login else "a file, folder or address that needs no sign-in"}
        )
    if as_json:
        show_json(rows)
    else:
        show_table(("kind", "reads"), [(row["kind"], row["reads"]) for row in rows], empty="no connectors")


def _local_account(connector: Connector, place: str, name: str, options: dict[str, Any], every: float) -> AccountState:
    if not place:
        raise ConfigError(f"{connector.name} needs a file, a folder or an address", remedy="give it after the kind")
    is_url = "://" in place
    if not is_url and not _is_text(place):
        raise ConfigError(f"the name {place!r} is no UTF-8 text", remedy="rename it, or watch the folder that it is in")
    config = {"url" if is_url else "path": place if is_url else str(Path(place).expanduser().absolute())}
    account = _account(connector, place, name or _id(connector.name, place), {**config, **_nested(options)}, every)
    if not is_url:
        _must_be_read(connector, Path(str(config["path"])))
    return account


def _must_be_read(connector: Connector, path: Path) -> None:
    """ConfigError where nothing is there, it may not be read, or another connector knows the file for its own."""
    from extractors import registry
    from extractors.connector import FileConnector

    if not path.exists():
        raise ConfigError(f"{path} does not exist", remedy="check the path")
    if not os.access(path, os.R_OK):
        raise ConfigError(f"{path} may not be read", remedy="give the user that runs Forewatch the right to read it")
    if not isinstance(connector, FileConnector) or connector.sniff(path) or (other := registry.sniff(path)) is None:
        return
    message, remedy = f"{path} looks like {other.name}", f"say 'forewatch accounts add {other.name} {path}'"
    if path.is_file():
        raise ConfigError(f"{message}, not like {connector.name}", remedy=remedy)
    say(f"attention: {message}; {connector.name} finds nothing there yet")  # a folder may fill up later


def _account(connector: Connector, place: str, id_: str, config: dict[str, Any], every: float) -> AccountState:
    from forewatch.connect import checked
    from schemas.account import AccountState

    kept = checked(connector, config).model_dump(mode="json", exclude_defaults=True) if config else {}
    try:
        return AccountState(
            id=id_,
            owner=settings().owner,
            connector=connector.name,
            title=place or connector.name,
            config=kept,
            created_at=SystemClock().now(),
            poll_every_s=every,
        )
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        name = ".".join(map(str, fault["loc"]))
        said = _OPTIONS.get(name, f"{connector.name}: {name}: {fault['msg']}")
        raise ConfigError(said) from error


_OPTIONS = {
    "id": "--name: a name has small letters, digits, - and _, begins with a letter or digit, and has 63 at most",
    "poll_every_s": "--every: give seconds, more than 0",
}
"""What the person calls the fields of an account."""


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _nested(options: Mapping[str, Any]) -> dict[str, Any]:
    """``answers.date_order`` sets a setting within a setting."""
    config: dict[str, Any] = {}
    for name, value in options.items():
        _put(config, name, value)
    return config


def _pair(option: str) -> tuple[str, Any]:
    name, equals, value = option.partition("=")
    if not equals:
        raise ConfigError(f"--set {option}: not of the form NAME=VALUE")
    words = {"true": True, "false": False}
    return name, words.get(value.lower(), int(value) if value.isdecimal() else value)


def _put(config: dict[str, Any], name: str, value: Any) -> None:
    *parents, last = name.split(".")
    for parent in parents:
        config = config.setdefault(parent, {})
    config[last] = value


def _id(kind: str, path: str) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", Path(path.rstrip("/")).stem.lower()).strip("-")
    return f"{kind}-{stem}"[:63].strip("-")


async def _append(log: Log, account: AccountState) -> None:
    fold = await _is_free(log, account)
    await log.append([fold.output(account)])


async def _is_free(log: Log, account: AccountState) -> Fold[AccountState]:
    """ConfigError where an account has that name already."""
    from streams.accounts import accounts

    fold = accounts(log)
    await fold.refresh()
    known = fold.get(account.id)
    if (path := account.config.get("path")) and (twin := _watching(fold, account, path)):
        raise ConfigError(f"{path} is watched already, as {twin.id!r}", remedy="remove that account first")
    if known is not None and known.status != "removed":
        raise ConfigError(
            f"there is already an account {account.id!r} ({known.title})", remedy="give this one a --name of its own"
        )
    return fold


def _watching(fold: Fold[AccountState], account: AccountState, path: object) -> AccountState | None:
    """Another account that reads the same place: everything would be told twice."""
    same = (s for s in fold if s.connector == account.connector and s.config.get("path") == path and s.id != account.id)
    return next((state for state in same if state.status != "removed"), None)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """The sources that are watched, and how their last polls went."""
    rows = with_log(_rows)
    if as_json:
        show_json(rows)
        return
    zone = settings().zone
    columns = ("id", "kind", "status", "last poll", "what", "detail")
    show_table(
        columns,
        [
            (r["id"], r["connector"], r["status"], local(r["polled_at"], zone, empty="never"), r["title"], r["detail"])
            for r in rows
        ],
        empty="no accounts yet: forewatch accounts add maildir ~/Maildir",
    )


async def _rows(log: Log, _: Settings) -> list[dict[str, Any]]:
    from streams.accounts import accounts, cursors

    states, places = accounts(log), cursors(log)
    await states.refresh()
    await places.refresh()
    rows = []
    for state in states:
        place = places.get(state.id)
        polled_at: datetime | None = place.polled_at if place else None
        questions = [str(q["text"]) for q in place.questions] if place else []
        warnings = list(place.warnings) if place else []
        error = (place.error if place else "") or state.reason
        rows.append(
            {
                "id": state.id,
                "connector": state.connector,
                "title": state.title,
                "allow": list(state.allow),
                "status": "silent" if place and place.silent and state.status == "active" else state.status,
                "polled_at": polled_at.isoformat() if polled_at else None,
                "error": error,
                "questions": questions,
                "warnings": warnings,
                "detail": "; ".join(filter(None, [error, *questions, *warnings[:1]])),
            }
        )
    return [row for row in rows if row["status"] != "removed"]


def _set_status(account: str, status: Status) -> None:
    _change(account, lambda state: state.model_copy(update={"status": status, "reason": ""}))


async def _known(log: Log, account: str) -> AccountState:
    """Also one that was removed before."""
    from streams.accounts import accounts

    fold = accounts(log)
    await fold.refresh()
    state = fold.get(account)
    if state is None:
        near = did_you_mean(account, [known.id for known in fold if known.status != "removed"])
        raise NotFound(f"there is no account {account!r}", remedy=near or "see 'forewatch accounts list'")
    return state


def _change(account: str, change: Callable[[AccountState], AccountState]) -> None:
    async def go(log: Log, _: Settings) -> None:
        from streams.accounts import accounts

        state = await _known(log, account)
        if state.status == "removed":
            raise NotFound(f"there is no account {account!r}", remedy="see 'forewatch accounts list'")
        await log.append([accounts(log).output(change(state))])

    with_log(go)
    tell_service()


@app.command()
def remove(
    account: str,
    erase: Annotated[
        bool, typer.Option("--erase", help="Also erase what came from it: records, events, history, conclusions.")
    ] = False,
) -> None:
    """Stop watching a source, end the consent at its provider and destroy its secrets.

    What it said so far is kept in the history, unless --erase is given, which needs the service to be stopped: it
    rewrites the log. What plans did in the world stays.
    """
    from forewatch.cli import connecting

    if not erase:
        _set_status(account, "removed")
        connecting.part(_found(account))
        say(f"{account} is no longer watched; its history is kept")
        return
    from forewatch.erase import erase as erase_account
    from forewatch.erase import is_begun
    from forewatch.serve import only_one

    chosen = settings()
    known = None if is_begun(chosen, account) else _found(account)  # what was begun may be gone from the log
    with only_one(chosen.home):
        if known is not None:
            connecting.part(known)
        gone = erase_account(chosen, account, SystemClock())
    say(f"{account} is erased: {gone.ids} things that came from it, {gone.proposals} proposals that rested on them")


@app.command()
def auth(
    account: str,
    option: Annotated[
        list[str] | None, typer.Option("--set", help="A setting that has changed meanwhile, as NAME=VALUE.")
    ] = None,
    secret: Annotated[list[str] | None, typer.Option(help="A secret from a file, as NAME=@FILE.")] = None,
    device: Annotated[
        bool, typer.Option("--device", help="Sign in by a code that is typed on another device.")
    ] = False,
    redirect: Annotated[str, typer.Option(help="The address that is registered with the bank's gateway.")] = "",
    allow: Annotated[
        list[str] | None,
        typer.Option(help="What tools may do there from now on: 'send', 'write' (may be repeated), or 'nothing'."),
    ] = None,
) -> None:
    """Sign in to a source again, after a consent has ended or a password was changed. Nothing known is lost.

    With --allow: grant tools more than reading, or take it back. An account gives tools nothing until then.
    """
    from forewatch.cli import connecting

    known = _found(account)
    granted = connecting.permissions(known, allow) if allow else known.allow
    options = _nested(dict(map(_pair, option or [])))
    wanted = connecting.wishes(options, secret or [], device, redirect, granted)
    change: dict[str, Any]
    if allow and not connecting.needs_consent(known, granted):
        change = {"config": connecting.granted(known, wanted), "allow": granted}
        _change(account, lambda state: state.model_copy(update=change))
        say(f"{account}: tools may {', '.join(granted) or 'only read'}")
        return
    connected = connecting.reconnect(known, wanted)
    change = {"config": connected.config, "status": "active", "reason": "", "allow": granted}
    if connected.ends_at is not None:
        change["consent_expires_at"] = connected.ends_at
    _change(account, lambda state: state.model_copy(update=change))
    with suppress(Unreachable):
        client().post(f"/accounts/{account}/poll")
    say(f"{account} is connected again; what was missed is read at the next poll")
    if granted:
        say(f"{account}: tools may {', '.join(granted)}")


@app.command()
def test(account: str) -> None:
    """Log in to a source now and say what is there. Stores nothing."""
    from forewatch.cli import connecting

    for line in connecting.check(_found(account)):
        say(line)


@app.command()
def rekey() -> None:
    """Seal all secrets under a new key, where Forewatch keeps the key itself."""
    from forewatch.cli import connecting

    connecting.rekey()
    say("all secrets are sealed under a new key")


def _found(account: str) -> AccountState:
    return with_log(lambda log, _: _known(log, account))


@app.command()
def answer(account: str, question: str, choice: str) -> None:
    """Answer a question about a source, such as the order of day and month in its files."""
    _change(account, lambda state: _answered(state, question, choice))
    say(f"{account}: {question} is {choice}; its files are read again at the next poll")


def _answered(state: AccountState, question: str, choice: str) -> AccountState:
    given = state.config.get("answers")
    answers = {**(given if isinstance(given, dict) else {}), question: choice}
    config = {**state.config, "answers": answers}
    from extractors import registry

    if "answers" not in registry.connector(state.connector).config.model_fields:
        raise ConfigError(f"{state.id} asks nothing: {state.connector} has no questions")
    try:
        registry.connector(state.connector).config.model_validate(config)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise ConfigError(f"{state.id}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from error
    return state.model_copy(update={"config": config})


@app.command()
def pause(account: str) -> None:
    """Do not poll this source until it is resumed."""
    _set_status(account, "paused")
    say(f"{account} is paused")


@app.command()
def resume(account: str) -> None:
    """Poll this source again."""
    _set_status(account, "active")
    say(f"{account} is polled again")


@app.command()
def sync(account: str) -> None:
    """Poll this source now and wait for what it gives (needs a running service). May use the last call of a quota."""
    _found(account)
    before = with_log(lambda log, _: _last_poll(log, account))
    client().post(f"/accounts/{account}/poll")
    _follow(account, before)


def _follow(account: str, before: datetime | None) -> None:
    from forewatch.cli.progress import follow

    said = with_log(lambda log, _: follow(log, account, before))
    say(f"{account}: {said}")


async def _last_poll(log: Log, account: str) -> datetime | None:
    from streams.accounts import cursors

    fold = cursors(log)
    await fold.refresh()
    state = fold.get(account)
    return state.polled_at if state else None
