"""The entry point. It loads nothing by itself, so that a signal ends a command quietly from its first moment on."""

from __future__ import annotations

from forewatch.cli.leaving import leaving_at_once


def main() -> None:
    with leaving_at_once():
        from forewatch.cli.commands import run  # most of the time that a short command takes
    run()
