"""Definitions: every mistake has its file, line and column, and a remedy; what ships is right."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from extractors.rest import graphql, loader
from extractors.rest.loader import DefinitionErrors, load, parsed
from schemas.errors import ConfigError

GOOD = """\
kind: rest
name: shop
base_url: https://shop.example/api
auth: {type: bearer}
streams:
  - name: orders
    path: /orders
    records: "data[*]"
    id: id
"""
TAIL = "    paginate: {type: page}\n    incremental: {field: updated_at, param: since}\n"


def mistakes(text: str) -> list[str]:
    try:
        parsed(text, "f.yaml")
    except DefinitionErrors as errors:
        return str(errors).splitlines()
    return []


def with_stream(extra: str) -> str:
    return GOOD + extra


def test_a_short_definition_is_enough() -> None:
    assert mistakes(GOOD) == []


def test_every_definition_that_ships_is_right() -> None:
    assert loader.examples() == ["crm", "erp", "hr", "issues"]
    for name in loader.examples():
        assert load(name).streams


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("kind: rest", "kind: rset"), "f.yaml:1:7: unknown kind 'rset'; did you mean 'rest'?"),
        (("name: shop", "nmae: shop"), "f.yaml:2:1: unknown key 'nmae'; did you mean 'name'?"),
        (("type: bearer", "type: baerer"), "f.yaml:4:14: unknown type 'baerer'; did you mean 'bearer'?"),
        (("{type: bearer}", "{help: x}"), "f.yaml:4:7: 'auth' does not say its type; add 'type: ...'"),
        (("{type: bearer}", "{type: bearer, tokn: x}"), "f.yaml:4:22: unknown key 'tokn'"),
        (("    id: id\n", ""), "f.yaml:6:5: 'id' is missing; add it"),
        (('"data[*]"', '"data[*"'), "f.yaml:8:"),
        (('"data[*]"', '"lenght(data)"'), "f.yaml:8:15: JMESPath has no function 'lenght'; did you mean 'length'?"),
        (("/orders", "/orders/{config.regoin}"), "f.yaml:7:19: unknown name config.regoin; name it in the top-level"),
        (("/orders", "/orders/{id.__class__}"), "f.yaml:7:19: not a name: '{id.__class__}'; only {cursor}"),
        (("/orders", "/orders/{0}"), "f.yaml:7:19: not a name: '{0}'"),
        (("/orders", "/orders/{config.a!r}"), "f.yaml:7:19: not a name"),
        (("path: /orders", "path: '/orders/{cursor}'"), "f.yaml:7:20: there is no cursor here"),
        (("path: /orders", "path: orders"), "f.yaml:7:11: a path begins with '/'"),
        (("https://shop", "ftp://shop"), "f.yaml:3:11: not a web address"),
        (
            ("https://shop.example/api", "https://nora:pw@shop.example"),
            "f.yaml:3:11: the address of shop.example holds a",
        ),
        (("name: orders", "name: Orders"), "f.yaml:6:11: name 'Orders' has the wrong form; it must match"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_a_remedy(change: tuple[str, str], told: str) -> None:
    found = mistakes(GOOD.replace(*change))
    assert any(line.startswith(told) for line in found), found


@pytest.mark.parametrize(
    ("extra", "told"),
    [
        ("    paginate: {type: curser, param: c}\n", "f.yaml:10:22: unknown type 'curser'; did you mean 'cursor'?"),
        ("    paginate: {type: cursor, param: c}\n", "f.yaml:10:15: 'cursor' is missing; add it"),
        (
            "    paginate: {type: cursor, cursor: a, parm: c}\n",
            "f.yaml:10:41: unknown key 'parm'; did you mean 'param'?",
        ),
        (
            TAIL,
            "f.yaml:10:22: counted pages lose rows that move while they are read; sort by the field of 'incremental'",
        ),
        ("    incremental: {field: at}\n", "f.yaml:10:18: nothing tells the source where to begin; give it a 'param'"),
        ("    incremental: {field: at, param: s, format: isoo}\n", "f.yaml:10:48: unknown format 'isoo'; known: iso"),
        ("    incremental: {field: at, param: s, lookback: 10x}\n", "f.yaml:10:50: not a duration: '10x'"),
        ("    incremental: {field: at, param: s, start: soon}\n", "f.yaml:10:47: not a start: 'soon'"),
        (
            "    incremental: {field: at, param: s, start: 90d}\n    deletions: {full_diff: daily}\n",
            "f.yaml:10:47: rows that only became older than the start would be taken for deleted",
        ),
        ("    deletions: {mode: fild, when: gone}\n", "f.yaml:10:23: unknown mode 'fild'; did you mean 'field'?"),
        (
            "    foreach: {stream: ordres, bind: {o: id}}\n",
            "f.yaml:10:23: unknown stream 'ordres'; did you mean 'orders'?",
        ),
        ("    foreach: {stream: orders, bind: {o: id}}\n", "f.yaml:10:23: streams wait for one another in a circle"),
        ("    map: {amount: {value: total}}\n", "f.yaml:10:19: an amount has either currency or currency_code"),
        (
            "    map: {amount: {value: total, curency: x}}\n",
            "f.yaml:10:34: unknown key 'curency'; did you mean 'currency'?",
        ),
        ("    map: {due: 'a ||'}\n", "f.yaml:10:"),
        ("    map: {matter: {invoice: number}}\n", "f.yaml:10:19: a number alone does not tell one company's"),
        ("    document: '{ a }'\n", "f.yaml:10:15: 'document' belongs to kind: graphql"),
        ("    body: {a: 1}\n", "f.yaml:10:11: a body needs 'method: POST'"),
        ("    method: DELETE\n", "f.yaml:10:13: unknown method 'DELETE'"),
        ("    query: {a: '{bind.x}'}\n", "f.yaml:10:17: unknown name bind.x; name it in foreach.bind"),
        (
            "  - name: orders\n    path: /o\n    records: x\n    id: id\n",
            "f.yaml:10:11: the stream 'orders' is here twice",
        ),
        ("errors:\n  - {status: [200], action: skip}\n", "f.yaml:11:14: this takes every good answer for an error"),
        ("errors:\n  - {status: [999], action: skip}\n", "f.yaml:11:15: "),
        ("errors:\n  - {status: [404], action: skip, wait: {seconds: 3}}\n", "f.yaml:11:41: 'skip' waits for nothing"),
        ("http: {headers: {Authorization: x}}\n", "f.yaml:10:33: the header 'Authorization' may not be set here"),
        ("http: {headers: {X-Api-Key: x}}\n", "f.yaml:10:29: the header 'X-Api-Key' may not be set here; secrets"),
        ('http: {headers: {X-A: "a\\r\\nb: c"}}\n', "f.yaml:10:23: the header 'X-A' has a value that cannot be sent"),
        ("zone: Europe/Berln\n", "f.yaml:10:7: unknown time zone 'Europe/Berln'"),
        ("secret: x\n", "f.yaml:10:1: unknown key 'secret'"),
        ("kind: rest\n", "f.yaml:10:1: the key 'kind' is here twice"),
        ("more: !!python/object:os.system x\n", "f.yaml:10:7: tags are not allowed in definitions"),
        ("more: &a [1]\n", "f.yaml:10:7: anchors and aliases are not allowed in definitions"),
    ],
)
def test_a_mistake_in_a_stream_is_told_with_its_place_and_a_remedy(extra: str, told: str) -> None:
    found = mistakes(with_stream(extra))
    assert any(line.startswith(told) for line in found), found


def test_all_mistakes_are_told_at_once() -> None:
    text = GOOD.replace("kind: rest", "kind: rset").replace("id: id", "idd: id").replace("type: bearer", "type: x")
    assert len(mistakes(text)) == 4


def test_a_file_that_is_no_definition_says_so(tmp_path: Path) -> None:
    assert mistakes("just words") == ["f.yaml:1:1: this is no definition; begin with 'kind: rest'"]
    with pytest.raises(ConfigError, match=r"cannot read the file"):
        load(str(tmp_path / "missing.yaml"))
    with pytest.raises(ConfigError, match=r"did you mean 'crm'"):
        load("crn")


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("query { a }", ""),
        ("{ a(b: {c: 1}) { d } }", ""),
        ("query Q($x: Int) { a ...F } fragment F on T { mutation }", ""),
        ('# mutation { x }\nquery { a(text: "} mutation {") }', ""),
        ('{ a(text: """} mutation { \\""" """) }', ""),
        ("mutation { deleteAll }", "a mutation is no query"),
        ("subscription { x }", "a subscription is no query"),
        ("query A { a } mutation B { b }", "the document holds not exactly one query"),
        ("query A { a } query B { b }", "the document holds not exactly one query"),
        ("fragment F on T { a } mutation { b }", "a mutation is no query"),
        ("query { a ", "the braces of the document do not match"),
        ("", "the document holds not exactly one query"),
    ],
)
def test_only_a_query_may_be_sent(document: str, reason: str) -> None:
    assert graphql.refusal(document) == reason


def test_the_examples_of_the_documentation_are_right() -> None:
    docs = Path(loader.__file__).parents[2] / "docs"
    blocks = re.findall(r"```yaml\n(.*?)```", (docs / "howto" / "connect-a-business-system.md").read_text(), re.DOTALL)
    smallest, mapping, _ = map(textwrap.dedent, blocks)
    assert mistakes(smallest) == []
    assert mistakes(smallest + textwrap.indent(mapping, "    ")) == []
