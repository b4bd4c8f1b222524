from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from schemas import fact, payloads, trigger
from schemas.account import AccountState, CursorState
from schemas.command import Command
from schemas.deadletter import DeadLetter
from schemas.event import Event
from schemas.journal import JournalEntry
from schemas.model import Model
from schemas.money import Money
from schemas.plan import Plan, Step
from schemas.record import PollDue, Record
from schemas.testing import models
from schemas.value import Value


def members(union: Any) -> list[type[Model]]:
    return list(get_args(get_args(union)[0]))


MODELS = [
    Record, PollDue, Event, Money, Value, Plan, Step, Command, JournalEntry, AccountState, CursorState,
    DeadLetter, trigger.Explanation, trigger.Evidence,
    *members(fact.Fact), *members(payloads.Payload), *members(trigger.Signal),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_model_survives_its_json(model: type[Model], data: st.DataObject) -> None:
    original = data.draw(models(model))
    text = original.model_dump_json()
    again = model.model_validate_json(text)
    assert again == original
    assert again.model_dump_json() == text


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_model_takes_an_unknown_field(model: type[Model]) -> None:
    with pytest.raises(ValidationError, match=r"Extra inputs"):
        model.model_validate({"never_heard_of": 1})


@pytest.mark.parametrize("union", [fact.Fact, payloads.Payload, trigger.Signal], ids=["fact", "payload", "signal"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_union_finds_its_member_by_the_tag(union: Any, data: st.DataObject) -> None:
    original = data.draw(st.one_of([models(member) for member in members(union)]))
    assert TypeAdapter(union).validate_json(original.model_dump_json()) == original
