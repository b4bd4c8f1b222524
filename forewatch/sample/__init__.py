"""The sample household: an invented year of mail, calendar and bank files, with labels to score an assistant by."""

from __future__ import annotations

from forewatch.sample.disk import materialise, shown_until
from forewatch.sample.sources import accounts
from forewatch.sample.year import generate

__all__ = ["accounts", "generate", "materialise", "shown_until"]
