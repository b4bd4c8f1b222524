"""How stories write their labels."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from forewatch.sample.labels import Label


def notice(
    name: str,
    rules: Sequence[str],
    items: Sequence[str],
    window: tuple[date, date],
    language: str,
    why: str,
    cancelled_on: date | None = None,
) -> Label:
    """A situation: it must be noticed within the window, and withdrawn on ``cancelled_on``."""
    return Label(f"{rules[0]}/{name}", "notice", tuple(rules), tuple(items), *window, cancelled_on, language, why)


def silence(
    name: str, rules: Sequence[str], items: Sequence[str], window: tuple[date, date], language: str, why: str
) -> Label:
    """A look-alike: nothing may be said about it."""
    return Label(f"quiet/{rules[0]}/{name}", "silence", tuple(rules), tuple(items), *window, None, language, why)
