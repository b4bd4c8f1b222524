"""A lock of one account across tasks, threads and processes, which dies with whoever holds it."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from schemas.errors import ConfigError, TransientError

_FIRST_WAIT_S = 0.01
_LONGEST_WAIT_S = 0.1


@asynccontextmanager
async def account_lock(folder: Path, account: str, deadline_s: float = 60) -> AsyncIterator[None]:
    """TransientError when others hold it beyond the deadline. Never blocks the event loop."""
    loop = asyncio.get_running_loop()
    ends, wait_s = loop.time() + deadline_s, _FIRST_WAIT_S
    path = folder / f"{account}.lock"
    while (descriptor := await _tried(path)) is None:
        if (left := ends - loop.time()) <= 0:
            raise TransientError(f"account {account}: its lock is held for more than {deadline_s:g} s")
        await asyncio.sleep(min(wait_s, left))
        wait_s = min(wait_s * 2, _LONGEST_WAIT_S)
    try:
        yield
    finally:
        os.close(descriptor)


def remove_lock(folder: Path, account: str) -> None:
    """For an account that is gone. Whoever holds it keeps it; whoever waits makes a new one."""
    path = folder / f"{account}.lock"
    if path.exists() and (descriptor := _try(path)) is not None:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        os.close(descriptor)


async def _tried(path: Path) -> int | None:
    attempt = asyncio.ensure_future(asyncio.to_thread(_try, path))
    try:
        return await asyncio.shield(attempt)
    except asyncio.CancelledError:
        attempt.add_done_callback(_let_go)  # the thread may get the lock although nobody wants it any more
        raise


def _let_go(attempt: asyncio.Future[int | None]) -> None:
    if not attempt.cancelled() and attempt.exception() is None and (descriptor := attempt.result()) is not None:
        os.close(descriptor)


def _try(path: Path) -> int | None:
    """The descriptor that holds the lock; None where another one does."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(f"{path} cannot be opened: {error.strerror}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _is_at(path, descriptor):
            return descriptor
    except BlockingIOError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the locked file is still the one of that name: it may have been removed in between."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
