"""bubblewrap, which Debian brings: the strongest sandbox that tools which are not ours run in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from actions.isolation.sandbox import Mode, bwrap_problem
from tests.peers.process import PeerMissing


@contextmanager
def bwrap(folder: Path) -> Iterator[Mode]:
    """The mode to run in, once it is known to work here."""
    if problem := bwrap_problem():
        raise PeerMissing(problem)
    yield "bwrap"
