"""Leaving at once: what a signal does as long as nothing has begun that must end. It loads nothing of ours."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""What becomes of each in a Python that was just started; what runs in the background may be told to ignore SIGINT."""


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """Quietly, with the exit code that says so, and also from a container, whose first process the system lets end by
    no signal that it does not handle. An exception could be caught, or lost, in the middle of an import."""
    heard = {number: now for number, usual in _USUAL.items() if (now := signal.getsignal(number)) is usual}
    for number in heard:
        signal.signal(number, _leave)
    try:
        yield
    finally:
        for number, before in heard.items():
            signal.signal(number, before)


def _leave(number: int, _: FrameType | None) -> None:
    if number == signal.SIGTERM:  # whoever watches us tells a stop from a failure by the signal that ended us
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(128 + number)
