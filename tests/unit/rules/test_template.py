"""Titles and keys: only typed values, plain text, and nothing that hides or marks up."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.cel.runtime import Cash
from rules.language import ConditionError
from rules.template import parse_key, parse_template, plain

ZONE = ZoneInfo("Europe/Berlin")
NAMES = {name: name for name in ("party.name", "title", "amount", "due", "at", "flag")} | {"who": "party.name"}
VALUES = {
    "party.name": "ACME",
    "amount": Cash(Decimal("1234.50"), "EUR"),
    "due": datetime(2026, 3, 15, 23, tzinfo=UTC),  # midnight of 16 March in Berlin
    "at": datetime(2026, 3, 15, 17, 30, tzinfo=UTC),
    "flag": True,
}


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("Pay {{ who }} {{ amount }} by {{ due | date }}", "Pay ACME 1234.50 EUR by 16 March 2026"),
        ("{{ amount | money }} on {{ due | day }}", "1,234.50 EUR on Monday 16 March"),
        ("{{due}} {{at}} {{ at | time }}", "2026-03-16 2026-03-15 18:30 18:30"),
        ("{{ party.name | lower }} {{ flag }}", "acme yes"),
        ("{{ title or party.name | truncate(3) }}", "AC…"),
        ("{{ title }} is missing", "is missing"),
        ("no holes", "no holes"),
    ],
)
def test_it_is_filled_with_values(source: str, text: str) -> None:
    assert parse_template(source, NAMES, 300).render(VALUES, ZONE) == text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ nmae }}", "unknown field 'nmae'"),
        ("{{ party.name.__class__ }}", "unknown field 'party.name.__class__'"),
        ("{{ title | upper }}", "unknown filter 'upper'"),
        ("{{ title | truncate(9999) }}", "the filter 'truncate' cannot take '9999'"),
        ("{{ title | lower(3) }}", "the filter 'lower' cannot take '3'"),
        ("{{ title", "'{{' and '}}' do not match"),
        ("{{ }}", "not a path: ''"),
        ("{{ 1 + 1 }}", "not a path: '1 + 1'"),
    ],
)
def test_what_is_unknown_is_refused_when_it_is_loaded(source: str, message: str) -> None:
    with pytest.raises(ConditionError) as caught:
        parse_template(source, NAMES, 300)
    assert caught.value.message == message


HOSTILE = "Pay\u202e now\u200b<b>\x07`rm`\u2066 \ud800{{ title }}"


def test_controls_direction_marks_and_markup_are_taken_out() -> None:
    shown = parse_template("{{ title }}!", NAMES, 300).render({"title": HOSTILE}, ZONE)
    assert shown == "Pay nowbrm {{ title }}!"


@given(st.text(max_size=400), st.integers(5, 300))
def test_what_is_shown_is_one_visible_line_of_bounded_length(text: str, limit: int) -> None:
    shown = plain(text, limit)
    assert len(shown) <= limit
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for char in shown)
    assert not set("<>`\n\t") & set(shown)


@given(st.text(max_size=50))
def test_a_value_is_never_read_as_a_template(text: str) -> None:
    shown = parse_template("{{ title }}", NAMES, 300).render({"title": text, "amount": Cash(Decimal(1), "EUR")}, ZONE)
    assert shown == plain(text, 300)


def test_a_key_takes_the_first_alternative_that_has_a_value_and_else_the_subject() -> None:
    key = parse_key(["title or party.name", "due", "at {{ who }}"], NAMES)
    assert key.of(VALUES, "subject-1", ZONE) == "ACME|2026-03-16|at ACME"
    assert key.of({}, "subject-1", ZONE) == "subject-1|subject-1|at"
    assert parse_key([], NAMES).of(VALUES, "subject-1", ZONE) == "subject-1"
