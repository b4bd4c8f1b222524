"""The score: what counts as noticed, as a false alarm, and as withdrawn in time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

from forewatch.sample.household import Household
from forewatch.sample.labels import Label
from forewatch.sample.score import Offer, score

BILL = Label(
    id="invoice-unpaid/1",
    expect="notice",
    rules=("invoice-unpaid", "due-soon"),
    items=("bill@shop.example",),
    notice_from=date(2026, 3, 2),
    notice_by=date(2026, 3, 20),
    cancelled_on=None,
    language="en",
    why="nobody pays",
)
PAID_LATE = replace(BILL, id="invoice-unpaid/2", items=("late@shop.example",), cancelled_on=date(2026, 3, 20))
OFFER_MAIL = replace(
    BILL, id="quiet/due-soon/1", expect="silence", items=("sale@shop.example",), why="an advertised offer that ends"
)


def household(*labels: Label, zone: str = "Europe/Berlin") -> Household:
    return Household(1, zone, date(2026, 3, 1), date(2026, 3, 29), "Ada", "ada@home.example", (), labels)


def offer(
    day: int,
    *tokens: str,
    rule: str = "invoice-unpaid",
    retracted: int | None = None,
    closed: int | None = None,
    hour: int = 12,
) -> Offer:
    end = retracted or closed
    return Offer(
        id=f"{rule}/{day}/{'/'.join(tokens)}",
        rule=rule,
        title="Pay the bill",
        offered_at=datetime(2026, 3, day, hour, tzinfo=UTC),
        retracted_at=datetime(2026, 3, retracted, 12, tzinfo=UTC) if retracted else None,
        surface="now",
        tokens=frozenset(tokens or ("bill@shop.example",)),
        closed_at=datetime(2026, 3, end, 12, tzinfo=UTC) if end else None,
    )


def test_everything_noticed_and_nothing_else_is_perfect() -> None:
    result = score(household(BILL, OFFER_MAIL), [offer(15)])
    assert (result.recall, result.precision, result.cancellation_recall) == (1.0, 1.0, 1.0)
    assert (result.noticed, result.right, result.disturbed) == (1, 1, 0)
    assert result.misses == result.false_alarms == ()


def test_a_situation_of_which_nobody_speaks_is_missed() -> None:
    result = score(household(BILL, PAID_LATE), [offer(15)])
    assert result.recall == 0.5
    assert [(miss.what, miss.reason) for miss in result.misses] == [("invoice-unpaid/2", "nothing was said about it")]


def test_brackets_around_a_message_id_make_no_difference() -> None:
    assert score(household(BILL), [offer(15, "<bill@shop.example>")]).recall == 1.0


def test_any_of_the_acceptable_rules_will_do() -> None:
    assert score(household(BILL), [offer(15, rule="due-soon")]).recall == 1.0


def test_the_wrong_rule_is_a_miss_and_a_false_alarm() -> None:
    result = score(household(BILL), [offer(15, rule="trial-ending")])
    assert (result.recall, result.precision) == (0.0, 0.0)
    assert result.misses[0].reason == "only rule trial-ending spoke of it"
    assert result.false_alarms[0].reason == "trial-ending is not the rule for it"


def test_too_late_is_a_miss_and_a_false_alarm() -> None:
    result = score(household(BILL), [offer(21)])
    assert (result.recall, result.precision) == (0.0, 0.0)
    assert result.misses[0].reason == "offered on 2026-03-21, not within 2026-03-02 .. 2026-03-20"
    assert result.false_alarms[0].reason == result.misses[0].reason


def test_days_are_those_of_the_household() -> None:
    late = offer(20, hour=23)  # the 21st in Berlin, the 20th in Los Angeles
    assert score(household(BILL), [late]).recall == 0.0
    assert score(household(BILL, zone="America/Los_Angeles"), [late]).recall == 1.0


def test_a_look_alike_that_is_spoken_of_is_a_false_alarm_with_its_reason() -> None:
    result = score(household(BILL, OFFER_MAIL), [offer(15), offer(10, "sale@shop.example", rule="due-soon")])
    assert (result.precision, result.disturbed) == (0.5, 1)
    assert result.false_alarms[0].reason == "look-alike: an advertised offer that ends"


def test_an_offer_from_nowhere_is_a_false_alarm() -> None:
    result = score(household(BILL), [offer(15), offer(15, "other@shop.example")])
    assert result.precision == 0.5
    assert result.false_alarms[0].reason == "nothing of the kind is there"


def test_one_offer_may_be_about_two_situations() -> None:
    result = score(household(BILL, PAID_LATE), [offer(15, "bill@shop.example", "late@shop.example", retracted=20)])
    assert (result.recall, result.precision) == (1.0, 1.0)


def test_a_withdrawal_within_two_days_of_the_cancellation_is_in_time() -> None:
    for day in (20, 22):
        result = score(household(PAID_LATE), [offer(15, "late@shop.example", retracted=day)])
        assert (result.cancellation_recall, result.not_withdrawn) == (1.0, ())


def test_what_stays_open_after_its_cancellation_is_found() -> None:
    for retracted in (None, 23):
        result = score(household(PAID_LATE), [offer(15, "late@shop.example", retracted=retracted)])
        assert result.cancellation_recall == 0.0
        assert result.not_withdrawn[0].reason == "still open after 2026-03-22"


def test_all_offers_about_a_cancelled_situation_must_go() -> None:
    both = [offer(15, "late@shop.example", retracted=20), offer(19, "late@shop.example")]
    assert score(household(PAID_LATE), both).cancellation_recall == 0.0


def test_a_withdrawal_long_before_the_cancellation_does_not_count_as_one() -> None:
    result = score(household(PAID_LATE), [offer(15, "late@shop.example", retracted=16)])
    assert result.cancellation_recall == 0.0
    assert result.not_withdrawn[0].reason == "withdrawn before 2026-03-20"
    assert result.withdrawn_early[0].reason == "withdrawn on 2026-03-16, before 2026-03-20"


def test_a_missed_situation_has_nothing_to_withdraw() -> None:
    result = score(household(PAID_LATE), [])
    assert (result.recall, result.cancellation_recall) == (0.0, 1.0)


def test_an_open_matter_that_is_withdrawn_is_reported() -> None:
    result = score(household(BILL), [offer(15, retracted=17)])
    assert result.recall == 1.0
    assert [finding.what for finding in result.withdrawn_early] == ["invoice-unpaid/1"]


def test_a_newer_offer_may_take_the_place_of_an_older_one() -> None:
    result = score(household(BILL), [offer(10, retracted=12), offer(18)])
    assert result.withdrawn_early == ()


def test_only_what_is_shown_at_once_interrupts() -> None:
    offers = [offer(15), replace(offer(16), surface="digest"), offer(17), offer(18)]
    assert score(household(BILL), offers).interruptions_per_week == 0.75


def test_an_early_and_a_late_reminder_are_no_repetition_but_a_third_is() -> None:
    reminders = [offer(15, closed=16), offer(17, closed=18), offer(19)]
    assert score(household(BILL), reminders[:2]).redundancy == 0.0
    assert score(household(BILL), reminders).redundancy == 1 / 3


def test_a_second_proposal_while_the_first_waits_is_a_repetition_whatever_its_rule() -> None:
    for rule in ("invoice-unpaid", "due-soon"):
        assert score(household(BILL), [offer(15), offer(17, rule=rule)]).redundancy == 1 / 2
        assert score(household(BILL), [offer(15, closed=16), offer(17, rule=rule)]).redundancy == 0.0


def test_two_matters_may_wait_together() -> None:
    assert score(household(BILL, PAID_LATE), [offer(15), offer(17, "late@shop.example")]).redundancy == 0.0


def test_two_reasons_of_one_proposal_are_no_repetition_and_each_must_be_right() -> None:
    joined = replace(offer(17, rule="due-soon"), id=offer(15).id, surface="digest")
    result = score(household(BILL), [offer(15), joined])
    assert (result.redundancy, result.precision, result.proposals, result.right) == (0.0, 1.0, 1, 1)
    result = score(household(BILL), [offer(15), replace(joined, rule="trial-ending")])
    assert (result.precision, result.proposals) == (0.5, 1)


def test_a_proposal_that_repeats_two_situations_is_counted_once() -> None:
    both = ("bill@shop.example", "late@shop.example")
    assert score(household(BILL, PAID_LATE), [offer(15, *both), offer(17, *both)]).redundancy == 1 / 2


def test_a_play_that_stops_early_is_scored_by_what_it_could_see() -> None:
    later = replace(BILL, id="invoice-unpaid/3", items=("later@shop.example",), notice_by=date(2026, 3, 25))
    result = score(household(BILL, later), [offer(15), offer(12, "later@shop.example")], until=date(2026, 3, 22))
    assert (result.situations, result.recall, result.precision) == (1, 1.0, 1.0)


def test_nothing_to_notice_and_nothing_said_is_no_failure() -> None:
    result = score(household(), [])
    assert (result.recall, result.precision, result.redundancy) == (1.0, 1.0, 0.0)
