"""Crash points: places where a process may die, numbered as they are passed."""

from __future__ import annotations


class Crash(BaseException):
    """The process died here. Not an Exception: nothing in the product may catch it."""


class Points:
    """Counts the points that are passed and dies at the one it was told; ``names`` tells afterwards what they were.

    Who is dead passes nothing more: what went on beside dies at its next point.
    """

    def __init__(self, die_at: int | None = None) -> None:
        self.names: list[str] = []
        self._die_at = die_at

    def __call__(self, name: str) -> None:
        if self._die_at is not None and len(self.names) > self._die_at:
            raise Crash(name)
        self.names.append(name)
        if len(self.names) - 1 == self._die_at:
            raise Crash(name)


def nowhere(name: str) -> None:
    """The points of a run that lives."""
