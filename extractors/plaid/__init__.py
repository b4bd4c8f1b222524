"""Plaid: bank accounts of the person's own Plaid application."""

from __future__ import annotations

from extractors.plaid.connector import Plaid

connector = Plaid()

__all__ = ["Plaid", "connector"]
