"""What is known of a proposal that a model is asked about, as folded from its journal."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from actions.planning.ask import Failure
from schemas.model import Json


@dataclass(frozen=True, slots=True)
class Round:
    """One question to the model and its end: an answer, or why there was none."""

    answer: dict[str, Json] | None
    failure: Failure | None = None


@dataclass(slots=True)
class Planning:
    """A proposal that a model is asked about. ``id`` is the entry that began it; ``why`` no playbook was taken."""

    id: str
    since: datetime
    until: datetime
    why: str
    rounds: list[Round] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    """Ids of the ``model.asked`` entries: answers to others belong to an earlier planning."""
