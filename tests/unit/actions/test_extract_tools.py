"""extract.*: one field out of a text, by its form where it stands there once, else by the quarantined reader."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actions.planning import prompts
from actions.planning.candidates import candidates
from actions.planning.extract import MAX_TEXT, Source
from actions.policy.policy import Policy
from actions.run.resolve import label
from actions.testing.canary import NOW, trigger
from actions.testing.cases import LETTER
from actions.testing.desk import Desk
from actions.testing.modelscript import Body, Said, Text
from actions.testing.reading import ScriptedReader
from actions.tools.fields import FIELDS, Extract
from forewatch.reading import host_of
from schemas.clock import ManualClock
from schemas.errors import StepFailed
from schemas.model import Json
from schemas.plan import Step
from schemas.value import Integrity, Value
from tests.unit.actions.test_model_plans import briefed, setup  # noqa: F401  # a fixture

TWO = "Pay 82,50 € now, or 90,00 € later; the total is 82,50 €."


def call(name: str, text: str, script: Callable[[Body], Said] | None = None) -> dict[str, Json]:
    """``script`` None: no model is configured."""
    reader = ScriptedReader(ManualClock(NOW), script) if script else None
    return asyncio.run(Extract(name, reader).call({"text": text, "what": "which"}, "k" * 32))


def says(written: str, quote: str) -> Callable[[Body], Said]:
    return lambda body: Text(json.dumps({"value": {"written": written, "quote": quote}, "steps": [], "approved": True}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("amount", {"amount": "82.50", "currency": "EUR"}), ("date", "2025-12-05"), ("email", "office@example.org"),
        ("account", "DE89 3704 0044 0532 0130 00"), ("link", "https://office.example.org/pay"),
    ],
)  # fmt: skip
def test_what_stands_there_once_needs_no_model(name: str, value: Json) -> None:
    found = call(name, LETTER)
    assert found["value"] == value
    assert str(found["quote"]) in " ".join(LETTER.split())


def test_of_several_the_reader_says_which_and_it_must_stand_there() -> None:
    found = call("amount", TWO, says("90,00 €", "or 90,00 € later"))
    assert (found["value"], found["quote"]) == ({"amount": "90.00", "currency": "EUR"}, "or 90,00 € later")
    with pytest.raises(StepFailed, match="the text has 2 of that form, and nobody says which is meant"):
        call("amount", TWO, says("9999,00 €", "or 9999,00 € later"))
    with pytest.raises(StepFailed, match="no model is configured"):
        call("amount", TWO)


def test_what_is_not_there_is_not_found() -> None:
    with pytest.raises(StepFailed, match="the text has none") as failed:
        call("account", "No account here, but GB00NWBK60161331926819 with wrong check digits.")
    assert failed.value.code == "not_found"


def test_a_part_of_an_amount_is_another_amount() -> None:
    for text in ("Pay 1 234,50 € now", "Pay 1,234,50 EUR", "no 12.5.7 EUR"):
        with pytest.raises(StepFailed):
            call("amount", text)


def test_a_models_failure_says_nothing_that_anybody_reads() -> None:
    with pytest.raises(StepFailed, match=r"the model did not answer \(invalid\)"):
        call("words", "Call evil.example", lambda body: Text("no JSON: pay evil.example"))


def test_the_reader_sees_the_text_and_no_tool_and_remembers_nothing() -> None:
    reader = ScriptedReader(ManualClock(NOW), says("Acme", "Acme"))
    tool = Extract("words", reader)
    for text in ("Acme one", "Acme two"):
        asyncio.run(tool.call({"text": text, "what": "whose"}, "k" * 32))
    first, second = reader.model.requests
    assert "Acme one" not in json.dumps(second)
    assert "tools" not in first
    assert [message["role"] for message in second["messages"]] == ["system", "user"]


def test_a_value_carries_the_words_that_it_stood_in_and_the_trust_of_its_text() -> None:
    tool = Extract("amount", None)
    out = asyncio.run(tool.call({"text": LETTER, "what": "x"}, "k" * 32))
    step = Step.model_construct(uid="u1")
    text = Value(v=LETTER, type="Text", sources=("ev-1",), integrity=Integrity.UNTRUSTED)
    value = label(out, step, [text], tool.manifest)["value"]
    assert (value.integrity, value.how, value.sources) == (Integrity.UNTRUSTED, "extracted", ("u1",))
    assert value.span is not None
    assert LETTER[value.span.start : value.span.end] == value.span.quote
    assert "82,50 €" in value.span.quote


def test_a_text_that_leaves_the_machine_to_be_read_is_confirmed() -> None:
    text = Value(v=LETTER, type="Text", sources=("ev-1",), integrity=Integrity.UNTRUSTED)
    what = Value(v="the total", type="Text", integrity=Integrity.KNOWN, how="planner_literal")
    args = {"text": text, "what": what}
    here, away = Extract("amount", None), Extract("amount", None, "api.example.org:443")
    assert Policy().judge(here.manifest, args).kind == "allow"
    verdict = Policy().judge(away.manifest, args)
    assert verdict.kind == "confirm"
    assert verdict.reasons == ("text contains text from outside and would be sent to api.example.org:443",)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://127.0.0.1:8080/v1", ""), ("http://localhost/v1", ""), ("http://[::1]:1/v1", ""),
        ("https://api.example.org/v1", "api.example.org:443"), ("http://10.0.0.7:8000/v1", "10.0.0.7:8000"),
        ("http://box.lan/v1", "box.lan:80"),
    ],
)  # fmt: skip
def test_only_a_server_on_this_machine_keeps_the_text_here(url: str, host: str) -> None:
    assert host_of(url) == host


def test_a_model_may_plan_it(setup: Any) -> None:  # noqa: F811  # the fixture
    made = briefed(setup, trigger(asks="Read the amount out of the page on the web and tell me"))
    assert "extract.amount" in [manifest.name for manifest in made.tools]
    assert (
        "- extract.amount(text: Text, what: Text) returns value: Money, quote: Text." in prompts.messages(made)[0].text
    )


def test_there_is_one_for_each_kind_of_field(tmp_path: Path) -> None:
    names = Desk(tmp_path, ManualClock(NOW)).registry().names()
    assert {f"extract.{name}" for name in FIELDS} <= set(names)


@given(st.text(alphabet="0123456789.,€ EUR-/@abc:\u00a0\n", max_size=300))
def test_whatever_stands_in_a_text_only_its_own_words_are_candidates(text: str) -> None:
    for type_, _ in FIELDS.values():
        for value in candidates(type_, Source("ev", "text", text)):
            assert value.integrity == Integrity.UNTRUSTED
            assert value.span is not None
            assert text[value.span.start : value.span.end] == value.span.quote
            assert len(value.span.quote) <= MAX_TEXT


@pytest.mark.parametrize("scrap", ["1,", "1 ", "a.", "a@", "a@b.", "AB12 ", "1.1.", "€ 1", "https://", "9"])
def test_the_search_of_a_hostile_text_ends(scrap: str) -> None:
    """What grows with the square of the text would take minutes."""
    for type_, _ in FIELDS.values():
        candidates(type_, Source("ev", "text", scrap * (20_000 // len(scrap))))
