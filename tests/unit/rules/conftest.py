"""Helpers of the rule tests: rules from short mappings, and players of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rules.ruleset import RuleSet
from rules.testing import Player
from schemas.rule import Rule

Make = Callable[..., Player]


def _rule(given: dict[str, Any]) -> Rule:
    propose = {"title": given.pop("says", "something happened"), "playbook": "prepare-deadline"}
    return Rule.model_validate({"id": "a-rule", "title": "A rule", "propose": propose, **given})


@pytest.fixture(scope="session")
def player() -> Make:
    """``player(zone, rule, rule, ...)``: an engine over rules given as mappings (``says`` is the title)."""

    def make(zone: str, *rules: dict[str, Any]) -> Player:
        tz = ZoneInfo(zone)
        return Player(RuleSet.of([_rule(dict(rule)) for rule in rules], zone=tz), tz)

    return make
