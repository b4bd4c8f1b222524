"""What the IMAP cursor remembers: packed, bounded, and bound to contents."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.imap import known as module
from extractors.imap.answers import Standing
from extractors.imap.known import Known, Seen, flag_bits, flag_names, pack, shares, unpack
from extractors.imap.place import Place, place_of
from extractors.imap.uids import ranges, written
from schemas.errors import CursorExpired
from schemas.model import Json

KEYS = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(60_000)]


def mail(number: int, uid: int | None = None, folder: str = "INBOX") -> Seen:
    return Seen(KEYS[number][:18], folder, number + 1 if uid is None else uid, 0)


def known(*mails: Seen) -> Known:
    found = Known()
    for each in mails:
        found.put(each)
    return found


SEEN = st.builds(
    Seen,
    id=st.sampled_from([key[:18] for key in KEYS[:50]]),
    folder=st.sampled_from(["INBOX", "Sent", "Büro/2026"]),
    uid=st.integers(0, 2**32 - 1),
    bits=st.integers(0, 63),
    count=st.integers(0, 65_535),
    is_rejected=st.booleans(),
    is_gone=st.booleans(),
)


@given(st.lists(SEEN, max_size=30, unique_by=lambda each: each.id))
def test_what_is_packed_comes_back(mails: list[Seen]) -> None:
    found = known(*mails)
    assert list(unpack(pack(found), found.folders)) == mails


@given(st.binary(max_size=200))
def test_rubbish_is_a_lost_place(raw: bytes) -> None:
    for text in (raw.decode("latin-1"), base64.b64encode(raw).decode()):
        with contextlib.suppress(CursorExpired):
            unpack(text, ["INBOX"])


@pytest.mark.parametrize(
    "cursor",
    [
        "text",
        {"format": 2},
        {"format": 1, "folders": [["INBOX", 1]], "known": "AAAAAA==", "places": []},
        {"format": 1, "folders": [["INBOX", "x", 1, 1, 1]], "known": "", "places": []},
        {"format": 1, "folders": [], "known": "!", "places": []},
    ],
)
def test_a_cursor_that_is_not_ours_is_lost(cursor: Json) -> None:
    with pytest.raises(CursorExpired):
        assert place_of(cursor).known


def test_a_place_survives_json() -> None:
    place = Place({"INBOX": Standing(7, 3, 2, 9)}, lambda: known(mail(0), mail(1)))
    again = place_of(json.loads(json.dumps(place.cursor())))
    assert again.folders == place.folders
    assert list(again.known) == list(place.known)


def test_fifty_thousand_mails_fit_into_a_record() -> None:
    """With scattered UIDs, all flags and some versions, as in a mailbox that was used for years."""
    found = Known()
    for number in range(module.LIMIT):
        uid = number * 3 + int(KEYS[number][:2], 16) % 3 + 1
        found.put(Seen(KEYS[number][:18], "INBOX", uid, int(KEYS[number][2], 16), int(KEYS[number][3] == "0")))
    cursor = json.dumps(Place({"INBOX": Standing(1, 200_000, 50_000, 9)}, lambda: found).cursor())
    assert len(cursor) < 700_000
    assert len(found) == module.LIMIT


def test_where_it_would_be_too_long_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKED_CHARS", 2_000)
    found = known(*(mail(number) for number in range(500)))
    assert len(pack(found)) <= 2_000
    assert 0 < len(found) < 500
    assert [each.uid for each in found] == list(range(501 - len(found), 501))


def test_the_fullest_folder_gives_way_first() -> None:
    found = known(*(mail(number) for number in range(10)), *(mail(20 + n, n + 1, "Sent") for n in range(2)))
    found.shrink(6)
    assert sorted((each.folder, each.uid) for each in found) == [
        *(("INBOX", uid) for uid in (7, 8, 9, 10)),
        ("Sent", 1),
        ("Sent", 2),
    ]


@given(st.lists(st.integers(0, 100), max_size=8), st.integers(0, 300))
def test_shares_are_fair_and_use_the_room(wanted: list[int], size: int) -> None:
    given_ = shares(wanted, size)
    assert all(0 <= share <= want for share, want in zip(given_, wanted, strict=True))
    assert sum(given_) == min(size, sum(wanted)) or sum(given_) >= min(size, sum(wanted)) - len(wanted)
    assert sum(given_) <= size
    hungry = [share for share, want in zip(given_, wanted, strict=True) if share < want]
    assert not hungry or max(given_) <= max(hungry) + 1


def test_old_tombstones_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TOMBSTONES", 3)
    found = known(*(mail(number).gone() for number in range(5)), mail(9))
    found.tidy()
    assert [each.id for each in found] == [KEYS[number][:18] for number in (2, 3, 4, 9)]


def test_a_new_mail_is_named_by_its_content() -> None:
    assert Known().place_for(KEYS[0]) == (KEYS[0][:18], None)


def test_a_copy_gets_a_name_of_its_own_and_always_the_same() -> None:
    found = known(mail(0))
    second, before = found.place_for(KEYS[0])
    assert before is None
    assert second != KEYS[0][:18]
    found.put(Seen(second, "INBOX", 9, 0))
    third, _ = found.place_for(KEYS[0])
    assert len({KEYS[0][:18], second, third}) == 3
    assert known(mail(0)).place_for(KEYS[0]) == (second, None)


def test_one_without_a_place_is_found_before_one_that_is_gone() -> None:
    gone, homeless = mail(0).gone(), mail(0, uid=0)
    found = known(gone)
    copy, _ = known(mail(0)).place_for(KEYS[0])
    found.put(Seen(copy, "INBOX", 0, 0))
    assert found.place_for(KEYS[0])[0] == copy
    assert known(gone).place_for(KEYS[0]) == (gone.id, gone)
    assert known(homeless).place_for(KEYS[0]) == (homeless.id, homeless)


def test_the_first_version_says_nothing_of_flags() -> None:
    assert mail(0).version == Seen(KEYS[0][:18], "Sent", 4, 7).version == "0"


@given(st.lists(st.tuples(st.sampled_from(["INBOX", "Sent"]), st.integers(0, 63)), min_size=1, max_size=8))
def test_every_change_is_a_version_of_its_own(looks: list[tuple[str, int]]) -> None:
    seen = mail(0)
    versions = [seen.version]
    for folder, bits in looks:
        before, seen = seen, seen.now(folder, 5, bits)
        if (before.folder, before.bits) != (folder, bits):
            versions.append(seen.version)
        assert seen.version == versions[-1]
    assert len(set(versions)) == len(versions)


def test_a_place_is_left_when_another_is_taken() -> None:
    found = known(mail(0, uid=5))
    found.put(mail(0, uid=6))
    assert found.at("INBOX", 5) is None
    assert found.at("INBOX", 6) == mail(0, uid=6)
    found.loses_place(mail(0, uid=6))
    assert found.at("INBOX", 6) is None
    assert [each.id for each in found.homeless()] == [KEYS[0][:18]]


def test_flags_have_our_names() -> None:
    bits = flag_bits(["\\Seen", "\\ANSWERED", "$Forwarded", "\\Recent", "NonJunk"])
    assert flag_names(bits) == ["answered", "passed", "seen"]


@given(st.lists(st.integers(1, 2**32 - 1), max_size=40))
def test_sets_of_uids_are_written_and_read(uids: list[int]) -> None:
    text = written(uids)
    read = [uid for first, last in (ranges(text.encode()) if text else []) for uid in (first, last)]
    assert set(read) <= set(uids)
    assert sum(last - first + 1 for first, last in (ranges(text.encode()) if text else [])) == len(set(uids))


@pytest.mark.parametrize("text", [b"", b"1,", b"1:2:3", b"a", b"1:*", b"99999999999"])
def test_what_is_no_set_of_uids_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError, match="no set"):
        ranges(text)
