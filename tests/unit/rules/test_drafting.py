"""A drafted rule loads, is warned of by nothing, passes its examples and fires on the event it was made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.drafting import Draft, draft
from rules.lint import lint
from rules.loader import load
from rules.ruleset import RuleSet
from rules.testing import Player, make_event, run_examples
from schemas.errors import ConfigError
from schemas.event import KINDS, Event
from schemas.model import Json
from tests.scale import scaled

ZONE = ZoneInfo("Europe/Berlin")
INVOICE: dict[str, Json] = {
    "kind": "mail.received", "from": "Nora Secret <nora@acme.example>", "title": "Private words",
    "text": "More of them",
    "facts": {"invoice": {"number": "SECRET-1", "amount": "49.90 EUR", "due": "+20d"}},
}  # fmt: skip


def made_from(short: dict[str, Json], **options: Any) -> tuple[Draft, Event]:
    event = make_event(short, 0, ZONE)
    return draft(event, zone=ZONE, **options), event


def loaded(text: str, folder: Path) -> RuleSet:
    (folder / "mine.yaml").write_text(text, encoding="utf-8")
    return load([folder / "mine.yaml"], zone=ZONE)


def holds(made: Draft, event: Event, folder: Path) -> RuleSet:
    rules = loaded(made.text, folder)
    assert [rule.id for rule in rules] == [made.id]
    assert lint(rules) == []
    results = [result for rule in rules for result in run_examples(rule, zone=ZONE)]
    assert len(results) == 2
    assert all(result.passed for result in results)
    player = Player(rules, ZONE).play([event], until=event.observed_at.replace(year=event.observed_at.year + 1))
    assert player.triggers()
    return rules


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("clock.")])
def test_every_kind_of_event_can_be_a_beginning(kind: str, tmp_path: Path) -> None:
    holds(*made_from({"kind": kind, "title": "Something"}), tmp_path)


@pytest.mark.parametrize(
    ("short", "detector"),
    [
        (INVOICE, "deadline"),
        ({"kind": "mail.received", "from": "a@b.example", "facts": {"due": "+9d"}}, "deadline"),
        ({"kind": "mail.received", "from": "someone@elsewhere.example"}, "match"),
        ({"kind": "mail.received", "facts": {"expiry": {"on": "+90d", "category": "document"}}}, "deadline"),
        ({"kind": "mail.received", "from": "a@b.example", "facts": {"due": "-3d"}}, "match"),
        ({"kind": "mail.received", "from": "a@b.example", "facts": {"question": True}}, "match"),
        ({"kind": "mail.received", "facts": {"resolution": "paid"}}, "match"),
        ({"kind": "mail.sent", "to": "a@b.example"}, "match"),
        ({"kind": "mail.received", "from": "a@b.example", "occurred": "-300d"}, "match"),
        ({"kind": "calendar.scheduled", "title": "Dentist, at last!", "starts": "+9d", "ends": "+9d"}, "deadline"),
        ({"kind": "calendar.scheduled", "title": "Dentist", "starts": "-9d", "ends": "-9d"}, "match"),
        ({"kind": "bank.posted", "amount": "-49.90 EUR", "payload": {"merchant": "acme energy"}}, "match"),
        ({"kind": "bank.posted", "amount": "900 JPY", "payload": {"merchant": "true"}}, "match"),
        ({"kind": "bank.balance", "amount": "12.00 EUR"}, "match"),
        ({"kind": "record.ticket", "title": "Broken", "payload": {"status": "open: \"now\""}}, "match"),
    ],
)  # fmt: skip
def test_the_draft_holds_and_has_the_detector_that_fits(short: dict[str, Json], detector: str, tmp_path: Path) -> None:
    made, event = made_from(short)
    (rule,) = holds(made, event, tmp_path)
    assert rule.detector == detector


def test_nothing_private_is_in_it_but_what_the_rule_looks_at() -> None:
    made, _ = made_from(INVOICE)
    assert "acme.example" in made.text
    for private in ("Nora", "nora", "SECRET", "Private", "More", "49.90"):
        assert private not in made.text


def test_the_id_is_made_from_the_event_and_is_not_taken() -> None:
    assert made_from(INVOICE)[0].id == "acme-example-invoice"
    assert made_from(INVOICE, taken=["acme-example-invoice"])[0].id == "acme-example-invoice-2"
    assert made_from(INVOICE, name="my-bill")[0].id == "my-bill"
    with pytest.raises(ConfigError, match="there is a rule 'my-bill' already"):
        made_from(INVOICE, name="my-bill", taken=["my-bill"])
    with pytest.raises(ConfigError, match="has the wrong form"):
        made_from(INVOICE, name="My: Bill")


def test_the_clock_and_what_was_withdrawn_are_refused() -> None:
    with pytest.raises(ConfigError, match="not about the clock"):
        draft(make_event({"kind": "clock.day"}, 0, ZONE).model_copy(update={"source": "clock"}), zone=ZONE)
    with pytest.raises(ConfigError, match="withdrawn"):
        made_from({"kind": "mail.received", "op": "retract"})


@settings(max_examples=scaled(60, 3000), deadline=None)
@given(st.text(max_size=60), st.sampled_from(["bank.posted", "calendar.scheduled", "record.row", "account.silent"]))
def test_whatever_a_source_says_stays_a_value(tmp_path_factory: pytest.TempPathFactory, said: str, kind: str) -> None:
    said = said.encode("utf-8", "ignore").decode()
    payload: Json = {"merchant": said} if kind == "bank.posted" else {"status": said} if kind == "record.row" else {}
    event = make_event({"kind": kind, "title": said, "account": said, "payload": payload}, 0, ZONE)
    try:
        made = draft(event, zone=ZONE)
    except ConfigError:
        return
    holds(made, event, tmp_path_factory.mktemp("draft", numbered=True))
