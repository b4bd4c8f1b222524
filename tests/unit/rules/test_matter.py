"""Matters: which events are found to belong together, which never are, and what a person's word changes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import permutations
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.explain import why
from rules.memory import Memory
from rules.ruleset import RuleSet
from rules.state import RuleState
from rules.testing import Player, make_event
from schemas.event import Event
from schemas.trigger import Merge

ZONE = ZoneInfo("Europe/Berlin")
Short = dict[str, Any]
IBAN = "DE02120300000000202051"


def bill(number: str | None = "A-7781", at: str = "0d", **more: Any) -> Short:
    """An invoice mail as normalising gives it: 49.90 EUR, due in two weeks."""
    invoice = {"number": number, "amount": "49.90 EUR", "due": "+14d", "iban": IBAN} | more.pop("invoice", {})
    named = {"matter": f"invoice:hillside.example:{number}" if number else f"thread:{more.get('subject')}"}
    return {
        "kind": "mail.received", "at": at, "from": "Hillside Energy <billing@hillside.example>", "amount": "-49.90 EUR",
        "title": f"Your invoice {number or ''}", "facts": {"invoice": invoice}, "payload": {"thread": f"bill-{number}"},
    } | named | more  # fmt: skip


def row(at: str = "+10d", amount: str = "-49.90 EUR", name: str = "r1", **payload: Any) -> Short:
    payload = {"counterparty": "HILLSIDE ENERGY LTD", "merchant": "hillside-energy"} | payload
    return {
        "kind": "bank.posted", "at": at, "amount": amount, "subject": name, "matter": f"bank:{name}",
        "payee": payload["counterparty"], "title": payload["counterparty"], "payload": payload,
    }  # fmt: skip


def letter(title: str, at: str, thread: str, **more: Any) -> Short:
    return {
        "kind": "mail.received", "at": at, "title": title, "from": "Hillside Energy <care@hillside.example>",
        "matter": f"thread:{thread}", "payload": {"thread": thread},
    } | more  # fmt: skip


def made(shorts: Iterable[Short]) -> list[Event]:
    return [make_event({"subject": f"s{n}"} | short, n, ZONE) for n, short in enumerate(shorts)]


def seen(events: Iterable[Event]) -> Player:
    player = Player(RuleSet([], ZONE), ZONE)
    for event in events:
        player.evaluate(event)
    return player


def groups(player: Player, events: Iterable[Event], *, wide: bool = False) -> set[frozenset[str]]:
    """The events, as they are grouped now."""
    matters = Memory.of(player.state).matters
    found: dict[str, set[str]] = {}
    for event in events:
        assert event.matter is not None
        name = matters.wide(event.matter) if wide else matters.of(event.matter)
        found.setdefault(name, set()).add(event.id)
    return {frozenset(group) for group in found.values()}


def are_one(*shorts: Short, wide: bool = False) -> bool:
    events = made(shorts)
    return len(groups(seen(events), events, wide=wide)) == 1


PURPOSES = {
    "en": "Invoice A-7781 thank you",
    "de": "Rechnung A-7781 vom Maerz",
    "fr": "Facture A-7781 abonnement",
    "es": "Factura A-7781 gracias",
}


@pytest.mark.parametrize("purpose", PURPOSES.values(), ids=PURPOSES)
def test_a_payment_that_names_the_number_belongs_to_the_bill(purpose: str) -> None:
    assert are_one(bill(), row("+40d", counterparty="Collect Ltd", merchant="collect", purpose=purpose))
    assert are_one(bill(), row("+40d", amount="-20.00 EUR", purpose=purpose)), "a part of it, to the biller by name"
    assert not are_one(bill(), row("+40d", "-20.00 EUR", counterparty="Other", merchant="other", purpose=purpose))


def test_a_reminder_by_somebody_else_belongs_to_the_bill_that_it_names() -> None:
    agency = {"from": "Collecta <post@collecta.example>", "matter": "invoice:collecta.example:A-7781"}
    assert are_one(bill(), bill("A-7781", "+30d", **agency))


def test_an_account_and_an_amount_tie_a_payment_to_the_bill_that_is_due_then() -> None:
    to = {"counterparty": "H E Ltd", "merchant": "h-e", "counterparty_iban": IBAN}
    assert are_one(bill(), row("+15d", **to))
    assert not are_one(bill(), row("+45d", **to))
    assert not are_one(bill(), row("+15d", "-49.91 EUR", **to))


def test_a_reference_ties_a_debit_to_its_bill_and_a_returned_debit_to_both() -> None:
    mail = bill(None, subject="m", invoice={"reference": "MREF-2231", "iban": None})
    debit = row(counterparty="XY", merchant="xy", mandate_id="MREF-2231", end_to_end_id="E2E-99812")
    back = row("+12d", "49.90 EUR", "r2", counterparty="XY", merchant="xy", end_to_end_id="E2E-99812", reversal=True)
    assert are_one(mail, debit)
    assert are_one(debit, back)
    assert are_one(mail, debit, back)


def test_an_invitation_and_the_entry_in_the_calendar_are_one_matter() -> None:
    mail = letter("Invitation", "0d", "t1", facts={"invitation": {"method": "REQUEST", "uid": "u-77@cal"}})
    entry = {"kind": "calendar.scheduled", "at": "+1d", "title": "Call", "matter": "calendar:u-77@cal",
             "starts": "+9d", "payload": {"uid": "u-77@cal"}}  # fmt: skip
    assert are_one(mail, entry)


def test_a_booking_code_ties_mails_of_two_senders() -> None:
    booked = letter("Your stay", "0d", "t1", facts={"reservation": {"category": "hotel", "code": "QX7RTZ"}})
    code = {"matter": "booking:QX7RTZ", "from": "Agency <a@agency.example>"}
    assert are_one(booked, letter("Changed", "+3d", "t2", facts={"reservation": {"code": "QX7RTZ"}}, **code))


PARCELS = {
    "en": "It is on its way. Tracking number: 1Z999AA10123456784",
    "de": "Ihre Sendungsnummer lautet 1Z999AA10123456784.",
    "fr": "Votre numéro de suivi : 1Z999AA10123456784",
    "es": "Su número de seguimiento: 1Z999AA10123456784",
}


@pytest.mark.parametrize("text", PARCELS.values(), ids=PARCELS)
def test_a_tracking_number_ties_the_shop_and_the_carrier(text: str) -> None:
    carrier = letter("Delivered today", "+2d", "t2", text=PARCELS["en"], **{"from": "Carrier <info@carrier.example>"})
    assert are_one(letter("Your order", "0d", "t1", text=text), carrier)
    assert not are_one(letter("Your order", "0d", "t1", text=text.replace("6784", "6785")), carrier)


def test_an_answer_in_the_conversation_of_a_bill_belongs_to_it_whichever_came_first() -> None:
    answer = letter("Re: Your invoice", "+1d", "bill-A-7781")
    assert are_one(bill(), answer)
    assert are_one(answer, bill())


# --- likeness ----------------------------------------------------------------------------------------------------


ENTRY = {"kind": "calendar.scheduled", "at": "+1d", "title": "Pay Hillside", "matter": "calendar:u1", "due": "+14d",
         "payload": {"uid": "u1"}, "facts": {"amount": {"amount": "49.90 EUR", "role": "due"}}}  # fmt: skip


def test_likeness_is_explained_with_score_and_parts_and_only_shows_together() -> None:
    events = made([bill(), ENTRY])
    player = seen(events)
    assert len(groups(player, events)) == 2, "a guess settles nothing"
    assert len(groups(player, events, wide=True)) == 1
    (merge,) = player.merges
    assert (merge.explanation.reason, merge.undone, merge.matter) == ("similar", False, events[0].matter)
    assert 0.75 <= merge.score < 1
    assert [part.condition for part in merge.explanation.values] == [
        "number (adds 0 of 0.4)", "party (adds 0.3 of 0.3)", "amount (adds 0.3 of 0.3)",
        "date (adds 0.2 of 0.2)", "words (adds 0 of 0.2)",
    ]  # fmt: skip
    assert merge.explanation in player.explanations


def test_why_says_when_an_event_joined_a_matter_and_by_what() -> None:
    found = why(RuleSet([], ZONE), made([bill(), row("+15d", counterparty_iban=IBAN)]), owner="example", zone=ZONE)
    assert [(item.rule, item.outcome, item.reason, item.key) for item in found] == [
        ("matter", "merged", "same_matter", "invoice:hillside.example:A-7781"),
    ]  # fmt: skip
    assert {part.condition: part.value for part in found[0].values} == {"iban": IBAN, "amount": "49.90 EUR"}


def test_a_price_that_was_announced_and_the_first_charge_of_it_are_shown_together() -> None:
    news = letter("New price", "0d", "t1", facts={"change": {"old": "9.99 EUR", "new": "12.99 EUR", "on": "+30d"}})
    assert are_one(news, row("+31d", "-12.99 EUR"), wide=True)
    assert not are_one(news, row("+62d", "-12.99 EUR"), wide=True)


# --- what must never be one ---------------------------------------------------------------------------------------


def never_one(*shorts: Short) -> None:
    """In no order of arrival, neither for sure nor as a guess, are any two of them one."""
    events = made(shorts)
    for order in permutations(events):
        assert len(groups(seen(order), events, wide=True)) == len(events)


def test_two_bills_of_one_biller_with_the_same_amount_are_two_matters() -> None:
    next_month = bill("A-7901", "+30d", invoice={"due": "+44d"})
    never_one(bill(), next_month)
    never_one(bill(None, subject="m1", payload={"thread": "m1"}),
              bill(None, "+30d", subject="m2", payload={"thread": "m2"}, invoice={"due": "+44d"}))  # fmt: skip


def test_one_payment_pays_the_bill_that_is_nearer_due_whatever_the_order() -> None:
    late = bill("A-7901", "+13d", invoice={"due": "+27d"})
    events = made([bill(), late, row("+16d", counterparty_iban=IBAN)])
    for order in permutations(events):
        assert groups(seen(order), events) == {frozenset((events[0].id, events[2].id)), frozenset((events[1].id,))}


def test_two_charges_of_one_merchant_on_one_day_are_two_matters() -> None:
    never_one(row(name="r1"), row(name="r2"))
    never_one(row(name="r1", counterparty_iban=IBAN, mandate_id="MREF-1"),
              row(name="r2", counterparty_iban=IBAN, mandate_id="MREF-1"))  # fmt: skip


def test_weekly_receipts_and_their_charges_pair_up_and_no_further() -> None:
    receipts = [letter("Your receipt", f"+{7 * n}d", f"t{n}", amount="-12.00 EUR",
                       facts={"amount": {"amount": "12.00 EUR", "role": "total"}}) for n in range(3)]  # fmt: skip
    charges = [row(f"+{7 * n + 1}d", "-12.00 EUR", f"r{n}") for n in range(3)]
    events = made([*receipts, *charges])
    expected = {frozenset((events[n].id, events[n + 3].id)) for n in range(3)}
    for order in (events, events[::-1], events[3:] + events[:3]):
        assert groups(seen(order), events, wide=True) == expected


def test_a_newsletter_with_a_price_belongs_to_no_charge() -> None:
    news = letter("Only 49.90", "+9d", "t1", facts={"amount": {"amount": "49.90 EUR", "role": "price"}})
    news["payload"] |= {"list_id": "<news.hillside.example>", "unsubscribe": "https://hillside.example/u"}
    never_one(news, row())


def test_entries_of_one_title_every_week_are_as_many_matters() -> None:
    never_one(*({"kind": "calendar.scheduled", "at": "0d", "title": "Choir", "matter": f"calendar:u{n}",
                 "starts": f"+{7 * n}d 19:00", "payload": {"uid": f"u{n}"}} for n in range(3)))  # fmt: skip


def test_two_bills_in_one_conversation_are_two_matters_and_the_answers_belong_to_neither() -> None:
    one, other = bill("A-7781", payload={"thread": "t"}), bill("A-7901", "+2d", payload={"thread": "t"})
    never_one(one, other, letter("Re: Your invoice", "+3d", "t", facts={"question": True}))


# --- a person's word ---------------------------------------------------------------------------------------------


def word(kind: str, first: Event, second: Event, at: str = "+20d") -> Event:
    payload = {"first_event": first.id, "second_event": second.id, "first": first.matter, "second": second.matter}
    return make_event({"kind": kind, "at": at, "payload": payload, "trust": "self"}, hash((kind, at)) % 10_000, ZONE)


def test_what_the_person_parts_stays_parted_for_good_and_says_so() -> None:
    events = made([bill(), row("+15d", counterparty_iban=IBAN)])
    player = seen(events)
    player.evaluate(word("matter.split", *events))
    assert len(groups(player, events, wide=True)) == 2
    undone = player.merges[-1]
    assert (undone.undone, undone.explanation.reason, undone.other) == (True, "told", "bank:r1")
    again = made([bill(), row("+15d", counterparty_iban=IBAN) | {"version": "2", "title": "HILLSIDE"}])[1]
    player.evaluate(again)
    player.evaluate(make_event(letter("Re: Your invoice", "+21d", "bill-A-7781"), 9, ZONE))
    assert len(groups(player, events, wide=True)) == 2


def test_what_the_person_joins_is_one_matter_until_told_otherwise() -> None:
    events = made([bill(), row("+15d", "-17.00 EUR", counterparty="Z", merchant="z")])
    player = seen(events)
    player.evaluate(word("matter.joined", *events))
    assert len(groups(player, events)) == 1
    assert player.merges[-1].explanation.reason == "told"
    player.evaluate(word("matter.split", *events, at="+21d"))
    assert len(groups(player, events)) == 2


# --- properties --------------------------------------------------------------------------------------------------

SHORTS = [
    bill(), bill("A-7901", "+30d", invoice={"due": "+44d"}),
    bill(None, subject="m1", payload={"thread": "m1"}), bill(None, "+29d", subject="m2", payload={"thread": "m2"}),
    letter("Re: Your invoice", "+1d", "bill-A-7781"), letter("Re: both", "+2d", "m1", facts={"question": True}),
    letter("Payment for A-7781", "+17d", "t9", facts={"resolution": {"outcome": "paid", "number": "A-7781"}}),
    row("+15d", counterparty_iban=IBAN), row("+16d", name="r2", counterparty_iban=IBAN),
    row("+45d", name="r3", purpose="Invoice A-7901"), row("+12d", "-12.99 EUR", "r4"), ENTRY,
    letter("New price", "0d", "t1", facts={"change": {"old": "9.99 EUR", "new": "12.99 EUR", "on": "+12d"}}),
]  # fmt: skip
EVENTS = made(SHORTS)


@settings(max_examples=150, deadline=None)
@given(st.permutations(EVENTS), st.lists(st.sampled_from(EVENTS), max_size=5))
def test_whatever_the_order_and_the_repetitions_the_same_events_belong_together(
    order: list[Event], again: list[Event]
) -> None:
    player, expected = seen([*order, *again]), seen(EVENTS)
    for wide in (False, True):
        assert groups(player, EVENTS, wide=wide) == groups(expected, EVENTS, wide=wide)


@settings(max_examples=60, deadline=None)
@given(st.permutations(EVENTS), st.sets(st.integers(0, len(EVENTS))))
def test_a_restart_anywhere_changes_no_matter_and_no_merge(order: list[Event], restarts: set[int]) -> None:
    expected = seen(order)
    player, merges = Player(RuleSet([], ZONE), ZONE), list[Merge]()
    for place, event in enumerate(order):
        if place in restarts:
            state = RuleState()
            state.load(json.loads(json.dumps(dict(player.state.items()))))
            player = Player(RuleSet([], ZONE), ZONE, state=state)
        merges += player.evaluate(event).merges
    assert merges == expected.merges
    assert dict(player.state.items()) == dict(expected.state.items())


@settings(max_examples=60, deadline=None)
@given(st.permutations(EVENTS))
def test_every_merge_that_stands_was_told_and_every_one_told_stands_or_was_taken_back(order: list[Event]) -> None:
    player = seen(order)
    together: dict[str, set[str]] = {event.matter or "": {event.matter or ""} for event in EVENTS}
    for merge in player.merges:
        if not merge.undone:
            union = together.setdefault(merge.matter, {merge.matter}) | together.setdefault(merge.other, {merge.other})
            for name in union:
                together[name] = union
    for group in groups(player, EVENTS, wide=True):
        names = {event.matter or "" for event in EVENTS if event.id in group and (event.facts or event.amount)}
        assert all(names <= together[name] for name in names)


def test_what_very_many_share_ties_nothing_and_costs_little() -> None:
    """A flood of mails that name one number: the first hundred are one matter, the rest stay by themselves."""
    flood = [letter("About A-7781", "+1d", f"t{n}", subject=f"m{n}", facts={"invoice": {"number": "A-7781"}},
                    matter=f"thread:t{n}") for n in range(130)]  # fmt: skip
    events = made(flood)
    sizes = sorted(len(group) for group in groups(seen(events), events))
    assert sizes == [1] * 29 + [101]


def test_what_ended_long_ago_is_forgotten() -> None:
    player = seen(made([bill(), row("+15d")]))
    assert any(name.startswith("matter/") for name, _ in player.state.items())
    player.evaluate(make_event({"kind": "clock.day", "at": "+400d"}, 9, ZONE))
    assert not any(name.startswith("matter/") for name, _ in player.state.items())
