"""The settings of a Microsoft mail account."""

from __future__ import annotations

from pydantic import Field

from extractors.graph import GraphSettings


class GraphMailConfig(GraphSettings):
    """``folders``: only these, by the names that the mailbox shows ("Inbox/Bills"); empty: all but drafts, outbox,
    junk and what was deleted. ``addresses`` tell sent mail from received. ``max_age_days``: mail that was older when
    first seen is left alone."""

    folders: tuple[str, ...] = Field(default=(), max_length=200)
    max_age_days: int | None = Field(default=365, ge=1)
