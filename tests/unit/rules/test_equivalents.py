"""The rules of docs/reference/equivalents.md load, are free of lint and do what their examples promise."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.lint import lint
from rules.loader import load
from rules.testing import run_examples
from schemas.yaml_text import read

DOCS = Path(__file__).parents[3] / "docs" / "reference"
BLOCKS = re.findall(r"```yaml\n(.*?)```", (DOCS / "equivalents.md").read_text(encoding="utf-8"), re.DOTALL)
SECTION = (
    (DOCS / "rules.md").read_text(encoding="utf-8").partition("\n## From other systems\n")[2].partition("\n## ")[0]
)
ROWS = [
    [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)]
    for line in re.findall(r"^\| (.*) \|$", SECTION, re.MULTILINE)
]

NAMES = {
    "ElastAlert 2": (
        "any", "blacklist", "whitelist", "change", "frequency", "spike", "flatline", "new_term", "cardinality",
        "metric_aggregation", "spike_aggregation", "percentage_match", "realert", "aggregation",
    ),
    "Alertmanager": (
        "group_by", "group_wait", "group_interval", "repeat_interval", "inhibit_rules", "silences",
        "mute_time_intervals", "active_time_intervals", "routes",
    ),
    "Home Assistant": (
        "state", "numeric_state", "time", "time_pattern", "template", "calendar", "event", "sun", "zone",
        "geo_location", "mqtt", "webhook", "device", "tag", "conversation", "persistent_notification",
        "homeassistant", "conditions", "mode", "blueprint", "wait_for_trigger",
    ),
    "Sigma": (
        "event_count", "value_count", "temporal", "temporal_ordered", "value_sum", "value_avg", "value_percentile",
    ),
}  # fmt: skip
"""What each system calls the things that its users know."""


def as_file(block: str) -> str:
    return (
        block if block.startswith("blueprints:") else "rules:\n" + "".join(f"  {line}\n" for line in block.splitlines())
    )


def data_of(block: str) -> dict[str, dict[str, Any]]:
    return {rule["id"]: rule for rule in read(as_file(block), "page").data["rules"]}


RULES: dict[str, dict[str, Any]] = {name: rule for block in BLOCKS for name, rule in data_of(block).items()}


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Los_Angeles"])
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: next(iter(data_of(block))))
def test_an_equivalent_does_what_its_examples_promise(block: str, zone: str, tmp_path: Path) -> None:
    path = tmp_path / "equivalent.yaml"
    path.write_text(as_file(block), encoding="utf-8")
    rules = load([path], zone=ZoneInfo(zone))
    failed = [
        f"{one.rule}: {one.name}: {one.why}" for rule in rules for one in run_examples(rule, rules=rules) if one.why
    ]
    assert failed == []
    assert [str(finding) for finding in lint(rules)] == []
    assert all(rule.model.examples.fires and rule.model.examples.silent for rule in rules)


@pytest.mark.parametrize(("system", "name"), [(system, name) for system, names in NAMES.items() for name in names])
def test_each_name_of_another_system_has_a_row_with_a_rule_or_a_reason(system: str, name: str) -> None:
    (row,) = [row for row in ROWS if row[0] == system and name in re.findall(r"`(\w+)`", row[1])]
    written = re.findall(r"`([^`]+)`", row[2])
    rule = re.search(r"\[([a-z0-9-]+)\]\(equivalents\.md#", row[3])
    if rule is None:
        assert len(row[3]) > 15, "a reason"
        return
    whole = RULES[rule[1]]
    whole = whole | (read(as_file(_block(rule[1])), "page").data["blueprints"][0]["rule"] if "use" in whole else {})
    for part in written:
        for key, value in read(part, "row").data.items():
            assert whole.get(key) == value, f"{rule[1]} has another {key!r}"


def _block(name: str) -> str:
    return next(block for block in BLOCKS if name in data_of(block))


def test_every_equivalent_is_in_the_table() -> None:
    named = {name for row in ROWS for name in re.findall(r"\[([a-z0-9-]+)\]\(equivalents\.md#", row[3])}
    assert RULES.keys() - named <= {
        "alertmanager-source",
        "elastalert-flatline-threshold",
        "homeassistant-wait-timeout",
    }
