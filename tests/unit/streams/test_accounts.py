"""What a fold of a compacted topic reads, and what it does not."""

import asyncio
from datetime import UTC, datetime

from schemas.account import AccountState
from streams import topics
from streams.accounts import accounts
from streams.codec import encode
from streams.testing import MemoryLog
from streams.work import Output

BORN = datetime(2026, 3, 1, tzinfo=UTC)


def account(name: str, title: str) -> AccountState:
    return AccountState(id=name, owner="me", connector="ics", title=title, created_at=BORN)


def test_the_newest_value_of_each_key_counts_and_what_it_replaced_is_not_even_decoded() -> None:
    async def scenario() -> None:
        log = MemoryLog()
        fold = accounts(log)
        await log.append(
            [
                Output(topics.ACCOUNTS, b"a", b"no JSON: whoever decodes it fails"),
                Output(topics.ACCOUNTS, b"a", encode(account("a", "old"))),
                Output(topics.ACCOUNTS, b"b", encode(account("b", "gone"))),
                Output(topics.ACCOUNTS, b"a", encode(account("a", "new"))),
                Output(topics.ACCOUNTS, b"b", None),
            ]
        )
        await fold.refresh()
        assert [state.title for state in fold] == ["new"]
        await log.append([Output(topics.ACCOUNTS, b"b", encode(account("b", "back")))])
        await fold.refresh()
        assert [state.title for state in fold] == ["new", "back"]

    asyncio.run(scenario())
