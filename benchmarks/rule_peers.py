"""What our matcher is measured against: each contender is made from the specs and finds the numbers of those that hold.

All but ours get flat dicts. ``Matcher``: a batch of events to the numbers of the rules that each satisfies, ascending.
"""

from __future__ import annotations

import itertools
import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from benchmarks.rule_specs import ZONE, Spec
from rules.index import Index
from rules.language import check_condition
from rules.words import FOLD

Matcher = Callable[[Sequence[Any]], list[list[int]]]


def ours(specs: Sequence[Spec]) -> Matcher:
    match = Index(enumerate(check_condition(spec.condition(), ZONE) for spec in specs), ZONE).match
    return lambda batch: [match(event) for event in batch]


def look_up(specs: Sequence[Spec]) -> Matcher:
    """The floor: a dict look-up finds the rules on the merchant of an event and tests nothing. No matcher."""
    table: dict[str, list[int]] = {}
    for number, spec in enumerate(specs):
        table.setdefault(spec.merchant, []).append(number)
    found = table.get
    return lambda batch: [found(event.payload.merchant) or [] for event in batch]


def all_look_ups(specs: Sequence[Spec]) -> Matcher:
    """The look-ups that a right answer takes, on our events, and nothing else: the kind, the merchant, each word of the
    title, the farthest bound. No rule that was found is tested. No matcher."""
    kinds: dict[str, bool] = {"bank.posted": True}
    merchants: dict[str, list[int]] = {}
    words: dict[bytes, int] = {}
    for number, spec in enumerate(specs):
        if spec.word:
            words[spec.word.encode()] = number
        else:
            merchants.setdefault(spec.merchant, []).append(number)
    farthest = Decimal(max((spec.below for spec in specs if not spec.merchant and not spec.word), default=0))

    def find(event: Any) -> list[int]:
        if event.kind not in kinds:
            return []
        found = merchants.get(event.payload.merchant) or []
        if not words.keys().isdisjoint(event.title.encode().translate(FOLD).split()):
            return [*found, 0]
        return [*found, 0] if event.amount.amount < farthest else found

    return lambda batch: [find(event) for event in batch]


def by_hand(specs: Sequence[Spec]) -> Matcher:
    """Tables and bisection written for these very rules, on flat dicts: the least that a right answer takes."""
    merchants: dict[str, list[tuple[int, int]]] = {}
    words: dict[str, int] = {}
    bounds = sorted((spec.below, number) for number, spec in enumerate(specs) if not spec.merchant and not spec.word)
    for number, spec in enumerate(specs):
        if spec.merchant:
            merchants.setdefault(spec.merchant, []).append((spec.below, number))
        elif spec.word:
            words[spec.word] = number
    limits = [below for below, _ in bounds]

    def match(event: Mapping[str, Any]) -> list[int]:
        if event["kind"] != "bank.posted":
            return []
        amount = event["amount"]
        found = [number for below, number in merchants.get(event["merchant"], ()) if amount < below]
        found += [words[word] for word in event["words"] if word in words]
        found += [number for _, number in bounds[bisect_right(limits, amount) :]]
        return sorted(found)

    return lambda batch: [match(event) for event in batch]


def lambdas(specs: Sequence[Spec]) -> Matcher:
    tests = [eval(f"lambda kind, merchant, amount, words: {spec.text('and')}") for spec in specs]
    return lambda batch: [[n for n, test in enumerate(tests) if test(**event)] for event in batch]


def one_function(specs: Sequence[Spec]) -> Matcher:
    """One generated function for all rules of the kind, which is tested once."""
    lines = [f"    if {spec.text('and').partition(' and ')[2]}: add({n})" for n, spec in enumerate(specs)]
    source = "def match(kind, merchant, amount, words):\n  found = []\n  add = found.append\n"
    namespace: dict[str, Any] = {}
    exec(source + "  if kind == 'bank.posted':\n" + "\n".join(lines) + "\n  return found", namespace)
    return lambda batch: [namespace["match"](**event) for event in batch]


def polars_join(specs: Sequence[Spec]) -> Matcher:
    """Rules as tables, a batch of events as a table, joined on merchant, on words, and on amounts below a bound."""
    import polars as pl

    numbered = list(enumerate(specs))
    by_merchant = pl.DataFrame(
        [(n, s.merchant, float(s.below)) for n, s in numbered if s.merchant],
        schema={"rule": pl.Int64, "merchant": pl.String, "below": pl.Float64},
        orient="row",
    )
    by_word = pl.DataFrame(
        [(n, s.word) for n, s in numbered if s.word], schema={"rule": pl.Int64, "words": pl.String}, orient="row"
    )
    by_bound = pl.DataFrame(
        [(n, float(s.below)) for n, s in numbered if not s.word and not s.merchant],
        schema={"rule": pl.Int64, "below": pl.Float64},
        orient="row",
    )
    lowest = by_bound["below"].max()

    def match(batch: Sequence[Any]) -> list[list[int]]:
        events = pl.DataFrame(
            {name: [event[name] for event in batch] for name in ("kind", "merchant", "amount", "words")}
        ).with_row_index("event")
        events = events.filter(pl.col("kind") == "bank.posted")
        pairs = [
            events.join(by_merchant, on="merchant").filter(pl.col("amount") < pl.col("below")),
            events.explode("words").join(by_word, on="words"),
            events.filter(pl.col("amount") < lowest).join(by_bound, how="cross").filter(
                pl.col("amount") < pl.col("below")
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

    fields = ("kind", "merchant", "amount", "words")
    rows = [
        {
            "_id": str(number),
            "kind": "'bank.posted'",
            "merchant": f"'{spec.merchant}'" if spec.merchant else "",
            "amount": f"< {spec.below}" if not spec.word else "",
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
            test = m.kind == "bank.posted"
            if spec.merchant:
                test = test & (m.merchant == spec.merchant) & (m.amount < spec.below)
            elif spec.word:
                test = test & m.words.anyItem(item == spec.word)
            else:
                test = test & (m.amount < spec.below)
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
