"""Enable Banking: accounts at European banks, read with the person's consent."""

from __future__ import annotations

from extractors.enablebanking.connector import EnableBanking

connector = EnableBanking()

__all__ = ["EnableBanking", "connector"]
