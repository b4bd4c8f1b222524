"""What a person is shown of a proposal whose source cannot be heard any more."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest

from actions.proposal.budget import Why
from forewatch.cards import surfaced, unread_accounts
from schemas.account import AccountState, CursorState

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)


def unread(status: str = "active", **place: object) -> list[str]:
    account = AccountState(id="mail", owner="me", connector="imap", created_at=NOW).model_copy(
        update={"status": status}
    )
    state = CursorState(account="mail").model_copy(update={"succeeded_at": NOW - timedelta(hours=1), **place})
    return list(unread_accounts([account], {"mail": state}.get, NOW))


def test_a_source_that_answers_is_read() -> None:
    assert unread() == []


@pytest.mark.parametrize("status", ["needs_reauth", "paused"])
def test_one_that_may_not_be_read_is_not(status: str) -> None:
    assert unread(status) == ["mail"]


def test_a_silent_one_is_not_heard() -> None:
    assert unread(silent=True) == ["mail"]


def test_an_hour_of_failures_is_an_ordinary_outage_and_two_days_are_not() -> None:
    assert unread(failures=3) == []
    assert unread(failures=3, succeeded_at=NOW - timedelta(days=2)) == ["mail"]
    assert unread(failures=3, succeeded_at=None) == ["mail"]


def test_why_a_proposal_interrupts_or_waits_is_said_in_words() -> None:
    said = [surfaced(why) for why in get_args(Why)]
    assert len(set(said)) == len(get_args(Why))
    assert [words for words in said if "_" in words] == []
