"""docs/reference/rules.md says all that a rule can say: every key, function, filter and reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args
from zoneinfo import ZoneInfo

import pytest

from rules.cel.functions import FUNCTIONS
from rules.detectors import VALUES
from rules.loader import load, read
from rules.shorthand import instant
from rules.template import FILTERS
from schemas.quiet import Quiet, Schedule
from schemas.rule import (
    Absence,
    Anomaly,
    Change,
    Conflict,
    Count,
    Deadline,
    Example,
    Group,
    Mean,
    NewValue,
    Periodic,
    Propose,
    Rate,
    Rule,
    Sequence,
    Spike,
    Sum,
    Unless,
)
from schemas.trigger import Reason

PAGE = (Path(__file__).parents[3] / "docs/reference/rules.md").read_text(encoding="utf-8")
MODELS = (
    Rule,
    Sequence,
    Deadline,
    Absence,
    Periodic,
    Anomaly,
    Conflict,
    Change,
    NewValue,
    Count,
    Sum,
    Mean,
    Rate,
    Spike,
    Unless,
    Group,
    Schedule,
    Quiet,
    Propose,
    Example,
)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_key_is_on_the_page(model: type[Rule]) -> None:
    only_one = {"method"}  # a choice of one
    names = [info.alias or name for name, info in model.model_fields.items()]
    assert [name for name in names if name not in only_one and not re.search(rf"\b{name}\b", PAGE)] == []


def test_every_function_filter_reason_and_value_is_on_the_page() -> None:
    names = [*FUNCTIONS, *FILTERS, *get_args(Reason)]
    names += [value.rpartition(".")[2] for values in VALUES.values() for value in values]
    assert [name for name in names if not re.search(rf"\b{name}\b", PAGE)] == []


def test_the_rule_on_the_page_loads(tmp_path: Path) -> None:
    block = re.search(r"```yaml\n(rules:.*?)```", PAGE, re.DOTALL)
    assert block is not None
    path = tmp_path / "page.yaml"
    path.write_text(re.sub(r"\n *examples: .*", "", block[1]), encoding="utf-8")
    (rule,) = load([path], zone=ZoneInfo("UTC"), playbooks=["pay-invoice"])
    assert rule.id == "invoice-unpaid"


def test_the_times_on_the_page_are_read() -> None:
    block = re.search(r"```yaml\n(examples:.*?)```", PAGE, re.DOTALL)
    assert block is not None
    data = read(block[1].replace("[...]", "[]"), "page").data
    (example,) = data["examples"]["fires"]
    assert instant(example["until"], ZoneInfo("UTC")) > instant(example["events"][1]["at"], ZoneInfo("UTC"))
