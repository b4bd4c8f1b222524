"""doctor: checks everything that Forewatch rests on, each with what to do when it is wrong."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shlex
import shutil
import socket
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from actions.plain import clean
from forewatch.client import Client
from forewatch.instants import local
from forewatch.settings import Settings
from schemas.clock import SystemClock
from schemas.errors import ConfigError, ForewatchError, Unreachable

if TYPE_CHECKING:
    from schemas.journal import JournalEntry
    from streams.work import Log

State = Literal["ok", "warn", "fail"]

LEAST_FREE = 500 << 20
"""Bytes of free space below which the log may soon fail to grow."""
MOST_LOOKED_AT = 1 << 20
"""Bytes of a file of an account beyond which it is not read only to see whether it is what the account reads."""
MOST_TOLD = 200
"""Characters of the reason of a dead letter."""
_OF_ANOTHER_KIND = frozenset({"not_a_calendar", "html", "unknown_format"})
"""Codes with which a file is rejected as a whole, as no file of that kind."""
LATELY = timedelta(days=30)
"""How far back dead letters are told of."""
CONNECT_S = 3.0
"""How long the model's server may take to pick up."""
PACKAGES = ("schemas", "extractors", "rules", "actions", "streams", "forewatch")


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    state: State
    detail: str
    remedy: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def examine(load: Callable[[], Settings]) -> list[Check]:
    """Every check, also after one has failed. ``load`` reads the settings and may raise."""
    checks = [_python(), _packages()]
    try:
        settings = load()
    except ForewatchError as error:
        return [*checks, Check("settings", "fail", error.message, error.remedy)]
    checks.append(Check("settings", "ok", f"{settings.home}, zone {settings.timezone}"))
    for check in (_home, _space, _isolation, _plugins, _rules, _model, _service, _history):
        checks += _guarded(check, settings)
    return checks + asyncio.run(_log_checks(settings))


def _guarded(check: Callable[[Settings], Iterator[Check]], settings: Settings) -> list[Check]:
    try:
        return list(check(settings))
    except ForewatchError as error:
        return [Check(check.__name__.strip("_"), "fail", error.message, error.remedy)]


def _python() -> Check:
    """Always ok: the package does not install on a Python that is too old."""
    return Check("python", "ok", ".".join(map(str, sys.version_info[:3])))


def _packages() -> Check:
    """The flat package names are common ones: another distribution may have put its own in their place."""
    here = Path(__file__).parent.parent
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None or Path(spec.origin).parent.parent != here:
            found = spec.origin if spec else "nowhere"
            remedy = "install Forewatch in an environment of its own"
            return Check("packages", "fail", f"{name} comes from {found}", remedy)
    return Check("packages", "ok", str(here))


def _home(settings: Settings) -> Iterator[Check]:
    home = settings.home
    if not home.is_dir():
        yield Check("home", "fail", f"{home} is not there", "run 'forewatch init'")
        return
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        yield Check("home", "fail", f"{home} cannot be written", f"chmod u+rwx {home}")
    elif home.stat().st_mode & 0o077:
        yield Check("home", "warn", f"others may look into {home}", f"chmod 700 {home}")
    else:
        yield Check("home", "ok", str(home))


def _space(settings: Settings) -> Iterator[Check]:
    if not settings.home.is_dir():
        return
    free = shutil.disk_usage(settings.home).free
    detail = f"{free >> 20} MB free"
    if free < LEAST_FREE:
        yield Check("disk", "fail", detail, "free some space: nothing is lost, but nothing can be written")
    else:
        yield Check("disk", "ok", detail)


def _isolation(settings: Settings) -> Iterator[Check]:
    from actions.isolation import processes
    from actions.isolation.sandbox import bwrap_problem, strongest

    if (mode := strongest()) == "bwrap":
        yield Check("isolation", "ok", "bwrap: tools that are not ours run without network and see what they declare")
    else:
        detail = f"{mode}: {bwrap_problem()}; tools that need the network or more than reading stay off"
        yield Check("isolation", "warn", detail, "install bubblewrap (Debian: apt install bubblewrap)")
    if not processes.are_bounded():
        detail = "as root, where no control group can be made, a plugin may start any number of processes"
        yield Check("processes", "warn", detail, "run Forewatch as a user of its own")


def _plugins(settings: Settings) -> Iterator[Check]:
    from forewatch.plugins.house import House

    house = House(settings, SystemClock())
    house.tools()
    for state in house.states:
        name = f"plugin {state.plugin}"
        if state.standing == "on":
            yield Check(name, "ok", f"{len(state.tools)} tools")
        else:
            detail = f"off ({state.standing}): {'; '.join(state.reasons)}"
            yield Check(name, "warn", detail, f"look at 'forewatch plugins check {state.plugin}'")


def _rules(settings: Settings) -> Iterator[Check]:
    from forewatch.wiring import build_setup, load_rules

    rules = load_rules(settings, build_setup(settings, SystemClock()))
    yield Check("rules", "ok", f"{len(rules)} rules")


def _model(settings: Settings) -> Iterator[Check]:
    """Nothing is asked of it that costs: only whether somebody answers at its address."""
    from forewatch.planning import model_settings, port_of

    if (limits := model_settings(settings)) is None:
        yield Check("model", "ok", "off: playbooks plan by themselves")
        return
    detail = f"{limits.name} at {limits.host}"
    host = urlsplit(settings.planner_url).hostname or ""
    try:
        socket.create_connection((host, port_of(settings.planner_url)), CONNECT_S).close()
    except (OSError, ValueError) as error:
        remedy = "start it, or mend planner_url; until then playbooks plan by themselves"
        yield Check("model", "warn", f"{detail} cannot be reached: {error}", remedy)
    else:
        yield Check("model", "ok", f"{detail} answers the line; 'forewatch model test' asks it something")


def _model_use(settings: Settings, entries: Sequence[JournalEntry], now: datetime) -> Iterator[Check]:
    """What it was asked today, and how it takes a schema, as the journal says."""
    from actions.planning.spending import Spending
    from forewatch.planning import model_settings

    if (limits := model_settings(settings)) is None:
        return
    spending, asked, way = Spending(), {}, "nothing was answered yet"
    for entry in entries:
        spending.apply(entry)
        if entry.type == "model.asked":
            asked[entry.id] = entry.body.get("rung")
        elif entry.type == "model.answered" and (rung := asked.get(str(entry.body["asked"]))):
            way = f"the last answer came by {rung}"
    tokens, cost = spending.today(now, settings.zone)
    money = f", {cost:.2f} {limits.currency}" if cost else ""
    detail = f"{way}; today {tokens} of {limits.tokens_per_day} tokens{money}"
    if spending.allows("", limits.max_tokens, limits.cost(0, limits.max_tokens), now, settings.zone, limits):
        yield Check("model budget", "ok", detail)
    else:
        remedy = "it is asked again tomorrow; planner_tokens_per_day and planner_cost_per_day bound it"
        yield Check("model budget", "warn", detail, remedy)


def _service(settings: Settings) -> Iterator[Check]:
    try:
        status = Client(settings.socket).get("/status")
    except Unreachable:
        yield Check("service", "warn", "no service is running", "start it with 'forewatch serve'")
        return
    yield Check("service", "ok", f"answers at {settings.socket}")
    if problem := status["rules_problem"]:
        yield Check("rules in use", "warn", "the service goes on with the rules of before", f"mend {problem}")
    if flight := status["canary"]:
        yield canary_check(flight, settings.zone)


def canary_check(flight: dict[str, Any], zone: ZoneInfo) -> Check:
    """``flight`` as the service tells it."""
    if flight["is_lost"]:
        detail = f"that of {local(flight['sent_at'], zone)} did not come through the pipeline"
        return Check("canary", "fail", detail, "look at the service's log; restart it with 'forewatch serve'")
    return Check("canary", "ok", f"seen {local(flight['seen_at'], zone)}" if flight["seen_at"] else "under way")


def _history(settings: Settings) -> Iterator[Check]:
    from forewatch.storage import manifest
    from forewatch.storage.query import HistoryQuery

    if not manifest.exists(settings.history):
        yield Check("history", "warn", "there is none yet", "it begins with the first 'forewatch serve'")
        return
    table = HistoryQuery(settings.history, settings.timezone).page("SELECT count(*) FROM events")
    yield Check("history", "ok", f"{table.rows[0][0]} events")


async def _log_checks(settings: Settings) -> list[Check]:
    from actions.policy.audit import verify
    from streams.accounts import accounts, cursors
    from streams.journal import valid_entries
    from streams.log import open_log

    if not settings.home.is_dir():
        return []
    try:
        log = await open_log(settings.broker_url, settings.topic_prefix, settings.partitions)
    except ForewatchError as error:
        return [Check("log", "fail", error.message, error.remedy)]
    try:
        checks = [Check("log", "ok", settings.broker_url)]
        entries = [entry async for entry in valid_entries(log)]
        faults = verify(entries)
        checks.append(
            Check("journal", "fail", str(faults[0]), "see 'forewatch audit verify'")
            if faults
            else Check("journal", "ok", "the hash chains are whole")
        )
        now = SystemClock().now()
        with suppress(ConfigError):  # told by the check of the model itself
            checks += _model_use(settings, entries, now)
        checks.append(await _dead_letters(log, settings.zone, now - LATELY))
        states, places = accounts(log), cursors(log)
        await states.refresh()
        await places.refresh()
        checks += [
            _account(state, places.get(state.id), settings.zone) for state in states if state.status != "removed"
        ]
        return checks
    finally:
        await log.close()


async def _dead_letters(log: Log, zone: ZoneInfo, since: datetime) -> Check:
    """What could not be read, and why."""
    from schemas.deadletter import DeadLetter
    from streams import topics
    from streams.work import read_entries

    letters = {
        letter.id: letter
        for partition in range(log.partitions(topics.DEAD))
        async for entry in read_entries(log, topics.DEAD, partition)
        if entry.value and (letter := DeadLetter.model_validate_json(entry.value)).at >= since
    }
    if not letters:
        return Check("dead letters", "ok", f"none in {LATELY.days} days")
    counts = Counter(letter.account or letter.topic for letter in letters.values())
    newest = max(letters.values(), key=lambda letter: letter.at)
    told = ", ".join(f"{name} {count}" for name, count in counts.most_common())
    detail = (
        f"{len(letters)} in {LATELY.days} days ({told});"
        f" the newest at {local(newest.at, zone)}: {clean(newest.reason, MOST_TOLD)}"
    )
    columns = "refused_at, account, key, code, reason"
    query = f'forewatch history query "SELECT {columns} FROM dead_letters ORDER BY refused_at DESC LIMIT 20"'
    return Check("dead letters", "warn", detail, query)


def _content(state: Any, zone: ZoneInfo) -> tuple[str, str] | None:
    """What is wrong with the file of an account and what to do, where it is none that the account reads."""
    from extractors import registry
    from extractors.connector import Context, FileConnector, PreviewOptions

    path, connector = Path(str(state.config.get("path", ""))), registry.connector(state.connector)
    if not isinstance(connector, FileConnector) or not path.is_file() or path.stat().st_size > MOST_LOOKED_AT:
        return None
    found = connector.preview(path, Context(state.owner, state.id, zone, SystemClock().now()), PreviewOptions())
    wrong = next((item for item in found.rejected if item.code in _OF_ANOTHER_KIND), None)
    if found.events or wrong is None:
        return None
    detail = f"{path} is not what {connector.name} expects: {wrong.reason}"
    if other := registry.sniff(path, but=connector.name):
        remedy = f"forewatch accounts remove {state.id}; forewatch accounts add {other.name} {shlex.quote(str(path))}"
        return f"{detail}; it looks like {other.name}", remedy
    return detail, "put the right file there, or remove the account"


def _account(state: Any, place: Any, zone: ZoneInfo) -> Check:
    name = f"account {state.id}"
    if state.status == "needs_reauth":
        return Check(name, "fail", state.reason, "mend the source; it is tried again by itself")
    if state.status == "paused":
        return Check(name, "warn", "paused", f"forewatch accounts resume {state.id}")
    if place is None or place.polled_at is None:
        return Check(name, "warn", "never polled yet", "start the service with 'forewatch serve'")
    if place.questions:
        question = place.questions[0]
        return Check(name, "warn", question["text"], f"forewatch accounts answer {state.id} {question['code']} ...")
    if place.failures:
        return Check(name, "warn", place.error, f"tried again at {local(place.retry_at, zone)}")
    try:
        odd = _content(state, zone)
    except ForewatchError as error:  # its connector is gone, or its file may not be read
        return Check(name, "fail", error.message, error.remedy)
    except OSError as error:
        return Check(name, "fail", str(error), "check that the file is there and may be read")
    if odd:
        return Check(name, "warn", *odd)
    if place.silent:
        return Check(name, "warn", f"silent since {local(place.arrivals[-1], zone)}", "is the source still connected?")
    return Check(name, "ok", f"last polled {local(place.polled_at, zone)}")
