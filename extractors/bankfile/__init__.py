"""Bank files: OFX/QFX, CAMT, MT940, QIF and CSV exports in a watched folder."""

from __future__ import annotations

from extractors.bankfile.connector import BankFile

connector = BankFile()

__all__ = ["BankFile", "connector"]
