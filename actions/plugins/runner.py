"""Runner: the one live session with a plugin in one version. Starts when first called, ends when idle or retired."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

from actions.isolation.broker import Broker
from actions.plain import clean
from actions.plugins.connection import Blocks, Connection, Surroundings
from actions.plugins.listing import Listing
from actions.plugins.manifest import PluginManifest
from actions.plugins.manifests import START_S
from actions.plugins.pipe import Fault
from actions.plugins.session import complete, leaf, listing_of, session, translated
from schemas.errors import ForewatchError, NotSent, StepFailed
from schemas.model import Json

if TYPE_CHECKING:
    from mcp.client.session import ClientSession
    from mcp_types import CallToolResult, RequestParamsMeta

OnChange = Callable[[Listing], Awaitable[None]]


@dataclass
class _Life:
    """One run of the server, bound to one event loop."""

    ready: asyncio.Future[ClientSession]
    fault: Fault
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None
    broker: Broker | None = None
    calls: int = 0
    was_used: bool = False
    must_list: bool = False

    @property
    def is_usable(self) -> bool:
        here = self.task is not None and self.task.get_loop() is asyncio.get_running_loop()
        return here and self.task is not None and not self.task.done() and not self.stop.is_set()

    def begin(self) -> None:
        self.calls += 1
        self.was_used = True
        self.idle.clear()

    def end(self) -> None:
        self.calls -= 1
        if not self.calls:
            self.idle.set()


class Runner:
    """``expected``: what the server must list, or nothing is called; None while it is looked at for the first time."""

    def __init__(
        self, plugin: PluginManifest, host: Surroundings, expected: Listing | None, on_change: OnChange
    ) -> None:
        self.plugin = plugin
        self.blocks = Blocks(host.means.ledger)
        self._host = host
        self._expected = expected
        self._on_change = on_change
        self._life: _Life | None = None
        self._is_retired = False
        self._cut: set[asyncio.Task[None]] = set()

    async def call(self, tool: str, arguments: Mapping[str, Json], key: str, timeout_s: float) -> CallToolResult:
        """NotSent: it did not start. StepFailed: it may not be called, or said no. OutcomeUnknown: it may have
        acted."""
        from mcp.shared.exceptions import MCPError

        life = await self._alive()
        live = await asyncio.shield(life.ready)
        life.begin()
        try:
            if life.must_list:
                await self._compare(life, live)
            meta = cast("RequestParamsMeta", {"idempotency-key": key})
            result = await live.call_tool(
                tool, dict(arguments), read_timeout_seconds=timeout_s, meta=meta, allow_input_required=True
            )
        except MCPError as error:
            raise translated(error, self.plugin.plugin, life.fault.says()) from error
        finally:
            life.end()
        return complete(result)

    @property
    def is_busy(self) -> bool:
        """Is a call under way?"""
        return self._life is not None and self._life.calls > 0

    async def listed(self) -> Listing:
        """What it lists now, whatever is expected."""
        life = await self._alive()
        return await listing_of(await asyncio.shield(life.ready))

    async def retire(self) -> None:
        """Takes no further call; what is under way may end. Returns when the process is gone."""
        self._is_retired = True
        if self._life is not None:
            self._life.stop.set()
        await self._gone()

    async def close(self) -> None:
        """At once: what is under way has an unknown outcome."""
        self._is_retired = True
        if self._life is not None and self._life.is_usable and self._life.task is not None:
            self._life.task.cancel()
        await self._gone()

    def cut(self) -> None:
        """No further byte leaves from this moment on, and the process ends: what is under way has an unknown outcome.
        The next call starts another one."""
        life = self._life
        if life is None:
            return
        self._life = None
        life.stop.set()
        if life.broker is not None:
            life.broker.revoke()
        if life.task is not None and not life.task.done():
            life.task.cancel()
            self._cut.add(life.task)
            life.task.add_done_callback(self._cut.discard)

    def revoke(self) -> None:
        """No further byte leaves from this moment on, and no further call is taken."""
        self._is_retired = True
        if self._life is not None and self._life.broker is not None:
            self._life.broker.revoke()

    async def _gone(self) -> None:
        task = self._life.task if self._life else None
        tasks = [*self._cut, *([task] if task is not None else [])]
        here = [each for each in tasks if each.get_loop() is asyncio.get_running_loop()]
        await asyncio.gather(*here, return_exceptions=True)

    async def _alive(self) -> _Life:
        if self._is_retired:
            raise NotSent(f"the plugin {self.plugin.plugin!r} was replaced or taken away")
        if self._life is None or not self._life.is_usable:
            self._life = life = _Life(asyncio.get_running_loop().create_future(), Fault())
            life.task = asyncio.create_task(self._live(life), name=f"plugin {self.plugin.plugin}")
        return self._life

    async def _live(self, life: _Life) -> None:
        """Owns the session from its start to its end: whoever enters it must also leave it, in one task."""
        try:
            async with self._connected(life) as live:
                await self._introduce(life, live)
        except StepFailed as error:
            _settle(life.ready, error)
        except Exception as error:  # the border to code that is not ours
            cause = leaf(error)
            why = life.fault.says() or clean(f"{type(cause).__name__}: {cause}")
            _settle(life.ready, NotSent(f"the plugin {self.plugin.plugin!r} did not start: {why}"))
        finally:
            life.stop.set()
            _settle(life.ready, NotSent(f"the plugin {self.plugin.plugin!r} was stopped while it started"))

    async def _introduce(self, life: _Life, live: ClientSession) -> None:
        try:
            if self._expected is not None:
                await self._compare(life, live)
        except ForewatchError as error:  # settled here: the session's group of tasks would wrap it
            _settle(life.ready, error)
            return
        life.ready.set_result(live)
        await self._until_over(life)

    async def _until_over(self, life: _Life) -> None:
        over = [asyncio.create_task(event.wait()) for event in (life.stop, life.fault.over)]
        try:
            while not (life.stop.is_set() or life.fault.over.is_set()):
                done, _ = await asyncio.wait(over, timeout=self._host.idle_s, return_when=asyncio.FIRST_COMPLETED)
                if not done and not life.calls and not life.was_used:
                    return
                life.was_used = bool(life.calls)
        finally:
            for task in over:
                task.cancel()
        life.stop.set()
        if life.calls:  # what is under way may end
            await life.idle.wait()

    @asynccontextmanager
    async def _connected(self, life: _Life) -> AsyncIterator[ClientSession]:
        from mcp.client._probe import negotiate_auto

        def changed() -> None:
            life.must_list = True

        with TemporaryDirectory(prefix="fw-") as folder:
            connection = Connection(self.plugin, self._host, self.blocks, life.fault)
            async with connection.streams(Path(folder)) as (read, write), session(read, write, changed) as live:
                life.broker = connection.broker
                async with asyncio.timeout(START_S):
                    await negotiate_auto(live)
                yield live

    async def _compare(self, life: _Life, live: ClientSession) -> None:
        """StepFailed where the server does not list what the person reviewed."""
        found = await listing_of(live)
        life.must_list = False
        if self._expected is None or found == self._expected:
            return
        self._is_retired = True
        life.stop.set()
        await self._on_change(found)
        raise StepFailed(
            f"the plugin {self.plugin.plugin!r} lists its tools differently from what you reviewed",
            code="denied",
            remedy=f"look at 'forewatch plugins check {self.plugin.plugin}'",
        )


def _settle(ready: asyncio.Future[ClientSession], error: Exception) -> None:
    """Whoever waits gets the error; that nobody waits is no fault."""
    if not ready.done():
        ready.set_exception(error)
        ready.exception()
