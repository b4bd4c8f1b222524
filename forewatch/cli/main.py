"""The entry point. It loads nothing by itself, so that Ctrl-C ends a command quietly from its first moment on."""

from __future__ import annotations

import os
import signal
from types import FrameType


def main() -> None:
    is_heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # what runs in the background may not
    if is_heard:
        signal.signal(signal.SIGINT, _leave)
    from forewatch.cli.commands import run  # most of the time that a short command takes

    if is_heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _leave(number: int, _: FrameType | None) -> None:
    """Nothing has begun yet that must end. An exception could be caught, or lost, in the middle of an import."""
    os._exit(128 + number)
