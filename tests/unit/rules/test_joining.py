"""What matters do to rules: keys, guards, inhibition and cases that are open already, and "paid already"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from rules.testing import Player, make_event
from schemas.event import Event
from schemas.trigger import Retraction, Suppression

Make = Callable[..., Player]
ZONE = ZoneInfo("Europe/Berlin")
IBAN = "DE02120300000000202051"
UNPAID: dict[str, Any] = {
    "id": "unpaid", "when": {"kind": "mail.received", "where": "fact.invoice.amount > 0"},
    "deadline": {"at": "fact.invoice.due", "lead": "5d", "overdue": "30d"}, "key": "matter", "says": "Pay {{ title }}",
}  # fmt: skip
REMINDED: dict[str, Any] = {
    "id": "reminded", "when": {"kind": "mail.received", "where": "fact.due.what == 'pay' && !has(fact.invoice)"},
    "deadline": {"at": "fact.due", "lead": "3d"}, "key": ["matter", "fact.due"],
}  # fmt: skip
ANY: dict[str, Any] = {"id": "any", "when": {"kind": "mail.received"}, "key": "matter"}


def bill(number: str = "A-7781", at: str = "0d", name: int = 1, **more: Any) -> Event:
    invoice = {"number": number, "amount": "49.90 EUR", "due": "+14d", "iban": IBAN} | more.pop("invoice", {})
    short = {
        "kind": "mail.received", "at": at, "from": "Hillside Energy <billing@hillside.example>",
        "title": f"Bill {name}", "facts": {"invoice": invoice}, "payload": {"thread": f"t{number}"},
        "matter": f"invoice:hillside.example:{number}",
    }  # fmt: skip
    return make_event(short | more, name, ZONE)


def reminder(at: str = "+9d", name: int = 2, **more: Any) -> Event:
    """In the conversation of the bill, without a number of its own."""
    short = {
        "kind": "mail.received", "at": at, "from": "Hillside Energy <care@hillside.example>", "title": "Reminder",
        "facts": {"due": {"on": "+14d", "what": "pay"}}, "matter": "thread:tA-7781", "payload": {"thread": "tA-7781"},
    }  # fmt: skip
    return make_event(short | more, name, ZONE)


def row(at: str = "+13d", amount: str = "-49.90 EUR", name: int = 5, **payload: Any) -> Event:
    payload = {"counterparty": "H E", "merchant": "h-e", "counterparty_iban": IBAN} | payload
    short = {"kind": "bank.posted", "at": at, "amount": amount, "matter": f"bank:{name}", "payload": payload}
    return make_event(short | {"title": "H E"}, name, ZONE)


def withdrawn(player: Player) -> list[tuple[str, str, str]]:
    return [(s.rule, s.reason, s.says) for s in player.signals if isinstance(s, Retraction)]


def test_a_condition_and_a_key_see_the_matter_that_events_share(player: Make) -> None:
    settled = {"unless": {"kind": "bank.posted", "where": "matter == trigger.matter", "within": "60d"}}
    played = player("Europe/Berlin", UNPAID | settled).play([bill(), row("+12d")])
    assert withdrawn(played) == [("unpaid", "unless", "Settled by bank posted: H E.")]
    assert {trigger.key for trigger in played.triggers()} == {"invoice:hillside.example:A-7781"}


def test_a_payment_that_was_seen_before_its_bill_settles_it(player: Make) -> None:
    settled = {"unless": {"kind": "bank.posted", "where": "matter == trigger.matter", "within": "60d", "before": "7d"}}
    played = player("Europe/Berlin", UNPAID | settled).play([row("0d", name=1), bill(at="+1d", name=2)])
    assert played.triggers() == []
    assert [s.explanation.reason for s in played.signals if isinstance(s, Suppression)] == ["unless"]


def test_another_rule_about_the_same_matter_is_inhibited_whatever_its_key(player: Make) -> None:
    rules = (ANY | {"key": "subject"}, REMINDED | {"inhibit": "any"})
    played = player("Europe/Berlin", *rules).play([bill(), reminder()], until=bill(at="+12d").observed_at)
    assert {trigger.rule for trigger in played.triggers()} == {"any"}
    assert "inhibited" in {s.explanation.reason for s in played.signals if isinstance(s, Suppression)}


def test_a_case_that_was_open_before_the_matters_met_goes_on_under_the_common_key(player: Make) -> None:
    played = player("Europe/Berlin", REMINDED).play([reminder("0d", name=1)])
    played.play([bill(at="+1d", name=2)], until=bill(at="+13d").observed_at)
    (trigger,) = played.triggers()
    assert trigger.matter == "invoice:hillside.example:A-7781"
    assert trigger.key.startswith("invoice:hillside.example:A-7781|")
    assert [merge.other for merge in played.merges] == ["thread:tA-7781"]


def test_two_open_cases_of_one_rule_become_the_later_one(player: Make) -> None:
    """An agency names the bill by its number: what the first case said is withdrawn, the second one speaks."""
    agency = bill(at="+10d", name=2, matter="invoice:collecta.example:C-1", payload={"thread": "c"},
                  invoice={"number": "C-1", "due": "+20d"}, **{"from": "Collecta <a@collecta.example>"})  # fmt: skip
    named = agency.model_copy(update={"version": "2", "id": "v2", "title": "It is about A-7781"})
    until = bill(at="+16d").observed_at
    played = player("Europe/Berlin", UNPAID).play([bill(), agency, named], until=until)
    assert withdrawn(played) == [("unpaid", "joined", "Goes on with Bill 2.")]
    assert [trigger.title for trigger in played.standing()] == ["Pay Bill 2"]
    assert {trigger.key for trigger in played.standing()} == {"invoice:hillside.example:A-7781"}


def test_paid_already_closes_what_every_rule_said_about_paying(player: Make) -> None:
    played = player("Europe/Berlin", UNPAID, REMINDED).play([bill(), reminder(), row()])
    assert {trigger.rule for trigger in played.triggers()} == {"unpaid", "reminded"}
    assert {(rule, reason) for rule, reason, _ in withdrawn(played)} == {("unpaid", "paid"), ("reminded", "paid")}
    assert withdrawn(played)[0][2] == "Paid: H E."
    assert played.standing() == []


def test_a_part_of_the_money_or_money_that_came_back_is_not_paid(player: Make) -> None:
    part = row(amount="-20.00 EUR", purpose="Invoice A-7781", counterparty="Hillside Energy")
    back = row("+14d", "49.90 EUR", 6, end_to_end_id="E2E-12345", reversal=True)
    for events in ([part], [row(end_to_end_id="E2E-12345"), back]):
        played = player("Europe/Berlin", UNPAID).play([bill(), *events, reminder("+15d", name=8)])
        newer = bill(at="+16d", name=9, invoice={"due": "+30d"})
        played.play([newer], until=bill(at="+26d").observed_at)
        assert [trigger.title for trigger in played.standing()] == ["Pay Bill 9"]


def test_paid_before_the_first_lead_says_nothing_at_all(player: Make) -> None:
    played = player("Europe/Berlin", UNPAID, REMINDED).play([bill(), row("+2d"), reminder("+3d")])
    played.run_to(bill(at="+20d").observed_at)
    assert played.triggers() == []
    assert {s.explanation.reason for s in played.signals if isinstance(s, Suppression)} == {"paid"}


def test_other_business_of_the_same_matter_is_not_closed_by_a_payment(player: Make) -> None:
    asks = {"id": "asks", "when": {"kind": "mail.received", "where": "has(fact.question)"}, "key": "matter"}
    question = reminder("+2d", facts={"question": True})
    assert withdrawn(player("Europe/Berlin", asks).play([bill(), question, row()])) == []


def test_a_guess_closes_nothing_and_hides_no_deadline(player: Make) -> None:
    """Party, amount and date fit, and the account does not: shown together, and no more."""
    guess = row(counterparty="Hillside Energy", merchant="hillside-energy", counterparty_iban=None)
    settled = {"unless": {"kind": "bank.posted", "where": "matter == trigger.matter", "within": "60d"}}
    played = player("Europe/Berlin", UNPAID | settled).play([bill(), guess])
    assert [merge.explanation.reason for merge in played.merges] == ["similar"]
    assert withdrawn(played) == []
    assert len(played.standing()) == 1
