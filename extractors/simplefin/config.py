"""Settings of a SimpleFIN account. The address and its password are one secret, the access URL."""

from __future__ import annotations

from pydantic import Field

from schemas.model import Model


class SimpleFinConfig(Model):
    history_days: int = Field(default=365, ge=1, le=1_830)
    """How far back the first poll asks; most banks give 90 days."""
    pending: bool = True
    """Whether rows that are not booked yet are asked for."""
    ignored: tuple[str, ...] = ()
    """Ids of bank accounts that are not watched."""
    turned: tuple[str, ...] = ()
    """Ids of bank accounts (loans, some cards) whose bank writes what was spent as positive."""
