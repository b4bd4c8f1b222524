"""Law L10 on Apache Kafka: killed again and again on the way, an erasure ends like one on the embedded log."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from actions.policy.audit import verify
from actions.proposal.state import ProposalState
from forewatch.demo import Play, run, settings_of
from forewatch.erase import erase, finish, is_begun, pending
from forewatch.testing import approve_all, differences, outcome
from forewatch.wiring import open_settings_log
from schemas.clock import SystemClock
from schemas.errors import ConfigError
from streams import topics
from streams.broker import Broker, parse_broker
from streams.erase import event_target
from streams.journal import read_books
from streams.kafka.admin import admin_client
from streams.kafka.groups import committed_offsets
from tests import forks
from tests.acceptance.traces import all_forms, journal, markers, rows, started_once, traces
from tests.peers.kafka_records import Record, records

pytestmark = pytest.mark.kafka
ACCOUNT = "mail"
START, DAYS = date(2026, 1, 1), 21
POINTS = (
    ("forewatch.erase", "erase_from_log", 0),
    ("streams.kafka.rewrite", "create_topics", 4),
    ("streams.kafka.rewrite.KafkaRewriter", "_replace", 0),
    ("streams.kafka.rewrite", "create_topics", 2),
    ("streams.kafka.copying.Copying", "write", 3),
    ("streams.kafka.rewrite", "commit", 0),
    ("forewatch.erase", "_rebuild_state", 0),
)
"""Where one process after the other dies: right before it calls this for the n-th time. In order: before anything is
done, among copies, when all are made, with a topic deleted, with one half filled, with the group's offsets gone, with
the rules' state gone."""
MORTAL = """
import importlib, os, signal, sys
from pathlib import Path
from forewatch import erase
from forewatch.demo import Play, settings_of
from schemas.clock import SystemClock
place, name, calls = sys.argv[4], sys.argv[5], int(sys.argv[6])
try:
    owner = importlib.import_module(place)
except ImportError:
    module, _, kind = place.rpartition(".")
    owner = getattr(importlib.import_module(module), kind)
real = getattr(owner, name)
def step(*arguments, **named):
    global calls
    calls -= 1
    if calls < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*arguments, **named)
setattr(owner, name, step)
settings = settings_of(Play(Path(sys.argv[1]), broker=sys.argv[2], prefix=sys.argv[3]))
if sys.argv[7]:
    erase.erase(settings, sys.argv[7], SystemClock())
else:
    erase.finish(settings, SystemClock())
"""


class Lived(NamedTuple):
    play: Play
    broker: Broker
    words: list[str]
    twin: Play
    """The same weeks on the embedded log, and the same account erased there."""
    elsewhere: Play
    """Another home of the same log, with a history of its own."""


def at(kafka_server: str) -> str:
    return f"kafka://{kafka_server}?session_timeout_s=10"


def played(home: Path, days: int, broker: str) -> Play:
    prefix = f"e{uuid.uuid4().hex[:10]}"
    play = Play(home, seed=1, start=START, days=days, broker=broker, prefix=prefix, answer=approve_all)
    asyncio.run(run(play))
    return play


def broker_of(play: Play) -> Broker:
    settings = settings_of(play)
    return parse_broker(settings.broker_url, settings.topic_prefix, settings.partitions)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory, kafka_server: str) -> Lived:
    """Three weeks with every plan approved and carried out."""
    play = played(tmp_path_factory.mktemp("erase") / "home", DAYS, at(kafka_server))
    twin = played(tmp_path_factory.mktemp("erase") / "home", DAYS, "")
    broker = broker_of(play)
    elsewhere = replace(play, home=tmp_path_factory.mktemp("elsewhere") / "home")
    asyncio.run(started_once(elsewhere))
    return Lived(play, broker, markers(play, ACCOUNT), twin, elsewhere)


def said(found: list[Record]) -> Iterator[Record]:
    """What the sources said."""
    yield from (record for record in found if record.topic in (topics.RECORDS, topics.EVENTS) and record.value)


def of_others(found: list[Record]) -> Iterator[Record]:
    """What the sources of all other accounts said."""
    for record in said(found):
        if msgspec.json.decode(record.value or b"")["account"] not in (ACCOUNT, "forewatch"):
            yield record


async def offsets(broker: Broker) -> list[object]:
    async with admin_client(broker) as admin:
        return list(await committed_offsets(admin, {broker.topic(spec.name) for spec in topics.SPECS}))


def traces_on(found: list[Record], words: list[str]) -> list[Record]:
    forms = all_forms(words)
    return [record for record in found if any(form in (record.key or b"") + (record.value or b"") for form in forms)]


def dies(play: Play, target: str, place: str, name: str, calls: int) -> None:
    """A process that erases, and is killed there; without a target it ends what was begun, like a start."""
    command = [sys.executable, "-c", MORTAL, play.home, play.broker, play.prefix, place, name, calls, target]
    died = forks.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr[-2000:]


def of_one_event(play: Play) -> str:
    """The id of an event on which a proposal rests."""
    return next(state.trigger.evidence[0].event for state in asyncio.run(proposals(play)) if state.trigger.evidence)


async def proposals(play: Play) -> list[ProposalState]:
    log = await open_settings_log(settings_of(play))
    try:
        books = await read_books(log)
    finally:
        await log.close()
    return sorted((s for book in books.values() for s in book.proposals.values()), key=lambda state: state.id)


def erase_one_event(lived: Lived) -> None:
    """With what rests on it; what was cut off is ended by its own command."""
    play, broker, _, twin, elsewhere = lived
    settings = settings_of(play)
    event = of_one_event(play)
    words = [event]
    before, places = asyncio.run(records(broker)), asyncio.run(offsets(broker))
    assert traces_on(before, words)
    dies(play, event_target(event), "streams.kafka.rewrite", "create_topics", 4)
    dies(play, event_target(event), "streams.kafka.rewrite", "create_topics", 2)
    environment = {
        **os.environ, "FOREWATCH_HOME": str(settings.home), "FOREWATCH_TIMEZONE": settings.timezone,
        "FOREWATCH_BROKER": settings.broker, "FOREWATCH_TOPIC_PREFIX": settings.topic_prefix,
    }  # fmt: skip
    command = [sys.executable, "-c", "from forewatch.cli.main import main; main()", "events", "erase", event[:12]]
    ended = forks.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert not is_begun(settings, event_target(event))

    after = asyncio.run(records(broker))
    assert traces_on(after, words) == []
    assert traces(settings.home, words) == []
    assert asyncio.run(offsets(broker)) == places
    assert verify(asyncio.run(journal(play))) == []
    lost = [len(list(said(found))) for found in (before, after)]
    assert 1 <= lost[0] - lost[1] < 10, "the event, its other versions and their records"
    assert list(of_others(after)) == list(of_others(before))

    erase(settings_of(twin), event_target(event), SystemClock())
    for each in (play, elsewhere, twin):
        asyncio.run(started_once(each))
    assert traces(settings_of(elsewhere).home, words) == []
    assert differences(outcome(play), outcome(twin)) == {}


@pytest.mark.kill
def test_one_event_and_then_a_whole_account_leave_no_word_and_lose_nothing_else_however_often_killed(
    lived: Lived,
) -> None:
    erase_one_event(lived)
    play, broker, words, twin, elsewhere = lived
    settings = settings_of(play)
    erase(settings_of(twin), ACCOUNT, SystemClock())
    before, places = asyncio.run(records(broker)), asyncio.run(offsets(broker))
    assert len(words) > 20
    assert traces(settings_of(elsewhere).home, words)
    assert traces_on(before, words), "the search finds nothing where there must be something"
    for place, name, calls in POINTS:
        dies(play, ACCOUNT, place, name, calls)
        assert pending(settings.home) == [ACCOUNT]
        if name != "erase_from_log":
            with pytest.raises(ConfigError, match="half rewritten"):
                asyncio.run(open_settings_log(settings))
    assert is_begun(settings, ACCOUNT)
    assert [gone.account for gone in finish(settings, SystemClock())] == [ACCOUNT]
    assert not is_begun(settings, ACCOUNT)

    after = asyncio.run(records(broker))
    assert traces_on(after, words) == []
    assert traces(settings.home, words) == []
    assert list(of_others(after)) == list(of_others(before))
    assert len(list(of_others(after))) > 30
    assert asyncio.run(offsets(broker)) == places
    assert verify(asyncio.run(journal(play))) == []

    asyncio.run(started_once(play))
    again = asyncio.run(records(broker))
    quiet = (topics.RECORDS, topics.EVENTS, topics.TRIGGERS, topics.COMMANDS, topics.DEAD)
    assert [r for r in again if r.topic in quiet] == [r for r in after if r.topic in quiet], "something was said anew"
    asyncio.run(started_once(elsewhere))
    assert traces(settings_of(elsewhere).home, words) == []
    asyncio.run(started_once(twin))
    assert differences(outcome(play), outcome(twin)) == {}


@pytest.mark.kill
def test_two_that_were_begun_are_both_ended_at_the_next_start_the_older_one_first(
    tmp_path: Path, kafka_server: str
) -> None:
    """The log is half rewritten for the older one, which is not the first by its name."""
    play = played(tmp_path / "home", 7, at(kafka_server))
    settings, broker = settings_of(play), broker_of(play)
    words = [*markers(play, "mail"), *markers(play, "bank-a")]
    assert traces_on(asyncio.run(records(broker)), words)
    dies(play, "mail", "streams.kafka.rewrite", "create_topics", 4)
    with pytest.raises(ConfigError, match="'mail' was begun"):
        erase(settings, "bank-a", SystemClock())
    for left, place, name, calls in (
        (["mail", "bank-a"], "forewatch.erase", "reopen", 0),
        (["bank-a"], "forewatch.erase", "erase_from_log", 1),
        (["bank-a"], "streams.kafka.rewrite", "create_topics", 4),
    ):
        dies(play, "", place, name, calls)
        assert pending(settings.home) == left
    assert [gone.account for gone in finish(settings, SystemClock())] == ["bank-a"]

    assert pending(settings.home) == []
    assert traces_on(asyncio.run(records(broker)), words) == []
    assert traces(settings.home, words) == []
    asyncio.run(started_once(play))
    stays = "SELECT DISTINCT account FROM events WHERE account IN ('mail', 'calendar', 'bank-a', 'bank-b') ORDER BY 1"
    assert rows(play, stays) == [["bank-b"], ["calendar"]]
    assert verify(asyncio.run(journal(play))) == []
