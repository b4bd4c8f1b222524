"""CelError: what is wrong with an expression, and at which character."""

from __future__ import annotations


class CelError(Exception):
    """``offset`` counts characters into the expression, from 0; ``remedy`` says what to do, where that is known."""

    def __init__(self, message: str, offset: int, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.remedy = remedy
