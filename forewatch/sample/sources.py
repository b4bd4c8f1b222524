"""The accounts of the household: which connector reads what, relative to the folder in which it is played."""

from __future__ import annotations

from forewatch.sample.calendarfile import PATH
from forewatch.sample.household import Household
from schemas.model import Json

Account = tuple[str, str, dict[str, Json]]
"""Account id, connector name, settings; the setting ``path`` is relative."""


def accounts(household: Household) -> tuple[Account, ...]:
    """One mailbox, one calendar file, two folders of bank statements."""
    own: list[Json] = [household.owner_address]
    return (
        ("mail", "maildir", {"path": "mail", "addresses": own}),
        ("calendar", "ics", {"path": PATH, "addresses": own}),
        ("bank-a", "bankfile", {"path": "bank-a"}),
        ("bank-b", "bankfile", {"path": "bank-b"}),
    )
