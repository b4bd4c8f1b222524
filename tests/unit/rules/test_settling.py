"""Unless, withdrawing and cooldown: what is not said, and what is taken back (law L7)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.testing import Player, make_event
from schemas.event import Event
from schemas.model import Json
from schemas.trigger import Retraction

Make = Callable[..., Player]
BERLIN = ZoneInfo("Europe/Berlin")

BILL: dict[str, Any] = {
    "when": {"kind": "mail.received", "where": "has(fact.invoice)"},
    "unless": {
        "kind": "bank.posted",
        "where": "amount == -trigger.fact.invoice.amount",
        "within": "10d",
        "before": "3d",
        "consumes": True,
    },
    "key": "fact.invoice.number",
}
SILENT: dict[str, Any] = {
    "when": {"kind": "account.silent"},
    "unless": {"kind": "account.recovered", "where": "account == trigger.account", "before": "0d"},
    "key": "account",
}


def bill(number: int, at: str = "0d", euros: int = 50, **more: Json) -> Event:
    facts: Json = {"invoice": {"number": f"n{number}", "amount": f"{euros}.00 EUR"}}
    return make_event({"kind": "mail.received", "at": at, "facts": facts} | more, number, BERLIN)


def payment(number: int, at: str, euros: int = 50, **more: Json) -> Event:
    return make_event({"kind": "bank.posted", "at": at, "amount": f"-{euros}.00 EUR"} | more, 100 + number, BERLIN)


def told(played: Player) -> list[tuple[str, str]]:
    return [(signal.type, signal.key) for signal in played.signals]


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("-4d", ["trigger"]),
        ("-3d", ["suppression"]),
        ("-1h", ["suppression"]),
        ("+1h", ["trigger", "retraction"]),
        ("+10d", ["trigger", "retraction"]),
        ("+10d 10:01", ["trigger"]),
    ],
)
def test_what_settles_must_lie_in_the_window(player: Make, at: str, expected: list[str]) -> None:
    events = sorted([bill(1), payment(1, at)], key=lambda event: event.observed_at)
    played = player("Europe/Berlin", BILL).play(events)
    assert [kind for kind, _ in told(played)] == expected


def test_the_window_is_in_the_time_of_the_events_whenever_they_are_seen(player: Make) -> None:
    late = payment(1, "+20d", occurred="+2d")
    assert [kind for kind, _ in told(player("Europe/Berlin", BILL).play([bill(1), late]))] == ["trigger", "retraction"]


@pytest.mark.parametrize("euros", [49, 51])
def test_something_else_does_not_settle(player: Make, euros: int) -> None:
    played = player("Europe/Berlin", BILL).play([bill(1), payment(1, "+1d", euros)])
    assert told(played) == [("trigger", "n1")]


def test_one_payment_settles_the_oldest_case_only(player: Make) -> None:
    played = player("Europe/Berlin", BILL).play([bill(1), bill(2, "+1d"), payment(1, "+2d"), payment(2, "+3d")])
    assert told(played) == [("trigger", "n1"), ("trigger", "n2"), ("retraction", "n1"), ("retraction", "n2")]


def test_a_payment_that_was_used_does_not_settle_a_later_bill(player: Make) -> None:
    played = player("Europe/Berlin", BILL).play([bill(1), payment(1, "+1d"), bill(2, "+2d")])
    assert told(played) == [("trigger", "n1"), ("retraction", "n1"), ("trigger", "n2")]


def test_a_condition_that_does_not_consume_settles_all(player: Make) -> None:
    rule = BILL | {"unless": BILL["unless"] | {"consumes": False}}
    played = player("Europe/Berlin", rule).play([bill(1), bill(2, "+1h"), payment(1, "+1d"), bill(3, "+2d")])
    assert told(played)[2:] == [("retraction", "n1"), ("retraction", "n2"), ("suppression", "n3")]


def test_any_of_several_conditions_settles(player: Make) -> None:
    rule = BILL | {
        "unless": [BILL["unless"], {"kind": "mail.received", "where": "matter == trigger.matter", "before": "0d"}]
    }
    thanks = make_event({"kind": "mail.received", "at": "+2d", "matter": "x"}, 9, BERLIN)
    played = player("Europe/Berlin", rule).play([bill(1, matter="x"), thanks])
    assert told(played) == [("trigger", "n1"), ("retraction", "n1")]


def test_a_payment_that_was_taken_back_settles_nothing_later(player: Make) -> None:
    back = make_event({"kind": "bank.removed", "at": "-1h", "subject": "p"}, 5, BERLIN)
    played = player("Europe/Berlin", BILL).play([payment(1, "-2h", subject="p"), back, bill(1)])
    assert told(played) == [("trigger", "n1")]


def test_only_so_many_payments_without_a_bill_are_remembered(player: Make) -> None:
    played = player("Europe/Berlin", BILL).play([payment(n, f"+{n}m", euros=n + 1) for n in range(400)])
    kept = list(played.state.items("recent/"))
    assert 200 < len(kept) <= 300
    played.play([bill(1, "+401m", euros=400), bill(2, "+402m", euros=1)])
    assert told(played) == [("suppression", "n1"), ("trigger", "n2")], "the oldest are forgotten first"


def test_a_retraction_says_why_and_by_what(player: Make) -> None:
    played = player("Europe/Berlin", BILL).play([bill(1), payment(1, "+1d", title="ACME <b>")])
    retraction = played.signals[1]
    assert isinstance(retraction, Retraction)
    assert (retraction.reason, retraction.says) == ("unless", "Settled by bank posted: ACME b.")
    assert [item.event for item in retraction.evidence] == ["example-101-"]
    assert retraction.trigger == played.triggers()[0].id


def test_what_falls_silent_again_fires_again_with_another_id(player: Make) -> None:
    events = [
        make_event(
            {"kind": kind, "at": f"+{n}d", "account": "bank", "subject": "account:bank", "version": str(n)}, n, BERLIN
        )
        for n, kind in enumerate(["account.silent", "account.recovered", "account.silent", "account.recovered"])
    ]
    played = player("Europe/Berlin", SILENT).play(events)
    assert [kind for kind, _ in told(played)] == ["trigger", "retraction", "trigger", "retraction"]
    assert len({trigger.id for trigger in played.triggers()}) == 2


# --- the source takes back -------------------------------------------------------------------------------------------

VISIT: dict[str, Any] = {
    "when": {"kind": ["calendar.scheduled", "calendar.changed"], "where": "title.contains('visit')"},
    "deadline": {"at": "starts_at", "lead": ["2d"]},
}


def visit(number: int, kind: str, at: str, **more: Json) -> Event:
    short = {"kind": kind, "at": at, "subject": "v", "title": "visit", "starts": "+9d 12:00", "ends": "+9d 13:00"}
    return make_event(short | more, number, BERLIN)


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        ({"kind": "calendar.cancelled"}, "cancelled"),
        ({"kind": "calendar.changed", "title": "something else"}, "resolved"),
        ({"kind": "calendar.changed", "starts": "+20d 12:00", "ends": "+20d 13:00"}, "moved"),
        ({"kind": "calendar.changed", "op": "retract"}, "removed"),
    ],
)
def test_what_the_source_withdraws_is_withdrawn_after_it_fired(
    player: Make, event: dict[str, Json], reason: str
) -> None:
    change = visit(2, **{"at": "+8d", **event})  # type: ignore[arg-type]  # kind and at are texts
    played = player("Europe/Berlin", VISIT).play([visit(1, "calendar.scheduled", "0d"), change])
    assert [signal.type for signal in played.signals][:2] == ["trigger", "retraction"]
    assert isinstance(played.signals[1], Retraction)
    assert played.signals[1].reason == reason


@pytest.mark.parametrize("change", [{"kind": "calendar.cancelled"}, {"kind": "calendar.changed", "title": "no"}])
def test_what_the_source_withdraws_before_it_fires_never_fires(player: Make, change: dict[str, Json]) -> None:
    events = [visit(1, "calendar.scheduled", "0d"), visit(2, **{"at": "+1d", **change})]  # type: ignore[arg-type]
    played = player("Europe/Berlin", VISIT).play(events)
    played.run_to(events[0].observed_at + timedelta(days=20))
    assert played.signals == []


def test_what_is_scheduled_again_fires_again_with_another_id(player: Make) -> None:
    events = [
        visit(1, "calendar.scheduled", "+8d", version="1"),
        visit(2, "calendar.cancelled", "+8d 11:00", version="2"),
        visit(3, "calendar.scheduled", "+8d 12:00", version="3"),
    ]
    played = player("Europe/Berlin", VISIT).play(events)
    assert [signal.type for signal in played.signals] == ["trigger", "retraction", "trigger"]
    assert len({trigger.id for trigger in played.triggers()}) == 2


def test_a_change_that_the_rule_does_not_watch_for_still_withdraws(player: Make) -> None:
    rule = VISIT | {"when": {"kind": "calendar.scheduled"}}
    played = player("Europe/Berlin", rule).play(
        [
            visit(1, "calendar.scheduled", "+8d"),
            visit(2, "calendar.changed", "+8d 12:00", starts="+20d", ends="+20d 11:00"),
        ]
    )
    assert [signal.type for signal in played.signals] == ["trigger", "retraction"]


def test_a_mail_that_is_deleted_or_flagged_takes_nothing_back(player: Make) -> None:
    events = [bill(1, subject="s")] + [
        make_event({"kind": kind, "at": f"+{n}d", "subject": "s"}, n, BERLIN)
        for n, kind in ((2, "mail.flagged"), (3, "mail.removed"))
    ]
    assert told(player("Europe/Berlin", BILL).play(events)) == [("trigger", "n1")]


def test_only_the_triggers_of_the_thing_that_went_are_withdrawn(player: Make) -> None:
    rule = {"when": {"kind": "bank.posted"}, "key": "account"}
    events = [payment(1, "0d", subject="one"), payment(2, "+1h", subject="two")]
    events.append(make_event({"kind": "bank.removed", "at": "+2h", "subject": "one"}, 7, BERLIN))
    played = player("Europe/Berlin", rule).play(events)
    assert [trigger.evidence[0].event for trigger in played.standing()] == ["example-102-"]


def test_what_was_withdrawn_from_a_case_may_come_again_after_the_case_is_over(player: Make) -> None:
    rule = {"when": {"kind": "bank.posted", "where": "amount < 0"}, "key": "account"}
    back = make_event({"kind": "bank.removed", "at": "+2h", "subject": "one"}, 7, BERLIN)
    again = payment(3, "+60d", subject="one", amount="5.00 EUR")
    played = player("Europe/Berlin", rule).play(
        [payment(1, "0d", subject="one"), payment(2, "+1h", subject="two"), back, again]
    )
    assert [kind for kind, _ in told(played)] == ["trigger", "trigger", "retraction"]


# --- said once -----------------------------------------------------------------------------------------------------


def test_a_newer_version_of_the_same_thing_fires_once(player: Make) -> None:
    rule = {"when": {"kind": "bank.posted"}}
    events = [payment(n, f"+{n}h", subject="same", version=str(n)) for n in range(4)]
    assert len(player("Europe/Berlin", rule).play(events).triggers()) == 1


def test_a_cooldown_holds_for_its_key_and_no_longer(player: Make) -> None:
    rule = {"when": {"kind": "bank.posted"}, "key": "payload.merchant", "cooldown": "3d"}
    events = [
        payment(n, at, payload={"merchant": merchant})
        for n, (at, merchant) in enumerate([("0d", "a"), ("+1d", "a"), ("+1d", "b"), ("+2d", "a"), ("+3d", "a")])
    ]
    played = player("Europe/Berlin", rule).play(events)
    assert told(played) == [
        ("trigger", "a"), ("suppression", "a"), ("trigger", "b"), ("suppression", "a"), ("trigger", "a"),
    ]  # fmt: skip


def test_a_cooldown_does_not_count_from_what_was_withdrawn(player: Make) -> None:
    rule = {"when": {"kind": "bank.posted"}, "key": "account", "cooldown": "30d"}
    back = make_event({"kind": "bank.removed", "at": "+1h", "subject": "one"}, 7, BERLIN)
    played = player("Europe/Berlin", rule).play([payment(1, "0d", subject="one"), back, payment(2, "+1d")])
    assert [kind for kind, _ in told(played)] == ["trigger", "retraction", "trigger"]


def test_a_later_trigger_of_a_key_names_the_one_that_still_stands(player: Make) -> None:
    rule = {"when": {"kind": "bank.posted"}, "key": "account"}
    first, second = player("Europe/Berlin", rule).play([payment(1, "0d"), payment(2, "+1d")]).triggers()
    assert (first.follows, second.follows) == (None, first.id)


def test_an_event_of_long_ago_is_history(player: Make) -> None:
    played = player("Europe/Berlin", {"when": {"kind": "bank.posted"}}).play([payment(1, "0d", occurred="-15d")])
    assert [signal.type for signal in played.signals] == ["suppression"]


# --- an obvious model ------------------------------------------------------------------------------------------------

streams = st.lists(
    st.tuples(st.sampled_from(["bill", "pay"]), st.integers(1, 3), st.integers(0, 30 * 24)),
    max_size=16,
    unique_by=lambda entry: entry[2],
).map(lambda entries: sorted(entries, key=lambda entry: entry[2]))


@settings(max_examples=200, deadline=None)
@given(streams)
def test_bills_and_payments_are_paired_as_in_the_obvious_model(
    player: Make, stream: list[tuple[str, int, int]]
) -> None:
    """Oldest first, each payment once, three days before to ten days after the bill."""
    open_bills: list[tuple[int, int, int]] = []
    spare: list[tuple[int, int]] = []
    expected: list[tuple[str, str]] = []
    events = []
    for number, (what, euros, hour) in enumerate(stream):
        at = f"+{hour}h"
        if what == "bill":
            events.append(bill(number, at, euros))
            usable = [paid for paid in spare if paid[0] == euros and hour - 72 <= paid[1]]
            expected.append(("suppression" if usable else "trigger", f"n{number}"))
            if usable:
                spare.remove(usable[0])
            else:
                open_bills.append((number, euros, hour))
        else:
            events.append(payment(number, at, euros))
            waiting = [one for one in open_bills if one[1] == euros and hour <= one[2] + 240]
            if waiting:
                open_bills.remove(waiting[0])
                expected.append(("retraction", f"n{waiting[0][0]}"))
            else:
                spare.append((euros, hour))
    assert told(player("UTC", BILL).play(events)) == expected
