"""FinTS: accounts at German banks, straight from the bank; needs the extra ``fints``."""

from __future__ import annotations

from extractors.fints.connector import FinTS

connector = FinTS()

__all__ = ["FinTS", "connector"]
