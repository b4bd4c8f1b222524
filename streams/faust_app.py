"""The Faust app itself, with the settings that were measured to be quick and safe (docs/decisions/0003)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Any

import faust
from faust.sensors import Monitor
from faust.tables.manager import TableManager
from faust.types import TP, StreamT, TopicT
from mode import Service

from streams.broker import Broker
from streams.drain import BATCH
from streams.ledger import LIMIT

_COMMIT_S = {"kafka": 0.5, "embedded": 3_600.0}
"""How often Faust looks for offsets to commit; on the embedded log there never are any."""


class QuickTables(TableManager):
    """Faust's, without the fixed second of sleep at the start: there are no tables to wait for."""

    async def on_start(self) -> None:
        await self._update_channels()
        await self.recovery.start()


class LightMonitor(Monitor):
    """Keeps what Faust's livelock detector reads; the sampling of every second is left out."""

    @Service.task
    async def _sampler(self) -> None:
        return

    def on_message_in(self, tp: TP, offset: int, message: Any) -> None: ...

    def on_stream_event_in(self, tp: TP, offset: int, stream: Any, event: Any) -> None:
        self.stream_inbound_time[tp] = monotonic()

    def on_stream_event_out(self, tp: TP, offset: int, stream: Any, event: Any, state: Any = None) -> None: ...

    def on_message_out(self, tp: TP, offset: int, message: Any) -> None: ...


class QuietApp(faust.App):
    """Keeps nothing outside of the log, and says when a rebalance is over and the flow goes on."""

    on_flow: Callable[[], None]

    def _create_directories(self) -> None: ...

    def add_agent(self, carry: Callable[[StreamT[Any]], Awaitable[None]], topic: TopicT, name: str) -> None:
        """As Faust's ``agent`` does, which also looks for the module that called it, in all that are loaded."""
        agent = faust.Agent(carry, name=name, app=self, channel=topic, on_error=self._on_agent_error)
        self.agents[name] = agent
        self.topics.beacon.add(agent)

    def on_rebalance_end(self) -> None:
        super().on_rebalance_end()
        self.on_flow()


def faust_app(broker: Broker) -> QuietApp:
    """Not started, and not restartable: an app is used once."""
    session_s = float(broker.options.get("session_timeout_s", "10"))
    return QuietApp(
        broker.prefix,
        broker=[f"kafka://{server}" for server in broker.servers] or f"embedded://{broker.path}",
        store="memory://",
        autodiscover=False,
        web_enabled=False,
        topic_partitions=broker.partitions,
        topic_allow_declare=False,
        topic_disable_leader=True,
        table_standby_replicas=0,
        stream_buffer_maxsize=64,
        stream_wait_empty=False,
        broker_commit_interval=_COMMIT_S[broker.kind],
        broker_session_timeout=session_s,
        broker_heartbeat_interval=session_s / 3,
        broker_max_poll_records=BATCH * LIMIT,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=8 << 20,
        TableManager=QuickTables,
        Monitor=LightMonitor,
    )
