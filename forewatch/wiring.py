"""Wiring: the only module that knows the concrete classes; everything else is given its collaborators."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import rules
from actions.planning.otherwise import PlaybookReplanner
from actions.planning.playbook_loader import SHIPPED, load_all
from actions.run.executor import Executor
from actions.settings import ActSettings
from actions.setup import Setup
from extractors import registry
from extractors.connector import Connector
from forewatch import canary
from forewatch.access import Credentials
from forewatch.erasures import follow
from forewatch.memories import Meaning
from forewatch.outgoing.accounts import Outgoing
from forewatch.planning import asker, model_settings, server_model, with_replanning
from forewatch.plugins.house import House
from forewatch.reading import Reading
from forewatch.recorder import TOPICS, RecordAgent
from forewatch.reloading import Reloader, rules_to_start_with
from forewatch.settings import Settings
from forewatch.storage.history import History, Tuning
from forewatch.storage.memory import MemoryIndex
from forewatch.toolbox import toolbox
from forewatch.watchdog import Watchdog, WatchdogDeps
from forewatch.watching import WatchDeps, Watchers
from rules.engine import Engine
from rules.loader import load
from rules.ruleset import RuleSet
from schemas.account import AccountState, CursorState
from schemas.clock import Clock
from schemas.errors import AuthError, ConfigError
from streams import topics
from streams.accounts import Fold, accounts, cursors
from streams.act import ActAgent, ActDeps
from streams.app import Worker, create_app
from streams.deadletter import DeadLetterLimit
from streams.evaluate import EvaluateAgent
from streams.lane import Agent
from streams.log import open_log
from streams.normalise import NormaliseAgent
from streams.partition import partition_for
from streams.poll import PollAgent, PollDeps
from streams.ticker import Ticker, TickerDeps
from streams.work import Log

if TYPE_CHECKING:
    from actions.model import ServerModel

LIBRARY = Path(rules.__file__).parent / "library"
"""The rules that Forewatch ships."""


@dataclass(frozen=True)
class Service:
    """Everything that a running Forewatch is made of."""

    settings: Settings
    clock: Clock
    log: Log
    accounts: Fold[AccountState]
    cursors: Fold[CursorState]
    connectors: Mapping[str, Connector]
    reloader: Reloader
    setup: Setup
    history: History
    poll: PollAgent
    evaluate: EvaluateAgent
    act: ActAgent
    ticker: Ticker
    worker: Worker
    credentials: Credentials
    watchers: Watchers
    watchdog: Watchdog
    model: ServerModel | None
    """The planner's, where one is configured."""
    meaning: Meaning | None
    """Search by meaning, where the planner's server makes vectors."""
    house: House

    async def start(self) -> None:
        """What comes first in the log is what rules are in use."""
        await self.reloader.start()
        await self.worker.start()

    async def stop(self) -> None:
        """Prompt; whatever was under way goes on at the next start."""
        await self.act.close()
        await self.worker.stop()
        if self.model is not None:
            await self.model.close()
        await self.house.close()
        await asyncio.to_thread(self.credentials.close)
        await asyncio.to_thread(self.history.close)
        await self.log.close()


def rule_paths(settings: Settings) -> tuple[Path, ...]:
    """The shipped library and the person's own files and folders."""
    return (*((LIBRARY,) if settings.library else ()), *settings.rule_paths)


def load_rules(settings: Settings, setup: Setup) -> RuleSet:
    """All rules, also those that are off; RuleError with file:line:column."""
    found = load(rule_paths(settings), zone=settings.zone, playbooks=setup.playbooks.keys())
    if unknown := set(settings.disabled_rules) - found.by_id.keys():
        raise ConfigError(
            f"disabled_rules: there is no rule {sorted(unknown)[0]!r}", remedy="see 'forewatch rules list'"
        )
    return found.without(settings.disabled_rules)


def shipped_rules(rules: RuleSet) -> frozenset[str]:
    """Ids of those that come with Forewatch."""
    return frozenset(rule.id for rule in rules if rule.place is not None and Path(rule.place.file).parent == LIBRARY)


def _normaliser(connectors: Mapping[str, Connector], settings: Settings, clock: Clock) -> NormaliseAgent:
    own = {canary.SOURCE: canary.Canary()}
    return NormaliseAgent(connectors, settings.zone, clock, DeadLetterLimit(), own)


def _nobody(account: AccountState, asked: bool) -> NoReturn:
    raise AuthError(f"account {account.id} cannot be entered: no service is running", remedy="start the service")


def build_setup(
    settings: Settings, clock: Clock, outgoing: Outgoing | None = None, house: House | None = None
) -> Setup:
    """Without ``outgoing`` no tool that needs an account is offered; playbooks may name it all the same."""
    reading = Reading(clock)
    tools = toolbox(settings, clock, outgoing or Outgoing(_nobody, clock, settings.zone), house, reading)
    act = ActSettings(zone=settings.zone, daily_budget=settings.interruptions_per_day)
    playbooks = load_all(tools, (SHIPPED, settings.home / "playbooks"), partial=(SHIPPED,))
    return Setup(playbooks=playbooks, tools=tools, settings=act, replanner=PlaybookReplanner(), reader=reading)


def _meaning(
    settings: Settings, setup: Setup, model: ServerModel | None, act: ActAgent, clock: Clock
) -> Meaning | None:
    if model is None or not settings.planner_embeddings:
        return None
    index = MemoryIndex(settings.home)
    return Meaning(model, settings.planner_embeddings, setup, clock, index, lambda: act.port(settings.owner))


async def open_settings_log(settings: Settings) -> Log:
    """The log without a running service: for the command line."""
    return await open_log(settings.broker_url, settings.topic_prefix, settings.partitions)


async def build(
    settings: Settings,
    clock: Clock,
    rng: random.Random,
    setup: Setup | None = None,
    *,
    read_rules: Callable[[Settings, Setup], RuleSet] = load_rules,
) -> Service:
    """A service that is not started yet. ConfigError or RuleError if it cannot be one. ``setup``: tools, playbooks and
    a policy in place of those that the settings name. ``read_rules`` is called now and whenever their files
    change."""
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    connectors = registry.Connectors()
    credentials = Credentials(settings, clock, connectors)
    outgoing = Outgoing(credentials.open, clock, settings.zone)
    house = House(settings, clock)
    setup = setup or build_setup(settings, clock, outgoing, house)
    setup = replace(setup, model=model_settings(settings))
    model = await server_model(settings, credentials, clock) if setup.model else None
    log = await open_settings_log(settings)
    try:
        load_now = partial(read_rules, settings, setup)
        rule_set, problem = await rules_to_start_with(load_now, log, settings.owner, settings.zone)
        await follow(settings, log)
        tuning = Tuning(sync="normal" if "sync=normal" in settings.broker_url else "full")
        history = await asyncio.to_thread(History.open, settings.history, clock, tuning)
    except BaseException:
        await log.close()
        raise
    account_fold, cursor_fold = accounts(log), cursors(log)
    outgoing.accounts, outgoing.refresh = lambda: account_fold, account_fold.refresh
    poll = PollAgent(
        PollDeps(
            log,
            account_fold,
            cursor_fold,
            connectors,
            settings.zone,
            clock,
            rng,
            settings.poll_concurrency,
            access=credentials.open,
        )
    )
    evaluate = EvaluateAgent(log, lambda owner: Engine(rule_set, owner, settings.zone))
    act = ActAgent(
        ActDeps(
            log,
            setup,
            lambda port, book: Executor(port, book, with_replanning(model, setup, port, book, clock), clock, rng),
            clock,
            str(uuid.uuid4()),
            asker(model, setup, clock) if model else None,
            house.cut,
        )
    )
    if isinstance(setup.reader, Reading):
        setup.reader.connect(model, setup, lambda: act.port(settings.owner), act.books)
    ticker = Ticker(TickerDeps(log, account_fold, cursor_fold, evaluate, act, (settings.owner,), settings.zone, clock))
    evaluate.on_change = act.on_work = ticker.wake
    reloader = Reloader(
        log,
        rule_set,
        load_now,
        lambda: rule_paths(settings),
        settings.owner,
        clock,
        lambda: evaluate.owns(0),
        problem,
    )
    worker = create_app(
        settings.broker_url,
        prefix=settings.topic_prefix,
        partitions=settings.partitions,
        agents=[
            Agent("poll", topics.POLLS, poll),
            Agent("normalise", topics.RECORDS, _normaliser(connectors, settings, clock)),
            Agent("evaluate", topics.EVENTS, evaluate, pipelined=True),
            Agent("act", (topics.TRIGGERS, topics.COMMANDS), act),
            Agent("record", TOPICS, RecordAgent(history, log, clock)),
        ],
    )
    watchers = Watchers(
        WatchDeps(
            log,
            account_fold,
            connectors,
            credentials.open,
            clock,
            lambda account: evaluate.owns(partition_for(account.encode(), settings.partitions)),
        )
    )
    watchdog = Watchdog(
        WatchdogDeps(
            log,
            account_fold,
            cursor_fold,
            act,
            lambda: reloader.rules,
            shipped_rules,
            settings.owner,
            settings.zone,
            clock,
        )
    )
    return Service(
        settings, clock, log, account_fold, cursor_fold, connectors, reloader, setup, history, poll, evaluate, act,
        ticker, worker, credentials, watchers, watchdog, model, _meaning(settings, setup, model, act, clock), house,
    )  # fmt: skip
