"""What people typically write wrong: each is told at its place, with what to write instead."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from rules.loader import RuleErrors, load

GOOD = """\
rules:
  - id: big-charge
    title: A big charge
    when: {kind: bank.posted, where: "amount < -100"}
    propose: {title: "{{ merchant }} took {{ amount }}"}
"""
TITLE = '{title: "{{ merchant }} took {{ amount }}"}'
WHERE = 'where: "amount < -100"'
END = "    propose"


def more(line: str) -> tuple[str, str]:
    return END, f"    {line}\n{END}"


MISTAKES = [
    (("    title", "\ttitle"), "3:1: not YAML: found character '\\t' that cannot start any token; indent with spaces"),
    (("rules:\n", "rule:\n"), "1:1: this is no rule file; begin with 'rules:' and a list of rules"),
    (("id: big-charge", "id: Big Charge"),
     "2:9: id 'Big Charge' has the wrong form; use small letters, digits and '-'"),
    (("id: big-charge", "name: big-charge"), "2:5: unknown key 'name'; here it is 'id'"),
    (("when:", "if:"), "4:5: unknown key 'if'; here it is 'when'"),
    (("when:", "trigger:"), "4:5: unknown key 'trigger'; here it is 'when'"),
    (("propose:", "action:"), "5:5: unknown key 'action'; here it is 'propose'"),
    (more("realert: 1d"), "5:5: unknown key 'realert'; here it is 'cooldown'"),
    (("title: A", "alias: A"), "3:5: unknown key 'alias'; here it is 'title'"),
    (("bank.posted", "bank.post"), "4:18: unknown kind 'bank.post'; did you mean 'bank.posted'?"),
    (("bank.posted", "transaction"),
     "4:18: unknown kind 'transaction'; such as mail.received, bank.posted or calendar.scheduled"),
    (("{kind: bank.posted, where", "{where"), "4:11: 'kind' is missing; add it"),
    (("-100", "-100 EUR"), "4:53: unexpected 'EUR'; an amount is compared with a number: leave the currency out"),
    (("amount <", "amount ="), "4:46: unexpected '='; use '=='"),
    (("-100", "-100 and bulk"), "4:53: unexpected 'and'; write '&&'"),
    (("-100", "-100 OR bulk"), "4:53: unexpected 'OR'; write '||'"),
    (("amount < -100", "not (amount < 3)"), "4:39: unknown function 'not'; write '!' before it"),
    (("-100", "'-100'"), "4:39: a money and a string cannot be compared with '<'; write the number without quotes"),
    (("amount <", "merchnt <"), "4:39: unknown field 'merchnt'; did you mean 'merchant'?"),
    (("amount < -100", "title == invoice"), "4:48: unknown field 'invoice'; did you mean 'fact.invoice'?"),
    (("-100", "-100 &&"), "4:55: the expression ends too early"),
    (("amount <", "fact.due.amount <"), "4:39: unknown field 'fact.due.amount'; did you mean 'fact.due.on'?"),
    ((WHERE, "match: {merchant: {word: x}}"), "4:50: unknown key 'word'; did you mean 'words'?"),
    ((WHERE, "match: {amount: -100 EUR}"),
     "4:47: amount is a money, '-100 EUR' is not; write a number, or bounds such as {below: -40}"),
    ((WHERE, "match: {amount: {lower: 3}}"), "4:48: unknown key 'lower'; did you mean 'below'?"),
    ((WHERE, "match: {merchnat: x}"), "4:39: unknown field 'merchnat'; did you mean 'merchant'?"),
    (more("for: 2 hours"),
     "5:10: not a duration: '2 hours'; write a number and w, d, h, m or s, such as '5d' or '1d12h'"),
    (more("deadline: {at: due_at, lead: 5}"),
     "5:34: not a duration: 5; write a number and w, d, h, m or s, such as '5d'"),
    (more("count: {over: 1 week, at_least: 3}"),
     "5:19: not a window: '1 week'; write such as '7d', 'every 6h', 'day', 'week', 'month' or 'session 30m'"),
    (more("count: {over: 1w}"), "5:12: a count needs a bound; add one of at_least, above, below, at_most"),
    (more("count: {at_least: 3}"), "5:12: 'over' is missing; add it"),
    (more("count: {over: day, at_least: three}"), "5:34: 'at_least' cannot be 'three'; write a whole number"),
    (more("threshold: {value: amount}"), "5:16: a threshold needs either 'above' or 'below'; give one of them"),
    (more("key: merchnat"), "5:10: unknown field 'merchnat'; did you mean 'merchant'?"),
    (more("schedule: {quiet: 22:00-07:00}"), "5:23: 'quiet' cannot be '22:00-07:00'; write a list, such as [...]"),
    (more("schedule: {quiet: {hours: 22-7}}"), "5:31: no hours: '22-7'; write such as '22:00-07:00' or '00:00-24:00'"),
    (more("schedule: {quiet: {days: [saturday]}}"),
     "5:31: unknown days 'saturday'; known: fri, mon, sat, sun, thu, tue, wed"),
    (more("enabled: maybe"), "5:14: 'enabled' cannot be 'maybe'; write true or false"),
    (more("unless: {kind: bank.posted, where: 'amount == triger.amount'}"),
     "5:51: unknown field 'triger.amount'; did you mean 'trigger.amount'?"),
    (more("inhibit: bigcharge"), "5:14: unknown rule 'bigcharge'; did you mean 'big-charge'?"),
    (more("new_value: {}"), "5:16: 'value' is missing; add it"),
    (more("examples: {fire: []}"), "5:16: unknown key 'fire'; did you mean 'fires'?"),
    ((TITLE, "x"), "5:14: 'propose' cannot be 'x'; write a mapping, such as {key: value}"),
    ((TITLE, "{urgency: hgih, title: x}"), "5:24: unknown urgency 'hgih'; did you mean 'high'?"),
    ((TITLE, "{title: {{ merchant }}}"), "5:23: a key must be a word; put a text that begins with '{' in quotes"),
    (("{{ amount }}", "{{ amount | upper }}"),
     "5:43: unknown filter 'upper'; known: abs, date, day, lower, money, time, truncate"),
    ((f"    propose: {TITLE}\n", ""), "2:5: 'propose' is missing; add it"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"), MISTAKES, ids=lambda value: value[1].strip()[:40] if len(value) == 2 else ""
)
def test_a_typical_mistake_is_told_with_what_to_write(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    assert change[0] in GOOD
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace(*change, 1), encoding="utf-8")
    with pytest.raises(RuleErrors) as caught:
        load([path], zone=ZoneInfo("Europe/Berlin"))
    assert message in [str(error).removeprefix(f"{path}:") for error in caught.value.errors]
