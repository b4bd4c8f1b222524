"""Blueprints: expanded rules are like any other, and every mistake is told at the place where it was made."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.lint import lint
from rules.loader import RuleErrors, load
from rules.ruleset import RuleSet
from rules.schema import json_schema
from rules.testing import Player, make_event, run_examples
from tests.scale import scaled

ZONE = ZoneInfo("Europe/Berlin")
FILE = """\
blueprints:
  - id: big-charge
    inputs:
      shops: list
      limit: {type: money, default: 40 EUR}
      share: {type: number, default: 1.5}
      quiet: {type: duration, default: 2d}
      who: {type: text, default: me}
    rule:
      title: More than $(limit) at once, says $(who)
      when:
        kind: bank.posted
        match: {merchant: $(shops), amount: {below: "-$(limit)"}}
        where: "abs(amount) > $(limit) * $(share) && title != $(who)"
      key: merchant
      cooldown: $(quiet)
      propose: {title: "{{ merchant }} took more than $(limit)"}
      examples:
        fires: [{events: [{kind: bank.posted, amount: "-$(limit)0", payload: {merchant: acme}}]}]
        silent: [{events: [{kind: bank.posted, amount: -1 EUR, payload: {merchant: acme}}]}]
rules:
  - id: acme-charge
    use: {blueprint: big-charge, inputs: {shops: [acme, acme-energy], limit: 50.50 EUR}}
  - id: other-charge
    title: My own title
    use: {blueprint: big-charge, inputs: {shops: [other]}}
    examples: {}
"""
PLAIN = """\
rules:
  - id: acme-charge
    title: More than 50.50 EUR at once, says me
    when:
      kind: bank.posted
      match: {merchant: [acme, acme-energy], amount: {below: -50.5}}
      where: "abs(amount) > 50.5 * 1.5 && title != 'me'"
    key: merchant
    cooldown: 2d
    propose: {title: "{{ merchant }} took more than 50.50 EUR"}
"""


def loaded(text: str, folder: Path) -> RuleSet:
    (folder / "mine.yaml").write_text(text, encoding="utf-8")
    return load([folder / "mine.yaml"], zone=ZONE)


def errors(text: str, folder: Path) -> list[str]:
    with pytest.raises(RuleErrors) as caught:
        loaded(text, folder)
    return [str(error).replace(f"{folder}/mine.yaml:", "") for error in caught.value.errors]


def test_an_expanded_rule_is_the_plain_rule_with_its_revision(tmp_path: Path) -> None:
    acme, other = loaded(FILE.replace('"-$(limit)0"', "-90 EUR"), tmp_path)
    (plain,) = loaded(PLAIN, tmp_path)
    assert acme.revision == plain.revision
    assert acme.model.model_copy(update={"examples": plain.model.examples}) == plain.model
    assert (other.title, other.model.when[0].where) == ("My own title", "abs(amount) > 40.0 * 1.5 && title != 'me'")
    assert (acme.place and acme.place.line, other.place and other.place.line) == (22, 24)


def test_its_examples_are_expanded_too(tmp_path: Path) -> None:
    text = FILE.replace('amount: "-$(limit)0"', "amount: $(paid)").replace(
        "shops: list", "shops: list\n      paid: money"
    )
    text = text.replace("limit: 50.50 EUR}", "limit: 50.50 EUR, paid: -90 EUR}").replace(
        "[other]", "[other], paid: -9 EUR"
    )
    acme, _ = loaded(text, tmp_path)
    assert [result.why for result in run_examples(acme, zone=ZONE)] == ["", ""]
    assert lint(RuleSet([acme], ZONE)) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("shops: [other]", "", "26:42: the blueprint 'big-charge' needs a list 'shops'; write such as [one, two]"),
        ("shops: [other]", "shops: other", "26:50: 'shops' must be a list, not 'other'; write such as [one, two]"),
        ("50.50 EUR}", "much}", "23:78: 'limit' must be an amount of money, not 'much'; write such as '40 EUR'"),
        ("50.50 EUR}", "5}", "23:78: 'limit' must be an amount of money, not 5; write such as '40 EUR'"),
        ("limit: 50.50", "limti: 50.50", "23:71: unknown key 'limti'; did you mean 'limit'?"),
        ("int: big-charge", "int: big-chrage", "23:22: unknown blueprint 'big-chrage'; did you mean 'big-charge'?"),
        ("default: 2d", "default: 2x", "7:40: 'quiet' must be a duration, not '2x'; write such as '5d' or '36h'"),
        ("shops: list", "shops: lst", "4:14: unknown type 'lst'; did you mean 'list'?"),
        ("cooldown: $(quiet)", "cooldown: $(quite)", "16:17: unknown input 'quite'; did you mean 'quiet'?"),
        ("title: More", "titel: More", "10:7: unknown key 'titel'; did you mean 'title'?"),
        ("abs(amount)", "abs(amuont)", "14:16: unknown field 'amuont'; did you mean 'amount'?"),
        ("{{ merchant }}", "{{ merchnat }}", "17:24: unknown field 'merchnat'; did you mean 'merchant'?"),
        ("cooldown: $(quiet)", "cooldown: $(who)", "16:17: not a duration: 'me'; write a number and w, d, h, m or s"),
        ("    rule:\n", "    role:\n", "9:5: unknown key 'role'; did you mean 'rule'?"),
        ("merchant: $(shops)", "merchant: a$(shops)", "13:27: the list 'shops' cannot stand inside a text; let it"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_at_its_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert any(error.startswith(message) for error in errors(FILE.replace(old, new, 1), tmp_path)), errors(
        FILE.replace(old, new, 1), tmp_path
    )


def test_a_wrong_value_is_shown_where_it_was_given(tmp_path: Path) -> None:
    text = FILE.replace("shops: [other]", "shops: [other], quiet: 9000d")
    assert errors(text, tmp_path) == ["26:66: 'quiet' must be a duration, not '9000d'; write such as '5d' or '36h'"]


def test_files_that_expand_without_bound_are_refused(tmp_path: Path) -> None:
    words = ", ".join(["word"] * 8000)
    rules = "\n".join(f"  - id: r{n}\n    use: {{blueprint: b}}" for n in range(60))
    lines = words.replace(", ", ",\n      ")
    text = f"blueprints:\n  - id: b\n    rule:\n      title: [\n      {lines}]\nrules:\n{rules}\n"
    assert any("more than 200,000 values when expanded" in error for error in errors(text, tmp_path))


@settings(max_examples=scaled(60, 2000), deadline=None)
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=40))
def test_a_text_input_is_only_ever_a_value(tmp_path_factory: pytest.TempPathFactory, said: str) -> None:
    quoted = "".join(char if char.isalnum() else f"\\U{ord(char):08x}" for char in said)
    text = (
        "blueprints: [{id: b, inputs: {said: text}, rule: {title: T, propose: {title: x},"
        ' when: {kind: mail.received, where: "title == $(said)"}}}]\n'
        f'rules: [{{id: r, use: {{blueprint: b, inputs: {{said: "{quoted}"}}}}}}]\n'
    )
    folder = tmp_path_factory.mktemp("blueprint", numbered=True)
    if not said.isprintable() or any(mark in said for mark in ("{{", "}}", "$(")):
        assert any("'said' must be a text" in error for error in errors(text, folder))
        return
    rules = loaded(text, folder)
    fired = Player(rules, ZONE).play([make_event({"kind": "mail.received", "title": said}, 0, ZONE)]).triggers()
    silent = Player(rules, ZONE).play([make_event({"kind": "mail.received", "title": said + "x"}, 0, ZONE)]).triggers()
    assert (len(fired), len(silent)) == (1, 0)


def test_the_schema_for_editors_knows_blueprints() -> None:
    schema = json_schema()
    assert {"blueprints", "rules"} <= schema["properties"].keys()
    assert {"Blueprint", "UsedRule"} <= schema["$defs"].keys()
