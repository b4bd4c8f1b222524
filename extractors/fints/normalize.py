"""Records of FinTS as events: the same as for every bank source."""

from __future__ import annotations

from extractors.bank.events import normalise

__all__ = ["normalise"]
