"""Each connector that we ship answers every question of quality, says why where it is not done, and is really run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import TestCase

import pytest
from hypothesis.stateful import run_state_machine_as_test
from ruamel.yaml import YAML

from extractors import registry
from extractors.connector import Connector
from extractors.testing import QUALITY, ConnectorContract
from extractors.testing.faults import fault_machine

ROOT = Path(registry.__file__).parent
TESTS = Path(__file__).parents[2]
OURS = list(registry._BUILT_IN)
MAILDIR = registry.connector("maildir")


def answers(name: str) -> dict[str, object]:
    return YAML(typ="safe").load((ROOT / name / "quality.yaml").read_text("utf-8"))


@pytest.mark.parametrize("name", OURS)
def test_a_connector_answers_every_question_of_quality(name: str) -> None:
    assert sorted(answers(name)) == sorted(QUALITY)


@pytest.mark.parametrize("name", OURS)
def test_what_is_not_done_has_a_reason(name: str) -> None:
    for question, answer in answers(name).items():
        if answer != "done":
            assert isinstance(answer, dict), question
            (word,) = answer
            assert word in ("todo", "exempt"), question
            assert len(str(answer[word])) > 20, question


@cache
def _modules() -> tuple[ModuleType, ...]:
    """The test modules that CI's suite runs and that speak of either suite."""
    found = []
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text("utf-8")
        if path.name != Path(__file__).name and ("ConnectorContract" in text or "fault_machine" in text):
            found.append(import_module(".".join(path.relative_to(TESTS.parent).with_suffix("").parts)))
    return tuple(module for module in found if not is_left_out(module))


def is_left_out(thing: object) -> bool:
    found = getattr(thing, "pytestmark", [])
    marks = found if isinstance(found, list) else [found]
    return any(mark.name in ("skip", "skipif", "xfail", "nightly") for mark in marks)


def collected(module: ModuleType) -> list[Any]:
    return [thing for name, thing in vars(module).items() if name.lower().startswith("test") and not is_left_out(thing)]


def under_contract(module: ModuleType) -> list[Connector]:
    """The connectors of its contract suites."""
    return [
        thing.connector
        for thing in collected(module)
        if isinstance(thing, type) and issubclass(thing, ConnectorContract) and thing is not ConnectorContract
    ]


def under_faults(module: ModuleType) -> list[Connector]:
    """The connectors of its fault machines, and those that a test function puts into one and runs."""
    found = [
        thing.connector
        for thing in collected(module)
        if isinstance(thing, type) and issubclass(thing, TestCase) and hasattr(thing, "connector")
    ]
    for thing in collected(module):
        names = set(getattr(getattr(thing, "__code__", None), "co_names", ()))
        if {"fault_machine", "run_state_machine_as_test"} <= names:
            found += [vars(module)[name] for name in names if hasattr(vars(module).get(name), "pull")]
    return found


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("suite", [under_contract, under_faults])
def test_every_connector_passes_the_contract_and_is_put_under_faults(
    name: str, suite: Callable[[ModuleType], list[Connector]]
) -> None:
    """What we ship itself, not something that calls itself so."""
    shipped = type(registry.connector(name))
    runs = [connector for module in _modules() for connector in suite(module) if connector.name == name]
    assert runs, f"nothing runs {suite.__name__} with {name}"
    assert all(isinstance(connector, shipped) for connector in runs)
    assert answers(name)["contract"] == answers(name)["faults"] == "done"


def test_a_run_that_is_skipped_or_never_called_does_not_count() -> None:
    class Skipped(ConnectorContract):
        connector = MAILDIR

    def helper() -> None:
        run_state_machine_as_test(fault_machine(lambda: None, MAILDIR))  # type: ignore[arg-type]

    module = ModuleType("module")
    vars(module).update(TestContract=Skipped, MAILDIR=MAILDIR, helper=helper)
    assert [connector.name for connector in under_contract(module)] == ["maildir"]
    assert under_faults(module) == []
    vars(module).update(test_faults=helper, TestContract=pytest.mark.skip(Skipped))
    assert [connector.name for connector in under_faults(module)] == ["maildir"]
    assert under_contract(module) == []
