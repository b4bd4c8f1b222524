"""GoCardless Bank Account Data (formerly Nordigen), for those who still have it: it takes no new customers."""

from __future__ import annotations

from extractors.gocardless.connector import GoCardless

connector = GoCardless()

__all__ = ["GoCardless", "connector"]
