"""Which connectors there are: the ones that we ship, and those that other installed packages announce."""

from __future__ import annotations

import difflib
import threading
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from extractors.connector import Connector, FileConnector
from schemas.errors import ConfigError

GROUP = "forewatch.connectors"
_LOADING = threading.RLock()
_BUILT_IN = {
    "maildir": "extractors.maildir:connector",
    "ics": "extractors.ics:connector",
    "imap": "extractors.imap:connector",
    "bankfile": "extractors.bankfile:connector",
    "jmap": "extractors.jmap:connector",
    "graph_calendar": "extractors.graph_calendar:connector",
    "caldav": "extractors.caldav:connector",
    "graph_mail": "extractors.graph_mail:connector",
    "gmail": "extractors.gmail:connector",
    "google_calendar": "extractors.google_calendar:connector",
    "enablebanking": "extractors.enablebanking:connector",
    "gocardless": "extractors.gocardless:connector",
    "simplefin": "extractors.simplefin:connector",
    "rest": "extractors.rest:connector",
    "plaid": "extractors.plaid:connector",
    "fints": "extractors.fints:connector",
}
"""Also announced as entry points; listed here because a checkout that is not installed has no metadata."""


def names() -> list[str]:
    """Ours first, in the order in which they are asked whose file it is."""
    return list(_entry_points())


def connector(name: str) -> Connector:
    """Loaded on first use. ConfigError with the nearest name for one that we do not know or cannot load.

    One thread loads at a time: two that import modules which share others can see them half made.
    """
    with _LOADING:
        return _connector(name)


@cache
def _connector(name: str) -> Connector:
    points = _entry_points()
    if name in points:
        return _load(points[name])
    near = difflib.get_close_matches(name, points, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(points))}"
    raise ConfigError(f"unknown connector {name!r}", remedy=remedy)


class Connectors(Mapping[str, Connector]):
    """All of them by name, each loaded when it is first asked for: a start does not pay for what nobody uses."""

    def __getitem__(self, name: str) -> Connector:
        if name not in _entry_points():
            raise KeyError(name)
        return connector(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_entry_points())

    def __len__(self) -> int:
        return len(_entry_points())


def sniff(path: Path, but: str = "") -> FileConnector | None:
    """The connector (``but`` one) that knows this file or folder; None where none does, or where there is nothing."""
    loaded = (connector(name) for name in names() if name != but)
    return next((each for each in loaded if isinstance(each, FileConnector) and each.sniff(path)), None)


def for_files(name: str) -> FileConnector:
    """As ``connector``. ConfigError for one that reads a service."""
    found = connector(name)
    if isinstance(found, FileConnector):
        return found
    raise ConfigError(f"{name} reads a service, not a file", remedy=f"connect it: forewatch accounts add {name}")


@cache
def _entry_points() -> dict[str, EntryPoint]:
    """By name. A package of somebody else cannot take the name of one of ours."""
    ours = {name: EntryPoint(name, value, GROUP) for name, value in _BUILT_IN.items()}
    announced = {point.name: point for point in entry_points(group=GROUP) if point.name not in ours}
    return {**ours, **dict(sorted(announced.items()))}


def _load(point: EntryPoint) -> Connector:
    try:
        loaded: Connector = getattr(import_module(point.module), point.attr)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"connector {point.name!r} ({point.value}) cannot be loaded: {error}",
            remedy="reinstall or remove its package",
        ) from error
    if (called := getattr(loaded, "name", None)) != point.name:
        raise ConfigError(f"connector {point.name!r} ({point.value}) calls itself {called!r}")
    return loaded
