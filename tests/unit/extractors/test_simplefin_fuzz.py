"""Whatever a SimpleFIN server or Plaid sends as an account or a row becomes bank rows or refusals, and nothing else."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.bank.row import Row
from extractors.plaid.rows import balance, listed, rejected
from extractors.simplefin.answer import account_set
from extractors.simplefin.rows import read
from schemas.errors import TransientError
from tests.standins import plaid, simplefin

TODAY = date(2026, 3, 2)
WORDS = ["1e400", "-", "0x1", "\ud800", "9" * 5000, "2026-02-30", "EURO"]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=30),
    st.sampled_from([*WORDS, 10**40, -1, [], {}, [[]], {"a": 1}]),
)
NOON = 1772452800


def twisted(whole: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Some fields replaced by what they should not hold, some gone."""
    changed = st.dictionaries(st.sampled_from(sorted(whole)), ODD, max_size=4)
    gone = st.sets(st.sampled_from(sorted(whole)), max_size=2)
    return st.builds(
        lambda new, without: {k: v for k, v in {**whole, **new}.items() if k not in without}, changed, gone
    )


SIMPLEFIN_ROW = simplefin.transaction("T1", TODAY, "-1.00", transacted_at=NOON, memo="a", payee="b")
SIMPLEFIN_ACCOUNT = {"id": "a", "name": "A", "conn_id": "C", "currency": "EUR", "balance": "1", "balance-date": NOON}


@settings(max_examples=150, deadline=None)
@given(
    account=twisted({**SIMPLEFIN_ACCOUNT, "transactions": []}),
    rows=st.lists(st.one_of(twisted(SIMPLEFIN_ROW), ODD), max_size=3),
    document=twisted({"errlist": [], "errors": [], "accounts": []}),
)
def test_any_account_of_simplefin_is_read_or_refused(
    account: dict[str, Any], rows: list[Any], document: dict[str, Any]
) -> None:
    given = {**document, "accounts": document.get("accounts", []) or [{**account, "transactions": rows}]}
    try:
        found = account_set(given)
    except TransientError:
        return
    for each in found.accounts:
        result = read(each, TODAY, lambda account, key: None, is_turned=False)
        listed_rows = each.raw.get("transactions")
        count = len(listed_rows) if isinstance(listed_rows, list) else 0
        assert len(result.rows) + len(result.rejected) in (count, count + 1)
        assert all(row.booked_on.year > 1970 for row in result.rows)


@settings(max_examples=150, deadline=None)
@given(raw=twisted(plaid.transaction("t1", 1.5)), account=twisted(plaid.account(current=1.5)))
def test_any_row_and_balance_of_plaid_is_read_or_refused(raw: dict[str, Any], account: dict[str, Any]) -> None:
    with suppress(ValueError, TypeError):
        assert isinstance(listed(raw, "acc1").row, Row)
    with suppress(ValueError, TypeError):
        balance(account, "acc1", TODAY)
    assert rejected(raw, ValueError("odd")).reason == "odd"
