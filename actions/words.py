"""A step in plain words: templates of the tool's author over typed, cleaned values; never a model's prose."""

from __future__ import annotations

import re
from collections.abc import Mapping

from actions import nominal
from actions.plain import clean
from actions.tools.tool import Manifest
from schemas.value import Value

_PLACE = re.compile(r"\{([a-z_.]+)\}")


def says(manifest: Manifest | None, tool: str, args: Mapping[str, Value], limit: int = 300) -> str:
    """One line: what the step does. A value that comes later is named instead, an absent one leaves nothing."""
    if manifest is None:
        return f"{tool} (not installed)"
    return clean(_PLACE.sub(lambda m: word(m[1], args.get(m[1])), manifest.says), limit)


def word(name: str, value: Value | None) -> str:
    if value is None:
        return ""
    if value.v is None:
        return f"(the {name.replace('_', ' ')}, known later)"
    return clean(nominal.display(value.type, value.v), 120)
