"""The reference pages name every tool and playbook that ships, and say what the code says."""

from __future__ import annotations

from pathlib import Path

from actions.nominal import NOMINALS
from actions.planning.playbook_loader import SHIPPED
from actions.testing.desk import Desk
from actions.testing.household import START
from schemas.clock import ManualClock

PAGES = Path(__file__).parents[3] / "docs" / "reference"


def test_every_tool_has_its_part_with_its_class_and_arguments() -> None:
    registry = Desk(Path("/nonesuch"), ManualClock(START)).registry()
    parts = {part.split("`")[1]: part for part in (PAGES / "toolbox.md").read_text().split("\n## ")[1:]}
    assert sorted(parts) == registry.names()
    for name in registry.names():
        manifest = registry.manifest(name)
        assert manifest is not None
        assert f"| {manifest.effect}, {manifest.effect_class} |" in parts[name]
        assert [arg for arg in (*manifest.args, *manifest.returns) if f"`{arg}`" not in parts[name]] == []


def test_every_playbook_and_every_type_is_named() -> None:
    page = (PAGES / "playbooks.md").read_text()
    assert [file.stem for file in SHIPPED.glob("*.yaml") if f"| `{file.stem}` |" not in page] == []
    assert [name for name in NOMINALS if f"{name}," not in page and f"{name}." not in page] == []
