"""Rule files: every mistake is told at its place with what was meant, and hostile files are refused."""

from __future__ import annotations

from datetime import time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.loader import RuleErrors, load, read
from rules.ruleset import RuleSet
from schemas.document import Place
from schemas.errors import ConfigError, RuleError

ZONE = ZoneInfo("Europe/Berlin")
GOOD = """\
rules:
  - id: big-charge
    title: A big charge
    when: {kind: bank.posted, where: "amount < -100"}
    propose: {title: "{{ merchant }} took {{ amount }}", playbook: review-charge}
"""


def loaded(text: str, folder: Path, **options: object) -> RuleSet:
    path = folder / "bills.yaml"
    path.write_text(text, encoding="utf-8")
    return load([path], zone=ZONE, **options)  # type: ignore[arg-type]  # options as load takes them


def errors(text: str, folder: Path, **options: object) -> list[str]:
    with pytest.raises(RuleErrors) as caught:
        loaded(text, folder, **options)
    return [str(error).replace(f"{folder}/", "") for error in caught.value.errors]


def test_a_good_file_loads(tmp_path: Path) -> None:
    (rule,) = loaded(GOOD, tmp_path)
    assert (rule.id, rule.title, rule.detector, rule.file) == (
        "big-charge", "A big charge", "match", str(tmp_path / "bills.yaml"),
    )  # fmt: skip
    assert rule.place is not None
    assert rule.place.line == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("bank.posted", "bank.psoted", "4:18: unknown kind 'bank.psoted'; did you mean 'bank.posted'?"),
        ("amount <", "amuont <", "4:39: unknown field 'amuont'; did you mean 'amount'?"),
        ("amount <", "title.size() == 3 && amuont <", "4:60: unknown field 'amuont'; did you mean 'amount'?"),
        ("-100", "'a'", "4:39: a money and a string cannot be compared with '<'; write the number without quotes"),
        ("where:", "wher:", "4:31: unknown key 'wher'; did you mean 'where'?"),
        ("title: A", "titel: A", "3:5: unknown key 'titel'; did you mean 'title'?"),
        ("big-charge", "Big_Charge", "2:9: id 'Big_Charge' has the wrong form; use small letters, digits and '-'"),
        ("propose:", "prupose:", "5:5: unknown key 'prupose'; did you mean 'propose'?"),
        ("{{ merchant }}", "{{ merchnat }}", "5:23: unknown field 'merchnat'; did you mean 'merchant'?"),
        ("{{ amount }}", "{{ amount | mony }}", "5:43: unknown filter 'mony'; did you mean 'money'?"),
        ("{{ amount }}", "{{ amount", "5:37: '{{' and '}}' do not match; write {{ path }}"),
        ("review-charge", "reviewcharge", "5:68: unknown playbook 'reviewcharge'; did you mean 'review-charge'?"),
        ("rules:", "rulez:", "1:1: this is no rule file; begin with 'rules:' and a list of rules"),
        ("rules:", "version: 2\nrules:", "1:1: unknown key 'version'; known: blueprints, include, overrides, rules"),
    ],
)
def test_a_typo_is_told_at_its_place_with_what_was_meant(tmp_path: Path, old: str, new: str, message: str) -> None:
    found = errors(GOOD.replace(old, new, 1), tmp_path, playbooks=["review-charge"])
    assert f"bills.yaml:{message}" in found


@pytest.mark.parametrize(
    ("addition", "message"),
    [
        ("deadline: {at: fact.deu, lead: 5d}", "6:20: unknown field 'fact.deu'; did you mean 'fact.due'?"),
        ("deadline: {at: due_at, lead: [5x]}", "6:35: not a duration: '5x'; write a number and w, d, h, m or s"),
        ("deadline: {at: due_at, lead: 5}", "6:34: not a duration: 5"),
        ("deadline: {at: due_at, lead: 99999d}", "6:34: not a duration: '99999d'"),
        ("deadline: {at: due_at, lead: 9999d}", "6:34: too long: '9999d'; the longest duration is 3660d"),
        (
            "deadline: {at: due_at, lead: 5d, on_missed: once}",
            "6:49: unknown on_missed 'once'; did you mean 'fire_once'?",
        ),
        ("deadline: {at: due_at}", "6:15: a deadline is told before its date (lead) or after it (after): give one"),
        ("deadlin: {at: due_at}", "6:5: unknown key 'deadlin'; did you mean 'deadline'?"),
        ("anomaly: {value: -amuont}", "6:23: unknown field 'amuont'; did you mean 'amount'?"),
        ("anomaly: {value: amount, by: [acount]}", "6:35: unknown field 'acount'; did you mean 'account'?"),
        ("absence: {within: 3d}", "6:14: an absence needs either 'of' and 'within', or 'periodic'"),
        ("absence: {within: 3d, of: {kind: mail.snt}}", "6:38: unknown kind 'mail.snt'; did you mean 'mail.sent'?"),
        ("key: [account, merchent]", "6:20: unknown field 'merchent'; did you mean 'merchant'?"),
        ("unless: {kind: bank.removed, where: amount == triger.amount}", "6:51: unknown field 'triger.amount'"),
        ("unless: {kind: bank.removed, within: 1y}", "6:42: not a duration: '1y'"),
        ("enabled: maybe", "6:14: 'enabled' cannot be 'maybe'; write true or false"),
        (
            "conflict: {}\n    deadline: {at: due_at, lead: 1d}",
            "2:5: a rule has one detector, this one has deadline and con",
        ),
    ],
)
def test_a_mistake_in_a_detector_or_modifier_is_told_at_its_place(tmp_path: Path, addition: str, message: str) -> None:
    found = errors(f"{GOOD}    {addition}\n", tmp_path)
    assert any(error.startswith(f"bills.yaml:{message}") for error in found), found


def test_match_is_checked_against_the_schema(tmp_path: Path) -> None:
    text = GOOD.replace(', where: "amount < -100"', ", match: {merchnt: x, amount: {bellow: 3}}")
    assert errors(text, tmp_path) == ["bills.yaml:4:60: unknown key 'bellow'; did you mean 'below'?"]
    text = GOOD.replace(', where: "amount < -100"', ", match: {merchnt: x}")
    assert errors(text, tmp_path) == ["bills.yaml:4:39: unknown field 'merchnt'; did you mean 'merchant'?"]
    text = GOOD.replace(', where: "amount < -100"', ", match: {amount: much}")
    assert errors(text, tmp_path) == [
        "bills.yaml:4:47: amount is a money, 'much' is not; write a number, or bounds such as {below: -40}"
    ]


def test_all_mistakes_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD.replace("amount <", "amuont <").replace("merchant", "merchnat"))
    (tmp_path / "b.yaml").write_text("rules: [")
    (tmp_path / "c.yaml").write_text(GOOD)
    with pytest.raises(RuleErrors) as caught:
        load([tmp_path], zone=ZONE)
    places = [(Path(e.location.file).name, e.location.line) for e in caught.value.errors]
    assert places == [("a.yaml", 4), ("a.yaml", 5), ("b.yaml", 1), ("c.yaml", 2)]


def test_an_id_may_be_used_once_over_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text(GOOD)
    with pytest.raises(RuleErrors, match=r"the rule 'big-charge' is here twice; it is also at .*a\.yaml:2:9"):
        load([tmp_path], zone=ZONE)


def test_a_disabled_rule_is_known_but_not_looked_at(tmp_path: Path) -> None:
    rules = loaded(GOOD, tmp_path, disabled=["big-charge"])
    assert len(rules) == 1
    assert not rules.is_on("big-charge")
    with pytest.raises(ConfigError, match="did you mean 'big-charge'"):
        loaded(GOOD, tmp_path, disabled=["big-chrage"])


def test_yaml_is_version_1_2(tmp_path: Path) -> None:
    data = read("{on: yes, off: 12:30, no: 0o7, n: 1.5, t: true, s: '7', e: , z: ~}", "f").data
    assert data == {"on": "yes", "off": "12:30", "no": "0o7", "n": 1.5, "t": True, "s": "7", "e": None, "z": None}


def test_times_of_day_need_no_quotes(tmp_path: Path) -> None:
    (rule,) = loaded(f"{GOOD}    deadline: {{at: due_at, lead: 1d, time: 07:30}}\n", tmp_path)
    assert rule.model.deadline is not None
    assert rule.model.deadline.time == time(7, 30)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x 1\nb: *x", "f:1:4: anchors and aliases are not allowed in rule files; write the value out"),
        ("a: !!python/object:os.system x", "f:1:4: tags are not allowed in rule files; remove the '!...'"),
        ("a: !x 1", "f:1:4: tags are not allowed in rule files; remove the '!...'"),
        ("a: 1\nb: 2\na: 3", "f:3:1: the key 'a' is here twice; keep one of them"),
        ("a: 1\n---\nb: 2", "f:2:1: a rule file holds one document; remove the second '---'"),
        ("a:\n\t- b", "f:2:1: not YAML: found character '\\t' that cannot start any token; indent with spaces"),
        ("a: [1, 2", "f:1:9: not YAML: expected ',' or ']', but got '<stream end>'"),
        ("? [1]\n: 2", "f:1:3: a key must be a word; put a text that begins with '{' in quotes"),
        ("[" * 4000 + "]" * 4000, "f:1:17: nested deeper than 16 levels; flatten it"),
        ("- " * 3000 + "a", "f:1:33: nested deeper than 16 levels; flatten it"),
        ("a: \x00", "f:1:1: not YAML: unacceptable character #x0000: special characters are not allowed"),
        ("- 1\n" * 60_000, "f:50000:3: more than 50,000 values in one file; split it"),
        ("a: 1\n" + "!" * 10_001, "f:2:10000: a line longer than 10,000 characters; break it"),
    ],
)
def test_a_hostile_file_is_refused_with_its_reason(text: str, message: str) -> None:
    with pytest.raises(RuleError) as caught:
        read(text, "f")
    assert str(caught.value) == message


def test_a_file_that_cannot_be_read_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"rules: [\xe9]")
    (tmp_path / "big.yaml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(RuleErrors) as caught:
        load([tmp_path, tmp_path / "none.yaml"], zone=ZONE)
    assert [error.message for error in caught.value.errors] == [
        "larger than 1,000,000 bytes", "not UTF-8", "cannot read the file: No such file or directory",
    ]  # fmt: skip


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("abc :#'\"", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@settings(max_examples=150, deadline=None)
@given(plain)
def test_what_is_written_is_read_back_with_a_place_for_every_value(data: object) -> None:
    import json

    document = read(json.dumps(data), "f")
    assert document.data == data
    assert document.places[()] == Place(1, 1, document.places[()].inset)


@settings(max_examples=150, deadline=None)
@given(st.text("ab:-[]{}&*!|>'\"#%@ \n\t,?~", max_size=60))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        line = max((place.line for place in read(text, "f").places.values()), default=1)
    except RuleError as error:
        line = error.location.line
    assert 1 <= line <= text.count("\n") + 1


def test_a_rule_that_names_an_unknown_rule_is_told_over_all_files(tmp_path: Path) -> None:
    text = GOOD + "    inhibit: [big-chrage]\n"
    assert errors(text, tmp_path) == ["bills.yaml:6:15: unknown rule 'big-chrage'; did you mean 'big-charge'?"]
    other = tmp_path / "other.yaml"
    other.write_text(GOOD.replace("big-charge", "second") + "    inhibit: big-charge\n", encoding="utf-8")
    (tmp_path / "bills.yaml").write_text(GOOD, encoding="utf-8")
    assert load([other, tmp_path / "bills.yaml"], zone=ZONE).depths == {"big-charge": 0, "second": 1}


def test_keys_of_modifiers_are_offered_by_their_names(tmp_path: Path) -> None:
    assert errors(GOOD + "    fro: 2h\n", tmp_path) == ["bills.yaml:6:5: unknown key 'fro'; did you mean 'for'?"]
    assert errors(GOOD + "    schedule: {quite: {}}\n", tmp_path)[-1].endswith("did you mean 'quiet'?")
    assert "no hours: '9-5'" in errors(GOOD + "    schedule: {quiet: {hours: 9-5}}\n", tmp_path)[0]
