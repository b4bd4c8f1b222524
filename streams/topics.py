"""Every name that becomes a topic, with its partitioning and clean-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

POLLS = "polls"
RECORDS = "records"
EVENTS = "events"
TRIGGERS = "triggers"
COMMANDS = "commands"
JOURNAL = "journal"
ACCOUNTS = "accounts"
DEAD = "dead"
CURSORS = "cursors"
"""Changelog of the poll agent: where each account resumes; key account id."""
RULE_STATE = "rule-state"
"""Changelog of the evaluate agent: windows, baselines, timers; key owner + entry name."""
RULES = "rules"
"""Revisions of rules, and the sets of them that were in use; key: ``rule/``, ``set/`` or ``used/`` and a name."""
ERASURES = "erasures"
"""What was erased, without a word of it: for every home that keeps a history of this log."""

Cleanup = Literal["keep", "compact", "expire"]


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """``keep``: for ever; ``compact``: the newest record of each key; ``expire``: after ``retention_s``."""

    name: str
    cleanup: Cleanup
    retention_s: float | None = None


_WEEK = 7 * 86_400.0

SPECS: tuple[TopicSpec, ...] = (
    TopicSpec(POLLS, "expire", _WEEK),
    TopicSpec(RECORDS, "expire", 30 * 86_400.0),
    TopicSpec(EVENTS, "keep"),
    TopicSpec(TRIGGERS, "keep"),
    TopicSpec(COMMANDS, "keep"),
    TopicSpec(JOURNAL, "keep"),
    TopicSpec(ACCOUNTS, "compact"),
    TopicSpec(DEAD, "keep"),
    TopicSpec(CURSORS, "compact"),
    TopicSpec(RULE_STATE, "compact"),
    TopicSpec(RULES, "compact"),
    TopicSpec(ERASURES, "keep"),
)
"""All topics have the same number of partitions, so that a key's state sits where its input sits."""
