"""What our matcher is measured against: each contender is made from the specs and finds the numbers of those that hold.

All but ours get flat dicts. ``Matcher``: a batch of events to the numbers of the rules that each satisfies, ascending.
"""

from __future__ import annotations

import itertools
import json
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from benchmarks.rule_specs import BANK, CALENDAR, MAIL, SHARES, ZONE, Spec
from rules.index import Index
from rules.language import check_condition
from rules.words import FOLD

Matcher = Callable[[Sequence[Any]], list[list[int]]]


def ours(specs: Sequence[Spec]) -> Matcher:
    match = Index(enumerate(check_condition(spec.condition(), ZONE) for spec in specs), ZONE).match
    return lambda batch: [match(event) for event in batch]


def look_up(specs: Sequence[Spec]) -> Matcher:
    """The floor: a dict look-up finds the rules on an event's kind and on whom it is with, and tests nothing. No
    matcher."""
    banks, mails, meetings = (_numbers_by_who(specs, kind).get for kind in (BANK, MAIL, CALENDAR))

    def find(event: Any) -> list[int]:
        if event.kind == BANK:
            return banks(event.payload.merchant) or []
        if event.kind == MAIL:
            return mails(event.parties[0].domain) or []
        return meetings(event.payload.organizer) or []

    return lambda batch: [find(event) for event in batch]


def _numbers_by_who(specs: Sequence[Spec], kind: str) -> dict[str, list[int]]:
    table: dict[str, list[int]] = {}
    for number, spec in enumerate(specs):
        if spec.kind == kind and spec.who:
            table.setdefault(spec.who, []).append(number)
    return table


def all_look_ups(specs: Sequence[Spec]) -> Matcher:
    """The look-ups that a right answer takes, on our events, and nothing else: the kind and whom it is with, of a mail
    each word of its title, of a row of the bank the farthest bound. No rule that was found is tested. No matcher."""
    banks, mails, meetings = (_numbers_by_who(specs, kind).get for kind in (BANK, MAIL, CALENDAR))
    words = {spec.word.encode() for spec in specs if spec.word}
    farthest = -Decimal(min((spec.above for spec in specs if not spec.who and not spec.word), default=0))

    def find(event: Any) -> list[int]:
        if event.kind == BANK:
            found = banks(event.payload.merchant) or []
            return [*found, 0] if event.amount.amount < farthest else found
        if event.kind == MAIL:
            found = mails(event.parties[0].domain) or []
            return found if words.isdisjoint(event.title.encode().translate(FOLD).split()) else [*found, 0]
        return meetings(event.payload.organizer) or []

    return lambda batch: [find(event) for event in batch]


def by_hand(specs: Sequence[Spec]) -> Matcher:
    """Tables and bisection written for these very rules, on flat dicts: the least that a right answer takes."""
    by_who: dict[tuple[str, str], list[tuple[int, int]]] = {}
    words: dict[str, int] = {}
    bounds = sorted((spec.above, number) for number, spec in enumerate(specs) if not spec.who and not spec.word)
    for number, spec in enumerate(specs):
        if spec.who:
            by_who.setdefault((spec.kind, spec.who), []).append((spec.above, number))
        elif spec.word:
            words[spec.word] = number
    limits = [above for above, _ in bounds]

    def match(event: Mapping[str, Any]) -> list[int]:
        kind, amount = event["kind"], event["number"]
        found = [number for above, number in by_who.get((kind, event["who"]), ()) if amount > above]
        if kind == MAIL:
            found += [words[word] for word in event["words"] if word in words]
        elif kind == BANK:
            found += [number for _, number in bounds[: bisect_left(limits, amount)]]
        return sorted(found)

    return lambda batch: [match(event) for event in batch]


def lambdas(specs: Sequence[Spec]) -> Matcher:
    tests = [eval(f"lambda kind, who, number, words: {spec.text('and')}") for spec in specs]
    return lambda batch: [[n for n, test in enumerate(tests) if test(**event)] for event in batch]


def one_function(specs: Sequence[Spec]) -> Matcher:
    """One generated function for all rules of a kind."""
    tests = {kind: _function([(n, s) for n, s in enumerate(specs) if s.kind == kind]) for kind in SHARES}
    return lambda batch: [tests[event["kind"]](**event) for event in batch]


def _function(specs: Sequence[tuple[int, Spec]]) -> Callable[..., list[int]]:
    lines = [f"  if {spec.rest('and')}: add({number})" for number, spec in specs]
    source = "def match(kind, who, number, words):\n  found = []\n  add = found.append\n"
    namespace: dict[str, Any] = {}
    exec(source + "\n".join(lines) + "\n  return found", namespace)
    made: Callable[..., list[int]] = namespace["match"]
    return made


def polars_join(specs: Sequence[Spec]) -> Matcher:
    """Rules as tables, a batch of events as a table, joined on whom it is with, on words, on bounds."""
    import polars as pl

    numbered = list(enumerate(specs))
    by_who = pl.DataFrame(
        [(n, s.kind, s.who, float(s.above)) for n, s in numbered if s.who],
        schema={"rule": pl.Int64, "kind": pl.String, "who": pl.String, "above": pl.Float64},
        orient="row",
    )
    by_word = pl.DataFrame(
        [(n, s.kind, s.word) for n, s in numbered if s.word],
        schema={"rule": pl.Int64, "kind": pl.String, "words": pl.String},
        orient="row",
    )
    by_bound = pl.DataFrame(
        [(n, s.kind, float(s.above)) for n, s in numbered if not s.word and not s.who],
        schema={"rule": pl.Int64, "kind": pl.String, "above": pl.Float64},
        orient="row",
    )
    lowest = by_bound["above"].min()

    def match(batch: Sequence[Any]) -> list[list[int]]:
        events = pl.DataFrame(
            {name: [event[name] for event in batch] for name in ("kind", "who", "number", "words")}
        ).with_row_index("event")
        pairs = [
            events.join(by_who, on=("kind", "who")).filter(pl.col("number") > pl.col("above")),
            events.filter(pl.col("kind") == MAIL).explode("words").join(by_word, on=("kind", "words")),
            events.filter((pl.col("kind") == BANK) & (pl.col("number") > lowest)).join(by_bound, on="kind").filter(
                pl.col("number") > pl.col("above")
            ),
        ]  # fmt: skip
        found: list[list[int]] = [[] for _ in batch]
        for event, rule in pl.concat([pair.select("event", "rule") for pair in pairs]).sort("event", "rule").rows():
            found[event].append(rule)
        return found

    return match


def rust_cel(specs: Sequence[Spec]) -> Matcher:
    """The context is built once for each event: passing the dict to every expression is far slower."""
    import cel

    programs = [cel.compile(spec.text("&&", number="{}.0")) for spec in specs]

    def match(event: Mapping[str, Any]) -> list[int]:
        context = cel.Context(variables=dict(event))
        return [number for number, program in enumerate(programs) if program.execute(context)]

    return lambda batch: [match(event) for event in batch]


def python_cel(specs: Sequence[Spec]) -> Matcher:
    import celpy

    environment = celpy.Environment()
    programs = [environment.program(environment.compile(spec.text("&&", number="{}.0"))) for spec in specs]

    def match(event: Mapping[str, Any]) -> list[int]:
        context: Any = celpy.json_to_cel(dict(event))
        return [number for number, program in enumerate(programs) if program.evaluate(context)]

    return lambda batch: [match(event) for event in batch]


def rule_engine(specs: Sequence[Spec]) -> Matcher:
    import rule_engine

    compiled = [rule_engine.Rule(spec.text("and")) for spec in specs]
    return lambda batch: [[n for n, rule in enumerate(compiled) if rule.matches(event)] for event in batch]


def zen(specs: Sequence[Spec]) -> Matcher:
    """Its quickest form: one decision table that collects all rows that hold."""
    import zen

    fields = ("kind", "who", "number", "words")
    rows = [
        {
            "_id": str(number),
            "kind": f"'{spec.kind}'",
            "who": f"'{spec.who}'" if spec.who else "",
            "number": f"> {spec.above}" if not spec.word else "",
            "words": f"some($, # == '{spec.word}')" if spec.word else "",
            "rule": str(number),
        }
        for number, spec in enumerate(specs)
    ]
    table = {
        "hitPolicy": "collect",
        "inputs": [{"id": field, "name": field, "field": field} for field in fields],
        "outputs": [{"id": "rule", "name": "rule", "field": "rule"}],
        "rules": rows,
    }
    nodes = [
        {"id": "in", "name": "in", "type": "inputNode"},
        {"id": "table", "name": "table", "type": "decisionTableNode", "content": table},
        {"id": "out", "name": "out", "type": "outputNode"},
    ]
    edges = [
        {"id": "1", "sourceId": "in", "targetId": "table"},
        {"id": "2", "sourceId": "table", "targetId": "out"},
    ]
    decision = zen.ZenEngine().create_decision(json.dumps({"nodes": nodes, "edges": edges}))
    return lambda batch: [sorted(row["rule"] for row in decision.evaluate(event)["result"]) for event in batch]


_rulesets = itertools.count()


def durable(specs: Sequence[Spec]) -> Matcher:
    """An event is a fact that is asserted and retracted: a posted message would be consumed by its first rule."""
    from durable.engine import MessageNotHandledException
    from durable.lang import assert_fact, item, m, retract_fact, ruleset, when_all

    found: list[int] = []

    def adding(number: int) -> Callable[[Any], None]:
        return lambda _: found.append(number)

    name = f"rules-{next(_rulesets)}"
    with ruleset(name):
        for number, spec in enumerate(specs):
            test = m.kind == spec.kind
            if spec.word:
                test = test & m.words.anyItem(item == spec.word)
            elif spec.who:
                test = test & (m.who == spec.who) & (m.number > spec.above)
            else:
                test = test & (m.number > spec.above)
            when_all(test)(adding(number))

    def match(event: Mapping[str, Any]) -> list[int]:
        found.clear()
        fact = {"id": "1", **event}
        try:
            assert_fact(name, fact)
            retract_fact(name, fact)
        except MessageNotHandledException:
            return []
        return sorted(found)

    return lambda batch: [match(event) for event in batch]
