"""The service as a process: start to first poll, resident memory and CPU while it has no work."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

STARTS = 5
SETTLE_S = 5.0
IDLE_S = 30.0
COMMAND = [sys.executable, "-c", "from forewatch.cli.main import main; main()"]


@dataclass(frozen=True)
class Figures:
    """The start's are medians; ``start_cpu_s`` is the one to compare where other work runs on the machine."""

    first_poll_s: float
    start_cpu_s: float
    rss_mb: float
    idle_cpu_percent: float


@dataclass(frozen=True)
class Started:
    process: psutil.Process
    first_poll_s: float
    cpu_s: float


def measure(starts: int = STARTS, idle_s: float = IDLE_S) -> Figures:
    """Starts a ``forewatch serve`` of one account that often, each on a home of its own, and watches the last one."""
    with tempfile.TemporaryDirectory(prefix="fw") as folder:
        begun = []
        with serving(Path(folder) / "first"):
            pass  # not counted: Python compiles what it imports for the first time, and never again
        for number in range(starts - 1):
            with serving(Path(folder) / str(number)) as started:
                begun.append(started)
        with serving(Path(folder) / "idle") as started:
            begun.append(started)
            time.sleep(SETTLE_S)
            before = _cpu_s(started.process)
            time.sleep(idle_s)
            idle, rss = _cpu_s(started.process) - before, started.process.memory_info().rss
    return Figures(
        median(each.first_poll_s for each in begun),
        median(each.cpu_s for each in begun),
        rss / (1 << 20),
        100 * idle / idle_s,
    )


@contextmanager
def serving(folder: Path) -> Iterator[Started]:
    """A service that has just polled for the first time; it is stopped at the end."""
    home, mail = folder / "home", folder / "Maildir"
    for name in ("new", "cur", "tmp"):
        (mail / name).mkdir(parents=True)
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
        "FOREWATCH_HOME": str(home),
        "FOREWATCH_TIMEZONE": "Europe/Berlin",
        "PYTHONPYCACHEPREFIX": str(folder.parent / "bytecode"),
    }
    command = [*COMMAND, "accounts", "add", "maildir", str(mail)]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    began = time.perf_counter()
    with subprocess.Popen([*COMMAND, "serve"], env=environment, stderr=subprocess.DEVNULL) as service:
        try:
            asyncio.run(_first_poll(home))
            took, process = time.perf_counter() - began, psutil.Process(service.pid)
            yield Started(process, took, _cpu_s(process))
        finally:
            service.send_signal(signal.SIGTERM)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


async def _first_poll(home: Path) -> None:
    from forewatch.settings import Settings
    from streams.accounts import cursors
    from streams.log import open_log

    settings = Settings.load(home)
    log = await open_log(settings.broker_url, settings.topic_prefix, settings.partitions)
    try:
        fold = cursors(log)
        while not any(state.polled_at for state in fold):
            await asyncio.sleep(0.02)
            await fold.refresh()
    finally:
        await log.close()
