"""FETCH answers: what is read at once means the same to IMAPClient's parser."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from imapclient.response_parser import parse_fetch_response

from extractors.imap.fetched import date, fetched
from extractors.imap.wire import Said

FLAG = st.sampled_from(["\\Seen", "\\Answered", "\\Flagged", "$Forwarded", "NonJunk"])
DAY = "01-Dec-2026 03:55:49 +0100"


@st.composite
def answers(draw: st.DrawFn) -> list[Said]:
    said: list[Said] = []
    uids = draw(st.lists(st.integers(1, 2**32 - 1), min_size=1, max_size=5, unique=True))
    for place, uid in enumerate(uids, 1):
        flags = " ".join(draw(st.lists(FLAG, max_size=3, unique=True)))
        items = [f"UID {uid}", f"FLAGS ({flags})", f"RFC822.SIZE {draw(st.integers(0, 10**9))}", f"MODSEQ ({uid})"]
        items.append(f'INTERNALDATE "{DAY}"')
        chosen = draw(st.permutations(items))
        body = draw(st.none() | st.binary(max_size=30))
        if body is None:
            said.append(f"{place} ({' '.join(chosen)})".encode())
        elif draw(st.booleans()):
            said += [(f"{place} (UID {uid} BODY[] {{{len(body)}}}".encode(), body), b")"]
        else:
            said += [(f"{place} (BODY[] {{{len(body)}}}".encode(), body), f" UID {uid})".encode()]
    return said


@given(answers())
def test_all_ways_of_saying_it_mean_what_the_library_reads(said: list[Said]) -> None:
    expected = parse_fetch_response(said, normalise_times=False)
    found = dict(fetched(said))
    assert set(found) == set(expected)
    for uid, items in found.items():
        for name in (b"FLAGS", b"RFC822.SIZE", b"INTERNALDATE", b"BODY[]"):
            assert items.get(name) == expected[uid].get(name), (uid, name)


def test_a_body_in_quotes_or_missing_is_read_too() -> None:
    assert dict(fetched([b'1 (UID 5 BODY[] "short")']))[5][b"BODY[]"] == b"short"
    assert dict(fetched([b"1 (UID 5 BODY[] NIL)"]))[5][b"BODY[]"] is None


def test_what_names_no_uid_is_left_out() -> None:
    assert list(fetched([b"1 (FLAGS (\\Seen))", b"2 (UID 3 FLAGS ())"])) == [(3, {b"UID": 3, b"FLAGS": ()})]


@pytest.mark.parametrize("uid", [0, 2**32, 10**30])
def test_numbers_that_are_no_uids_are_left_out(uid: int) -> None:
    assert list(fetched([b"1 (UID %d FLAGS ())" % uid, (b"1 (UID %d BODY[] {1}" % uid, b"x"), b")"])) == []


@pytest.mark.parametrize("said", [[b"1 (UID"], [b"x (UID 1)"], [(b"1 (UID 1 BODY[] {3}", b"abc")], [b"1"], [b"1 2"]])
def test_what_is_no_answer_is_refused(said: list[Said]) -> None:
    with pytest.raises((ValueError, Exception)):
        list(fetched(said))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b" 1-Dec-2026 03:55:49 +0100", datetime(2026, 12, 1, 2, 55, 49, tzinfo=UTC)),
        (b"29-Feb-2024 23:30:00 -0530", datetime(2024, 3, 1, 5, 0, tzinfo=UTC)),
        (b"30-Feb-2024 23:30:00 -0530", None),
        (b"01-Xyz-2024 23:30:00 -0530", None),
        (b"01-Jan-0001 00:30:00 +0100", None),
        (b"01-Jan-2024 00:30:00 +9999", None),
        (b"yesterday", None),
    ],
)
def test_dates_of_arrival_are_instants(text: bytes, expected: datetime | None) -> None:
    assert date(text) == expected
