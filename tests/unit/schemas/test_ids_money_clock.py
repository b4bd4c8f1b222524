import hashlib
import json
import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from schemas import clock, ids
from schemas.errors import ConfigError, Location, RuleError
from schemas.model import Model
from schemas.money import Money, decimal, exponent
from schemas.testing import instants
from schemas.value import Integrity, least

ZONES = ["America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo"]


def test_ids_of_joined_parts_do_not_collide() -> None:
    assert ids.event_id("a", "bc", "d", "1") != ids.event_id("ab", "c", "d", "1")
    assert ids.content_hash("ab", "c") != ids.content_hash("a", "bc")


def test_ids_never_change_between_releases() -> None:
    assert ids.event_id("mail", "mail.received", "42", "1") == "93ce3986-ece2-5d59-8f23-55f81ed20490"
    assert ids.idempotency_key("run", "step") == "e8827f57823e86e65963acf3c7d6ba17"


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert ids.digest({"a": 1, "b": [2]}) == ids.digest({"b": [2], "a": 1})


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_ids_are_version_five_uuids_of_their_parts(parts: list[str]) -> None:
    name = "\x1f".join(["entry", *parts[:1], str(len(parts))])
    space = uuid.UUID("6f0f3c1e-6a4c-5b5e-9d0a-f03e3a7c4b11")
    assert ids.entry_id(parts[0], len(parts)) == str(uuid.uuid5(space, name))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**25), max_value=10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_json_has_the_digest_of_its_value_however_it_is_written(value: object) -> None:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert ids.digest(value) == hashlib.sha256(canonical).hexdigest()
    for text in (canonical, json.dumps(value, indent=1).encode(), to_json(value)):
        assert ids.digest_of_json(text) == ids.digest(value)


def test_the_minor_unit_follows_the_currency() -> None:
    assert str(Money.from_minor(1250, "EUR")) == "12.50 EUR"
    assert str(Money.from_minor(5000, "JPY")) == "5000 JPY"
    assert str(Money.from_minor(1234, "KWD")) == "1.234 KWD"
    assert exponent("KWD") == 3


def test_equal_money_has_equal_text() -> None:
    assert Money.of("12.5", "EUR").model_dump_json() == Money.of("12.50", "EUR").model_dump_json()
    assert Money.of("-0", "EUR") == Money.of("0.00", "EUR")


@pytest.mark.parametrize("text", ["1e5", "NaN", "Infinity", "1,5", "", "--1", "1.2.3", "0x1"])
def test_only_plain_decimals_are_amounts(text: str) -> None:
    with pytest.raises(ValueError, match="not a plain decimal"):
        decimal(text)


def test_a_naive_instant_is_refused() -> None:
    from schemas.record import PollDue

    with pytest.raises(ValueError, match="timezone"):
        PollDue(account="a", due_at=datetime(2026, 1, 1))  # noqa: DTZ001  # that is the point


@pytest.mark.parametrize("name", ZONES)
@given(day=st.dates(date(2000, 1, 1), date(2060, 1, 1)))
def test_a_local_day_starts_and_ends_on_that_day(name: str, day: date) -> None:
    tz = clock.zone(name)
    start, end = clock.start_of_day(day, tz), clock.end_of_day(day, tz)
    assert clock.local_day(start, tz) == day
    assert clock.local_day(start - timedelta(microseconds=1), tz) == day - timedelta(days=1)
    assert clock.local_day(end - timedelta(microseconds=1), tz) == day
    assert timedelta(hours=23) <= end - start <= timedelta(hours=25)


@pytest.mark.parametrize("name", ZONES)
@given(day=st.dates(date(2000, 1, 1), date(2060, 1, 1)), hour=st.integers(0, 23))
def test_a_wall_time_is_kept_unless_dst_skips_it(name: str, day: date, hour: int) -> None:
    tz = clock.zone(name)
    local = clock.at_local(day, time(hour), tz).astimezone(tz)
    assert local.date() == day
    assert local.hour == hour or local.hour == hour + 1 or local.minute == 30


def test_a_skipped_wall_time_moves_forward() -> None:
    berlin = clock.zone("Europe/Berlin")
    assert clock.at_local(date(2026, 3, 29), time(2, 30), berlin) == datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize("name", ["", "Berlin", "../etc/passwd", "Europe/Nowhere"])
def test_an_unknown_zone_is_a_clear_error(name: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown time zone.*IANA"):
        clock.zone(name)


@given(moments=st.lists(instants(), min_size=1))
def test_a_manual_clock_never_goes_back(moments: list[datetime]) -> None:
    hand = clock.ManualClock(moments[0])
    for moment in moments:
        hand.advance_to(moment)
    assert hand.now() == max(moments)


def test_a_rule_error_says_where_what_and_the_remedy() -> None:
    error = RuleError("unknown kind 'x'", Location("a.yaml", 3, 5), remedy="did you mean 'y'?")
    assert str(error) == "a.yaml:3:5: unknown kind 'x'; did you mean 'y'?"


def test_a_derived_value_is_as_trusted_as_its_least_input() -> None:
    assert least(Integrity.USER, Integrity.UNTRUSTED, Integrity.KNOWN) is Integrity.UNTRUSTED
    assert least() is Integrity.USER


def test_models_are_frozen() -> None:
    money = Money(amount=Decimal(1), currency="EUR")
    with pytest.raises(ValueError, match="frozen"):
        money.currency = "USD"  # type: ignore[misc]
    assert isinstance(money, Model)
