"""serve: the worker, its ticker and the socket API in one process and one event loop, until a signal or a failure."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import SystemRandom
from typing import Any

import structlog
import uvicorn

from forewatch.api import create_api
from forewatch.erase import finish
from forewatch.heap import keep_tidy, survivors_set_aside
from forewatch.memories import keep_index
from forewatch.settings import Settings
from forewatch.wiring import Service, build
from schemas.clock import SystemClock
from schemas.errors import ConfigError, TransientError
from streams.ending import end

log = structlog.get_logger(__name__)

MAINTAIN_EVERY_S = 5.0
ANSWER_GRACE_S = 3
"""How long a stop waits for answers that are under way on the socket."""


async def serve(settings: Settings, *, on_ready: Callable[[], None] = lambda: None) -> None:
    """Returns after SIGINT or SIGTERM; raises what made the service fail. Until the service starts, signals do what
    the caller lets them do: a process that ends there leaves nothing that the next start does not finish."""
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with only_one(settings.home), survivors_set_aside():
        await asyncio.to_thread(finish, settings, SystemClock())
        service = await build(settings, SystemClock(), SystemRandom())
        stop = _told_by_signal()
        try:
            await _first_of(service.start(), stop.wait())
            if not stop.is_set():
                await _until_stopped(service, stop, on_ready)
        finally:
            await service.stop()


class only_one:  # reads as a phrase: with only_one(home)
    """A lock on the home folder that dies with the process; ConfigError names who holds it."""

    def __init__(self, home: Path) -> None:
        self._path = home / "serve.lock"
        self._fd = -1

    def __enter__(self) -> None:
        self._fd = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._fd, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._fd)
            raise ConfigError(
                f"another 'forewatch serve' (process {holder}) already runs on {self._path.parent}",
                remedy="stop it first, or give this one a home of its own with FOREWATCH_HOME",
            ) from error
        os.truncate(self._fd, 0)
        os.pwrite(self._fd, str(os.getpid()).encode(), 0)

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


def _told_by_signal() -> asyncio.Event:
    told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    return told


async def _until_stopped(service: Service, stop: asyncio.Event, on_ready: Callable[[], None]) -> None:
    async with _socket(service):
        log.info("serving", action="serving", socket=str(service.settings.socket), broker=service.settings.broker_url)
        on_ready()
        await _first_of(
            _crash(service),
            stop.wait(),
            service.ticker.run(),
            _maintain(service),
            service.watchers.run(),
            service.reloader.run(),
            service.watchdog.run(),
            keep_tidy(lambda: service.ticker.next_due() - service.clock.now()),
            keep_index(service.settings, service.act.books, service.meaning),
        )


async def _first_of(*works: Coroutine[Any, Any, object]) -> None:
    """Until one of them ends; raises what it failed of, and of several that ended at once what the first one did."""
    tasks = [asyncio.ensure_future(work) for work in works]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    await end(*pending)
    for task in tasks:
        if task in done:
            task.result()


async def _crash(service: Service) -> None:
    raise await service.worker.wait_crashed()


async def _maintain(service: Service) -> None:
    while True:
        try:
            await asyncio.to_thread(service.history.maintain)
        except TransientError as error:
            log.warning("history upkeep failed", action="maintain_failed", error=str(error))
        await asyncio.sleep(MAINTAIN_EVERY_S)


class _Server(uvicorn.Server):
    """Signals are ours: ``_until_stopped`` listens for them."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def _socket(service: Service) -> AsyncIterator[None]:
    listener = _listen(service.settings.socket)
    api = create_api(service, lambda: uuid.uuid4().hex)
    config = uvicorn.Config(
        api, log_config=None, access_log=False, lifespan="off", ws="none", timeout_graceful_shutdown=ANSWER_GRACE_S
    )
    server = _Server(config)
    task = asyncio.ensure_future(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task
        service.settings.socket.unlink(missing_ok=True)


def _listen(path: Path) -> socket.socket:
    """Bound before anybody but the owner could open it."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"cannot make the socket {path}: {error}",
            remedy="use a shorter FOREWATCH_HOME (at most about 90 characters)",
        ) from error
    finally:
        os.umask(before)
    return listener
