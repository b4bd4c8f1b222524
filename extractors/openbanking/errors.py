"""What concerns one account only; it never leaves the connectors."""

from __future__ import annotations


class AccountUnreadable(Exception):
    """This account cannot be read now or any more, the others can. ``str(error)`` is why, for a person."""


class PeriodTooLong(Exception):
    """The bank does not go back that far without the person."""


class PlaceLost(Exception):
    """The listing was cut off between two of its pages, and has to begin anew."""
