"""Logging: one line an event on stderr, each with an ``action``; JSON when stderr is no terminal."""

from __future__ import annotations

import logging
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
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # the stderr of the moment: tests replace it
    )
    logging.basicConfig(
        level=max(number, logging.WARNING), stream=sys.stderr, format="%(levelname)s %(name)s %(message)s"
    )
    for name in ("faust", "mode", "aiokafka"):
        logging.getLogger(name).setLevel(logging.ERROR)
