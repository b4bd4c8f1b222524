"""What the person sets about acting: interruptions, how long an approval is good for, local times."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import time, timedelta
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class ActSettings:
    """``daily_budget``: proposals a local day that may interrupt; the rest waits for the digest (law L11).

    ``grant_ttl`` counts from the approval, or from the end of a wait that comes before the step.
    """

    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    daily_budget: int = 3
    grant_ttl: timedelta = timedelta(hours=24)
    reoffer_for: timedelta = timedelta(hours=24)
    """How long a proposal that was answered too late is open again."""
    retries_per_run: int = 12
    """Calls that one run may try again in all, beside what each step may; each success gives one back."""
    remind_at: time = time(9, 0)
    """Wall time of reminders that playbooks put on a day."""
