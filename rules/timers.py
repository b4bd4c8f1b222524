"""What becomes of timers that are due, some of them missed because we were stopped (law L6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from schemas.duration import Duration
from schemas.rule import OnMissed


@dataclass(frozen=True, slots=True)
class Timer:
    due: datetime
    tag: str


@dataclass(frozen=True, slots=True)
class Verdict:
    timer: Timer
    action: Literal["fire", "fire_late", "collapse", "skip"]


def decide(
    due: Iterable[Timer], now: datetime, on_missed: OnMissed, tolerance: Duration, zone: ZoneInfo
) -> list[Verdict]:
    """One verdict for each due timer of a key, in order of time.

    A timer is missed when it fires later than ``tolerance`` after it was due. ``fire_once`` lets the newest of the
    missed ones stand for all of them, unless one that was not missed does so already.
    """
    timers = sorted(due, key=lambda timer: (timer.due, timer.tag))
    missed = [timer for timer in timers if tolerance.after(timer.due, zone) < now]
    newest = missed[-1] if missed and len(missed) == len(timers) else None
    verdicts: list[Verdict] = []
    for timer in timers:
        if timer not in missed:
            verdicts.append(Verdict(timer, "fire"))
        elif on_missed == "skip":
            verdicts.append(Verdict(timer, "skip"))
        elif on_missed == "fire_each" or timer is newest:
            verdicts.append(Verdict(timer, "fire_late"))
        else:
            verdicts.append(Verdict(timer, "collapse"))
    return verdicts
