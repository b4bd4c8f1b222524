"""The ground under the sample household: chance that is the same everywhere, account numbers, bank days."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from forewatch.sample import bankdays
from forewatch.sample.dice import Dice, lognormal, spread
from forewatch.sample.iban import check_digits, iban, is_valid


def test_a_named_stream_gives_the_same_throws_whatever_was_thrown_before() -> None:
    dice = Dice(1)
    before = [dice["rent"].below(1000) for _ in range(3)]
    dice.below(1000)
    assert [dice["rent"].below(1000) for _ in range(3)] == before
    assert len({Dice(1)[name].below(10**9) for name in range(50)}) == 50


def test_throws_are_pinned_so_that_a_year_stays_the_same_for_ever() -> None:
    dice = Dice(4711, "pinned")
    assert [dice.below(100) for _ in range(5)] == [91, 69, 10, 69, 72]
    assert lognormal(Decimal("46"), Decimal("0.32"), Decimal("1.44")) == Decimal("72.93")


def test_every_number_below_the_limit_comes_up() -> None:
    dice = Dice(2)
    assert {dice.below(7) for _ in range(500)} == set(range(7))
    assert {dice.between(3, 5) for _ in range(200)} == {3, 4, 5}


def test_a_shuffle_loses_nothing() -> None:
    assert sorted(Dice(3).shuffled(range(20))) == list(range(20))


def test_a_spread_shows_its_width_from_the_beginning() -> None:
    for seed in range(40):
        values = spread(Dice(seed), 60)
        first = sorted(abs(value) for value in values[:6])
        assert all(abs(value) < Decimal("2.05") for value in values)
        assert first[3] > Decimal("0.1")
        assert min(values[:6]) < 0 < max(values[:6])


def test_account_numbers_pass_the_check_of_the_standard() -> None:
    assert check_digits("DE", "370400440532013000") == "89"
    assert is_valid("GB82WEST12345698765432")
    assert not is_valid("GB82WEST12345698765431")
    assert all(is_valid(iban(Dice(seed), country)) for seed in range(20) for country in ("DE", "FR", "ES", "NL", "GB"))


@pytest.mark.parametrize(("year", "day"), [(2024, (3, 31)), (2025, (4, 20)), (2026, (4, 5)), (2027, (3, 28))])
def test_easter_is_where_the_calendar_has_it(year: int, day: tuple[int, int]) -> None:
    assert bankdays.easter(year) == date(year, *day)


def test_banks_rest_on_weekends_and_holidays() -> None:
    assert bankdays.on_or_after(date(2026, 4, 3)) == date(2026, 4, 7)  # Good Friday to Easter Monday
    assert bankdays.on_or_before(date(2026, 12, 27)) == date(2026, 12, 24)
    assert bankdays.on_or_after(date(2026, 6, 10)) == date(2026, 6, 10)
