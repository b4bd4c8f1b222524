"""Business systems (CRM, ERP, HR, issue trackers) over REST or GraphQL, each described by a page of YAML."""

from __future__ import annotations

from extractors.rest.connector import Rest

connector = Rest()

__all__ = ["Rest", "connector"]
