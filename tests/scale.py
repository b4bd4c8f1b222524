"""How wide the long tests run: ``make thorough`` sets FOREWATCH_THOROUGH, CI's suite does not."""

from __future__ import annotations

import os

THOROUGH = bool(os.environ.get("FOREWATCH_THOROUGH"))


def scaled(usual: int, thorough: int) -> int:
    """The count for this run."""
    return thorough if THOROUGH else usual
