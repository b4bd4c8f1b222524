"""Switches: which rules the person has switched on or off by command, kept as overrides in one rule file."""

from __future__ import annotations

import os
from pathlib import Path

from rules.ruleset import RuleSet
from schemas.errors import ConfigError, RuleError
from schemas.yaml_text import read, text_of

FILE = "switched.yaml"
_HEAD = """\
# Written by 'forewatch rules enable' and 'forewatch rules disable'.
overrides:
"""


def read_switches(folder: Path) -> dict[str, bool]:
    """By rule; RuleError for a file that somebody has broken."""
    path = folder / FILE
    if not path.exists():
        return {}
    document = read(text_of(path), str(path))
    given = document.data.get("overrides") if isinstance(document.data, dict) else None
    entries = given if isinstance(given, list) else []
    found = {one["id"]: one["enabled"] for one in entries if isinstance(one, dict) and set(one) == {"id", "enabled"}}
    if len(found) != len(entries) or given is None:
        raise RuleError("this file holds switches only", document.location(()), remedy="move the rest to another file")
    return found


def write_switches(folder: Path, switches: dict[str, bool]) -> None:
    """At once or not at all."""
    lines = [f"  - {{id: {name}, enabled: {str(on).lower()}}}\n" for name, on in sorted(switches.items())]
    path = folder / FILE
    if not lines:
        path.unlink(missing_ok=True)
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    with os.fdopen(os.open(new, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        file.write(_HEAD + "".join(lines))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


def switched(switches: dict[str, bool], rules: RuleSet, name: str, *, on: bool) -> dict[str, bool]:
    """The switches with which a rule that is not ``on`` is so; ConfigError if ``disabled_rules`` has it off."""
    if on and rules.by_id[name].model.enabled:
        raise ConfigError(f"{name!r} is among 'disabled_rules'", remedy="take it out of config.toml")
    return {**switches, name: on}
