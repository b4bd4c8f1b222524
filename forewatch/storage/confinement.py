"""What the query worker may do to the machine: read the history folder, use so much memory and processor, no more."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path

from actions.isolation import landlock

_ENGINE_MB = 2_560
"""Address space that the interpreter and DuckDB reserve beside what a query may use (measured, generously)."""

_PLACES = ("/proc/self/cgroup", "/proc/meminfo", "/sys/fs/cgroup")
"""What DuckDB looks at when it starts."""


def confine(root: Path, memory_mb: int, cpu_s: int) -> None:
    """For the rest of this process. Must come after the imports and before ``duckdb.connect``, whose threads would
    otherwise escape it."""
    if threading.active_count() != 1:
        raise RuntimeError("confine() was called after threads were started")
    _limit(resource.RLIMIT_AS, (memory_mb + _ENGINE_MB) << 20)
    _limit(resource.RLIMIT_CPU, cpu_s)
    _limit(resource.RLIMIT_FSIZE, 0)  # pipes are not files: the result still gets out
    _limit(resource.RLIMIT_CORE, 0)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # history may have more parts than the usual 1,024
    landlock.read_only([root, *map(Path, _PLACES)])


def _limit(what: int, value: int) -> None:
    _, most = resource.getrlimit(what)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    try:
        resource.setrlimit(what, (value, value))
    except (OSError, ValueError):  # macOS refuses some; the deadline and DuckDB's own limit are left
        if os.uname().sysname == "Linux":
            raise
