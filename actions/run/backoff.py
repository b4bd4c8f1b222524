"""When to try again: exponential with full jitter, as a value; whoever asks makes a durable timer of it."""

from __future__ import annotations

from datetime import timedelta
from random import Random

from schemas.plan import Retry


def delay(retry: Retry, attempt: int, rng: Random) -> timedelta:
    """Before attempt ``attempt + 1``: anywhere between nothing and the capped exponential."""
    ceiling = min(retry.cap_s, retry.base_s * 2 ** min(attempt - 1, 30))
    return timedelta(seconds=rng.uniform(0, ceiling))
