"""Limits of a process that the kernel enforces everywhere: processor time, memory, files, processes."""

from __future__ import annotations

import resource
from collections.abc import Mapping


def apply(limits: Mapping[str, int]) -> None:
    """For this process, and for each one that it starts; ``limits`` are the fields of ``Limits``.

    Memory is held twice: RLIMIT_DATA counts what is private and writable, which lets a runtime reserve addresses it
    never fills; RLIMIT_AS bounds the rest, such as shared memory. The count of processes is not set here: the kernel
    counts per user, so it waits until the program has a user namespace of its own (``inside.py``).
    """
    memory = limits["memory_mb"] << 20
    _set(resource.RLIMIT_CPU, limits["cpu_s"])
    _set(resource.RLIMIT_DATA, memory)
    _set(resource.RLIMIT_AS, memory + (limits["address_mb"] << 20))
    _set(resource.RLIMIT_NOFILE, limits["open_files"])
    _set(resource.RLIMIT_FSIZE, limits["file_mb"] << 20)
    _set(resource.RLIMIT_CORE, 0)


def _set(what: int, value: int) -> None:
    _, most = resource.getrlimit(what)
    value = value if most == resource.RLIM_INFINITY else min(value, most)
    resource.setrlimit(what, (value, value))
