"""The JSON Schema of rule files, generated from the models, for editors that complete and check."""

from __future__ import annotations

from typing import Any

from schemas.duration import Duration
from schemas.event import KINDS
from schemas.rule import RuleFile


def json_schema() -> dict[str, Any]:
    """Draft 2020-12. Kinds are offered, not enforced: declarative connectors have kinds of their own."""
    schema: dict[str, Any] = RuleFile.model_json_schema(mode="validation")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Forewatch rules"
    for name in ("Condition", "Unless"):
        schema["$defs"][name]["properties"]["kind"]["examples"] = list(KINDS)
    return dict(_with_written_durations(schema))


def _with_written_durations(schema: Any) -> Any:
    """Defaults as people write them: ``14d``, not the two numbers inside."""
    if isinstance(schema, dict):
        default = schema.get("default")
        if isinstance(default, dict) and set(default) == {"days", "seconds"}:
            schema = {**schema, "default": str(Duration(**default))}
        return {name: _with_written_durations(value) for name, value in schema.items()}
    return [_with_written_durations(item) for item in schema] if isinstance(schema, list) else schema
