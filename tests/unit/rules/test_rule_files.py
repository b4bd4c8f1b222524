"""Several rule files: includes stay in their folder, overrides change single settings, mistakes keep their place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from rules.lint import lint
from rules.loader import RuleErrors, load
from rules.ruleset import RuleSet
from schemas.duration import Duration

ZONE = ZoneInfo("Europe/Berlin")


def rule(name: str, more: str = "") -> str:
    return f"""\
  - id: {name}
    title: A charge
    when: {{kind: bank.posted, where: "amount < -100"}}
    propose: {{title: A charge}}
{more}"""


EXAMPLES = """\
    examples:
      fires: [{events: [{kind: bank.posted, amount: -200 EUR}]}]
      silent: [{events: [{kind: bank.posted, amount: -20 EUR}]}]
"""


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def names(rules: RuleSet) -> list[str]:
    return [one.id for one in rules]


def errors(folder: Path) -> list[str]:
    with pytest.raises(RuleErrors) as caught:
        load([folder], zone=ZONE)
    return [str(error).replace(f"{folder}/", "") for error in caught.value.errors]


def test_a_file_includes_others_below_its_folder_each_once(tmp_path: Path) -> None:
    files = {
        "a.yaml": f"include: [b.yaml, 'more/*.yaml', more/deep/d.yaml]\nrules:\n{rule('a')}",
        "b.yaml": f"rules:\n{rule('b')}",
        "more/c.yaml": f"include: ../b.yaml\nrules:\n{rule('c')}",
        "more/deep/d.yaml": f"rules:\n{rule('d')}",
        "more/deep/unused.yaml": f"rules:\n{rule('e')}",
    }
    assert names(load([write(tmp_path, files)], zone=ZONE)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    ("include", "message"),
    [
        ("[b.yaml, c.yml]", "a.yaml:1:19: there is no file 'c.yml'; did you mean 'c.yaml'?"),
        ("gone.yaml", "a.yaml:1:10: there is no file 'gone.yaml'; did you mean 'c.yaml'?"),
        ("'x*.yaml'", "a.yaml:1:10: no file fits 'x*.yaml'; only files that end in .yaml do"),
        ("/etc/passwd", "a.yaml:1:10: '/etc/passwd' is no relative path; say where it is from the folder of this file"),
        ("../out.yaml", "a.yaml:1:10: '../out.yaml' lies outside of the rules folder; copy the file into it"),
        ("link.yaml", "a.yaml:1:10: 'link.yaml' lies outside of the rules folder; copy the file into it"),
        ("'../*.yaml'", "a.yaml:1:10: '../*.yaml' leaves this folder; use '*' only for files in and below this folder"),
        ("back.yaml", "back.yaml:1:10: 'a.yaml' includes this file; break the circle"),
        ("a.yaml", "a.yaml:1:10: 'a.yaml' includes this file; break the circle"),
        ("{b: c}", "a.yaml:1:10: 'include' is a list of file names; write such as [bills.yaml, shared/*.yaml]"),
        ("[3]", "a.yaml:1:10: 'include' is a list of file names; write such as [bills.yaml, shared/*.yaml]"),
    ],
)
def test_an_include_that_cannot_be_followed_is_told_at_its_place(tmp_path: Path, include: str, message: str) -> None:
    folder = tmp_path / "rules"
    (tmp_path / "out.yaml").parent.mkdir(exist_ok=True)
    (tmp_path / "out.yaml").write_text(f"rules:\n{rule('out')}")
    write(folder, {"a.yaml": f"include: {include}\nrules:\n{rule('a')}"})
    write(folder, {"b.yaml": f"rules:\n{rule('b')}", "c.yaml": f"rules:\n{rule('c')}"})
    if "link" in include:
        (folder / "link.yaml").symlink_to(tmp_path / "out.yaml")
    if "back" in include:
        write(folder, {"back.yaml": f"include: a.yaml\nrules:\n{rule('back')}"})
    assert message in errors(folder)


def test_an_override_changes_single_settings_of_a_rule_in_another_file(tmp_path: Path) -> None:
    mine = """\
overrides:
  - {id: big, cooldown: 3d, propose: {urgency: high}, when: {kind: bank.posted, where: "amount < -500"}}
  - {id: small, enabled: false}
"""
    lead = rule("big", "    max_age: 5d\n" + EXAMPLES)
    rules = load([write(tmp_path, {"mine.yaml": mine, "theirs.yaml": f"rules:\n{lead}{rule('small')}"})], zone=ZONE)
    big = rules.by_id["big"].model
    assert (big.cooldown, big.max_age, big.propose.urgency) == (Duration(3), Duration(5), "high")
    assert (big.propose.title, big.when[0].where) == ("A charge", "amount < -500")
    assert not rules.is_on("small")
    assert rules.is_on("big")


def test_null_takes_a_setting_back_to_its_default(tmp_path: Path) -> None:
    files = {"mine.yaml": "overrides: [{id: big, cooldown: null}]", "theirs.yaml": rule("big", "    cooldown: 3d\n")}
    files["theirs.yaml"] = f"rules:\n{files['theirs.yaml']}"
    assert load([write(tmp_path, files)], zone=ZONE).by_id["big"].model.cooldown is None


def test_examples_hold_for_the_rule_as_its_own_file_has_it(tmp_path: Path) -> None:
    theirs = f"rules:\n{rule('big', EXAMPLES)}{rule('small', EXAMPLES)}"
    mine = "overrides: [{id: big, max_age: 1d}, {id: small, enabled: false}]"
    rules = load([write(tmp_path, {"mine.yaml": mine, "theirs.yaml": theirs})], zone=ZONE)
    assert [len(one.model.examples.fires) for one in rules] == [0, 1]
    assert "no_examples" not in {finding.code for finding in lint(rules)}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("{id: bgi, enabled: false}", "mine.yaml:2:10: unknown rule 'bgi'; did you mean 'big'?"),
        ("{enabled: false}", "mine.yaml:2:5: an override names a rule; begin with '- id: some-rule'"),
        ("{id: big, enabeld: false}", "mine.yaml:2:15: unknown key 'enabeld'; did you mean 'enabled'?"),
        ("{id: big, propose: {urgency: hihg}}", "mine.yaml:2:34: unknown urgency 'hihg'; did you mean 'high'?"),
        (
            "{id: big, when: {kind: bank.posted, where: 'amuont < 3'}}",
            "mine.yaml:2:49: unknown field 'amuont'; did you mean 'amount'?",
        ),
        ("{id: big, use: {}}", "mine.yaml:2:15: 'use' cannot be overridden; write a rule of your own, "
         "and switch this one off"),
        ("{id: big, enabled: true}\n  - {id: big, enabled: false}",
         "mine.yaml:3:24: 'enabled' of 'big' is overridden twice; it is also at mine.yaml:2:24; keep one of them"),
    ],
)  # fmt: skip
def test_a_mistake_in_an_override_is_told_where_it_was_made(tmp_path: Path, override: str, message: str) -> None:
    files = {"mine.yaml": f"overrides:\n  - {override}\n", "theirs.yaml": f"rules:\n{rule('big')}"}
    assert errors(write(tmp_path, files)) == [message]


def test_an_override_reaches_what_a_blueprint_made(tmp_path: Path) -> None:
    theirs = """\
blueprints:
  - id: charge
    inputs: {limit: money}
    rule:
      title: A charge
      when: {kind: bank.posted, where: "amount < -$(limit)"}
      propose: {title: A charge}
rules:
  - {id: big, use: {blueprint: charge, inputs: {limit: 50 EUR}}}
"""
    files = {"mine.yaml": "overrides: [{id: big, propose: {urgency: low}}]", "theirs.yaml": theirs}
    big = load([write(tmp_path, files)], zone=ZONE).by_id["big"].model
    assert (big.propose.urgency, big.propose.title) == ("low", "A charge")
