"""The index finds exactly the conditions that a look at each one would find, for every model of events."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import index as indexing
from rules.access import access, required_facts
from rules.fields import EventFields, first_facts, main_party, payload_of, scope
from rules.index import Index
from rules.language import CheckedCondition, ConditionError, check_condition
from rules.reading import Reader
from rules.testing import make_event
from rules.words import WordSet
from schemas.event import Event, Party
from schemas.model import Json
from schemas.rule import Condition

ZONE = ZoneInfo("Europe/Berlin")

merchants = st.sampled_from(["acme", "market", "kiosk", ""])
amounts = st.sampled_from([-500, -40, -39, 0, 40])
bounds = st.sampled_from([-500, -40, -39.5, -39, 0, 40])
categories = st.sampled_from(["document", "trial", "contract"])
titles = st.sampled_from(
    ["Invoice for March", "your invoice", "Flight to Oslo", "gym membership ends", "", "Invoice, INVOICE: gym"]
)

matches: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "title": st.builds(
            lambda words: {"words": words},
            st.lists(st.sampled_from(["invoice", "FLIGHT", "gym membership", "oslo", "march"]), min_size=1, max_size=3),
        )
        | titles,
        "account": st.sampled_from(["a", "b", ["a", "b"]]),
        "amount": st.sampled_from([40, {"above": -40, "at_most": 0}])
        | st.builds(lambda op, bound: {op: bound}, st.sampled_from(["below", "at_most", "above", "at_least"]), bounds),
    },
)
bank_matches = st.builds(
    lambda match, merchant: {**match, **merchant},
    matches,
    st.fixed_dictionaries(
        {}, optional={"merchant": merchants.map(lambda m: m) | st.lists(merchants, min_size=1, max_size=2)}
    ),
)
bank_wheres = st.sampled_from(
    ["", "amount < 0", "payload.merchant == 'acme' || amount == 40", "size(payload.merchant) > 4 && !payload.reversal",
     "amount < 0 && payload.merchant in ['kiosk', 'market']", "amount > 0 && title.contains('o')", "-500 >= amount",
     "amount != payload.original", "amount <= payload.original", "payload.original == amount && payload.reversal",
     "payload.merchant == 'acme' && payload.original < amount && amount < 40"]
)  # fmt: skip
mail_wheres = st.sampled_from(
    ["", "has(fact.expiry)", "fact.expiry.category == 'trial'", "fact.expiry.category in ['document', 'trial']",
     "fact.due > observed_at", "!(has(fact.due))", "has(fact.due) || has(fact.expiry)", "fact.due.what == 'return'",
     "payload.bulk == false && has(fact.expiry) && fact.expiry > observed_at"]
)  # fmt: skip
originals = st.builds(
    lambda amount, currency: {"amount": f"{amount}.00", "currency": currency}, amounts, st.sampled_from(["EUR", "USD"])
)
conditions = st.builds(
    lambda match, where: Condition(kind=("bank.posted",), match=match, where=where), bank_matches, bank_wheres
) | st.builds(
    lambda match, where, kinds: Condition(kind=kinds, match=match, where=where),
    matches,
    mail_wheres,
    st.sampled_from([("mail.received",), ("mail.received", "bank.posted")]),
)

shorts: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries(
    {"kind": st.just("bank.posted"), "account": st.sampled_from("abc"), "title": titles},
    optional={
        "amount": amounts.map(lambda a: f"{a}.00 EUR"),
        "payload": st.fixed_dictionaries(
            {"merchant": merchants, "reversal": st.booleans()}, optional={"original": originals}
        ),
    },
) | st.fixed_dictionaries(
    {"kind": st.just("mail.received"), "account": st.sampled_from("abc"), "title": titles},
    optional={
        "amount": amounts.map(lambda a: f"{a}.00 EUR"),
        "payload": st.fixed_dictionaries({"bulk": st.booleans()}),
        "facts": st.fixed_dictionaries(
            {},
            optional={
                "expiry": st.fixed_dictionaries({"on": st.sampled_from(["-3d", "+3d"]), "category": categories}),
                "due": st.fixed_dictionaries(
                    {"on": st.sampled_from(["-3d", "+3d"]), "what": st.sampled_from(["pay", "return"])}
                ),
            },
        ),
    },
)


def one_by_one(checked: list[CheckedCondition], event: Any) -> list[int]:
    """The obvious way: every conjunct of every condition by itself."""
    reader = Reader(ZONE)
    return [
        number
        for number, condition in enumerate(checked)
        if event.kind in condition.kinds
        and all(reader.holds(conjunct, event, {}) is True for conjunct in condition.of(event.kind))
    ]


@settings(max_examples=150, deadline=None)
@given(st.lists(conditions, min_size=1, max_size=12), st.lists(shorts, min_size=1, max_size=6))
def test_the_index_finds_what_a_look_at_each_condition_finds(
    given_conditions: list[Condition], given_shorts: list[dict[str, Json]]
) -> None:
    checked = [check_condition(condition, ZONE) for condition in given_conditions]
    index = Index(enumerate(checked), ZONE)
    for number, short in enumerate(given_shorts):
        event = make_event(short, number, ZONE)
        assert index.match(event) == one_by_one(checked, event), (given_conditions, short)


@pytest.mark.parametrize(
    "match", [{}, {"title": "x"}, {"title": {"words": ["x"]}}, {"merchant": ["acme", "acme"]}, {"amount": {"below": 0}}]
)
def test_a_kind_that_is_written_twice_finds_a_condition_once(match: dict[str, Any]) -> None:
    condition = check_condition(Condition(kind=("bank.posted", "bank.posted"), match=match), ZONE)
    short: dict[str, Json] = {"title": "x", "amount": "-1.00 EUR", "payload": {"merchant": "acme"}}
    assert Index([(7, condition)], ZONE).match(make_event({"kind": "bank.posted", **short}, 0, ZONE)) == [7]


@pytest.mark.parametrize("name", ["below", "at_most", "above", "at_least"])
def test_an_amount_meets_exactly_the_bounds_that_it_satisfies(name: str) -> None:
    bounds_ = [-40.01, -40, -40, -39.99, 0, 12]
    checked = [check_condition(Condition(kind=("bank.posted",), match={"amount": {name: b}}), ZONE) for b in bounds_]
    index = Index(enumerate(checked), ZONE)
    for number, amount in enumerate(["-41.00", "-40.01", "-40.00", "-39.995", "0.00", "12.00", "13.00"]):
        event = make_event({"kind": "bank.posted", "amount": f"{amount} EUR"}, number, ZONE)
        assert index.match(event) == one_by_one(checked, event), amount


@pytest.mark.parametrize(
    ("kind", "roles", "wanted"),
    [
        ("mail.received", ["from", "to"], "from"),
        ("mail.received", ["cc", "to", "from"], "from"),
        ("mail.received", ["cc", "to"], "to"),
        ("mail.sent", ["from", "cc", "to"], "to"),
        ("mail.sent", ["from"], "from"),
        ("calendar.scheduled", ["attendee", "organizer"], "organizer"),
        ("bank.posted", ["payer", "payee"], "payer"),
        ("bank.posted", [], None),
    ],
)
def test_whom_an_event_is_with(kind: str, roles: list[Any], wanted: str | None) -> None:
    parties = tuple(Party(role=role, name=role) for role in roles)
    event = make_event({"kind": kind}, 0, ZONE).model_copy(update={"parties": parties})
    assert main_party(event).name == wanted


class _Money(msgspec.Struct):
    amount: Any
    currency: str


class _Bank(msgspec.Struct, tag_field="type", tag="bank"):
    merchant: str = ""
    reversal: bool = False
    original: _Money | None = None
    type = "bank"


class _Twin(msgspec.Struct):
    """Another model of an event with the same attributes, as the hot path decodes it."""

    id: str
    kind: str
    account: str
    title: str
    amount: _Money | None
    payload: _Bank | None
    observed_at: Any
    facts: tuple[Any, ...] = ()
    parties: tuple[Any, ...] = ()


@settings(max_examples=60, deadline=None)
@given(st.lists(conditions, min_size=1, max_size=8), shorts.filter(lambda short: short["kind"] == "bank.posted"))
def test_events_of_another_model_match_alike(given_conditions: list[Condition], short: dict[str, Json]) -> None:
    event = make_event(short, 0, ZONE)
    checked = [check_condition(condition, ZONE) for condition in given_conditions]
    index = Index(enumerate(checked), ZONE)
    assert index.match(_twin(event)) == index.match(event)


def _twin(event: Event) -> _Twin:
    payload: Any = event.payload
    return _Twin(
        event.id,
        event.kind,
        event.account,
        event.title,
        _money(event.amount),
        _Bank(payload.merchant, payload.reversal, _money(payload.original)) if payload else None,
        event.observed_at,
    )


def _money(value: Any) -> _Money | None:
    return _Money(value.amount, value.currency) if value else None


def test_a_thousand_rules_on_other_merchants_are_not_looked_at() -> None:
    seen: list[str] = []

    class Watched(str):
        def lower(self) -> str:
            seen.append(self)
            return super().lower()

    conditions_ = [
        Condition(kind=("bank.posted",), match={"merchant": f"m{number}"}, where="title.lower() == 'x'")
        for number in range(1000)
    ]
    index = Index(enumerate(check_condition(condition, ZONE) for condition in conditions_), ZONE)
    event = make_event({"kind": "bank.posted", "payload": {"merchant": "m7"}}, 0, ZONE)
    twin = _twin(event)
    twin.title = Watched("X")
    assert index.match(twin) == [7]
    assert len(seen) == 1


def test_a_condition_without_its_fact_is_not_looked_at() -> None:
    condition = check_condition(Condition(kind=("mail.received",), where="fact.invoice.amount > 0"), ZONE)
    (conjunct,) = condition.of("mail.received")
    assert required_facts(conjunct.expr) == {"invoice"}
    assert {way.how for way in access(conjunct)} == {">", "fact"}


def test_words_are_whole_words_in_any_case_and_phrases_keep_their_order() -> None:
    words = WordSet(["Gym Membership", "flug"])
    assert [words.found(text) for text in ("Your GYM\nmembership ends", "Flug: Oslo")] == [True, True]
    assert [words.found(text) for text in ("membership of a gym", "Flughafen", "")] == [False, False, False]


def test_the_index_cuts_words_at_all_that_is_no_part_of_one_in_ascii_and_beyond() -> None:
    asked = ["flug", "nr", "7", "7_a", "flüge", "lug"]
    given_ = [Condition(kind=("bank.posted",), match={"title": {"words": [word]}}) for word in asked]
    index = Index(enumerate(check_condition(condition, ZONE) for condition in given_), ZONE)
    found = [
        [asked[number] for number in index.match(make_event({"kind": "bank.posted", "title": title}, 0, ZONE))]
        for title in ("Flug-Nr. 7, Flüge", "FLUG-Nr. 7_a!", "Flugzeug")
    ]
    assert found == [["flug", "nr", "7", "flüge"], ["flug", "nr", "7_a"], []]


def test_a_condition_on_a_case_is_tested_with_the_values_of_the_case() -> None:
    condition = Condition(kind=("bank.posted",), where="amount < 0 && amount == -trigger.fact.invoice.amount")
    checked = check_condition(condition, ZONE, ["mail.received"])
    event = make_event({"kind": "bank.posted", "amount": "-40.00 EUR"}, 0, ZONE)
    assert Index([(0, checked)], ZONE).match(event) == [0]
    test = indexing.tester((c for c in checked.of("bank.posted") if c.on_case), scope(ZONE))
    paid = make_event({"kind": "mail.received", "facts": {"invoice": {"amount": "40.00 EUR"}}}, 1, ZONE)
    values = {"fact.invoice.amount": first_facts(paid)["invoice"].amount}
    assert test(event, payload_of(event), {}, values) is True
    assert test(event, payload_of(event), {}, {}) is False


def test_the_fields_of_a_rule_are_those_of_its_kinds() -> None:
    fields = EventFields(["mail.received", "bank.posted"])
    assert fields.field("payload.merchant") is not None
    assert EventFields(["mail.received"]).field("payload.merchant") is None


@pytest.mark.parametrize(
    ("match", "short", "found"),
    [
        ({"due_at": {"below": "2026-04-01"}}, {"due": "2026-03-31 23:59"}, True),
        ({"due_at": {"below": "2026-04-01"}}, {"due": "2026-04-01 00:00"}, False),
        ({"due_at": {"at_least": "2026-04-01T10:00:00+02:00"}}, {"due": "2026-04-01 10:00"}, True),
        ({"due_at": {"at_least": "2026-04-01T10:00:00"}}, {"due": "2026-04-01 09:59"}, False),
        ({"due_at": {"below": "2026-04-01"}}, {}, False),
        ({"fact.due": "2026-04-01"}, {"facts": {"due": "2026-04-01"}}, True),
        ({"payload.bulk": True}, {"payload": {"bulk": True}}, True),
        ({"payload.bulk": False}, {"payload": {"bulk": True}}, False),
        ({"payload.flags": "answered"}, {"payload": {"flags": ["seen", "answered"]}}, True),
        ({"payload.flags": ["draft", "answered"]}, {"payload": {"flags": ["answered"]}}, True),
        ({"payload.flags": ["draft", "deleted"]}, {"payload": {"flags": ["answered"]}}, False),
        (
            {"fact.invitation.sequence": [1, 2]},
            {"facts": {"invitation": {"method": "REQUEST", "uid": "u", "sequence": 2}}},
            True,
        ),
        ({"amount": [5, 7.5]}, {"amount": "7.50 EUR"}, True),
        ({"fact.due.certainty": {"above": 0.95}}, {"facts": {"due": "2026-04-01"}}, False),
    ],
)
def test_every_type_of_field_can_be_matched(match: dict[str, Any], short: dict[str, Json], found: bool) -> None:
    checked = check_condition(Condition.model_validate({"kind": "mail.received", "match": match}), ZONE)
    event = make_event({"kind": "mail.received"} | short, 0, ZONE)
    assert Index([(0, checked)], ZONE).match(event) == ([0] if found else [])


@pytest.mark.parametrize(
    ("match", "message"),
    [
        ({"due_at": {"below": "soon"}}, "not a date: 'soon'"),
        ({"due_at": {"below": 7}}, "due_at is a timestamp, 7 is not"),
        ({"payload.bulk": "yes"}, "payload.bulk is a bool, 'yes' is not"),
        ({"amount": True}, "amount is a money, True is not"),
        ({"fact.expiry.category": "trail"}, "fact.expiry.category is never 'trail'"),
        ({"amount": {"words": ["a"]}}, "amount is no text"),
        ({"title": []}, "an empty list never matches"),
    ],
)
def test_a_value_that_the_field_can_never_have_is_refused(match: dict[str, Any], message: str) -> None:
    with pytest.raises(ConditionError) as caught:
        check_condition(Condition.model_validate({"kind": "mail.received", "match": match}), ZONE)
    assert caught.value.message == message
