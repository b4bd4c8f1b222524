"""The rules that come with Forewatch: YAML files, each rule with its playbook and its examples."""

from __future__ import annotations

from pathlib import Path


def library_paths() -> tuple[Path, ...]:
    """The files, by name."""
    return tuple(sorted(Path(__file__).parent.glob("*.yaml")))
