"""Logging: one line an event on stderr, each with an ``action``; JSON when stderr is no terminal."""

from __future__ import annotations

import logging
import os
import sys

import structlog


def configure(level: str) -> None:
    """For the whole process. Faust and its kin speak only when something is wrong."""
    number = logging.getLevelNamesMapping()[level.upper()]
    renderer: structlog.types.Processor = (
        structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=lambda *_: _Lines(),
    )
    logging.basicConfig(
        level=max(number, logging.WARNING), stream=sys.stderr, format="%(levelname)s %(name)s %(message)s"
    )
    for name in ("faust", "mode", "aiokafka"):
        logging.getLogger(name).setLevel(logging.ERROR)


class _Lines:
    """A line at a time on the stderr of the moment: tests replace it. Where nobody reads it any more, or the disk
    behind it is full, what logs goes on: it has other things to do, and nobody to tell."""

    def msg(self, line: str) -> None:
        try:
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
        except BrokenPipeError:  # for good; what Python itself would say there fails no more either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        except OSError:
            pass

    debug = info = warning = error = critical = msg
