"""What a server says of its tools, and how two listings differ. All of it is the server's word: data, never orders."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from actions.plain import clean
from schemas import ids
from schemas.model import Json, Model

MOST_TOOLS = 200
MOST_BYTES = 1 << 20
"""Of a whole listing, as JSON."""


class Listed(Model):
    """One tool as its server lists it."""

    name: str = Field(min_length=1, max_length=128)
    title: str = ""
    description: str = ""
    input_schema: dict[str, Json] = {}
    output_schema: dict[str, Json] | None = None
    annotations: dict[str, Json] = {}
    """Only what the server said, in MCP's own names (``readOnlyHint``)."""


Listing = tuple[Listed, ...]


def listing(tools: Iterable[Listed]) -> Listing:
    """In the order of names, so that a server may shuffle them."""
    return tuple(sorted(tools, key=lambda tool: tool.name))


def sha(tools: Listing) -> str:
    """Over everything that a server says: one other letter is another listing."""
    return ids.digest([tool.model_dump(mode="json") for tool in tools])


@dataclass(frozen=True, slots=True)
class Change:
    """``before`` and ``after`` are cleaned and cut: for a person's eyes."""

    tool: str
    part: str
    before: str
    after: str


def changes(before: Listing, after: Listing) -> list[Change]:
    """Tool by tool, part by part; a new or a missing tool is one change."""
    old, new = {tool.name: tool for tool in before}, {tool.name: tool for tool in after}
    found = []
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            found.append(Change(clean(name), "tool", "there", "gone"))
        elif name not in old:
            found.append(Change(clean(name), "tool", "not there", f"new: {clean(new[name].description, 500)}"))
        else:
            found += _parts(old[name], new[name])
    return found


def _parts(before: Listed, after: Listed) -> list[Change]:
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    return [
        Change(clean(before.name), part, _shown(old[part]), _shown(new[part])) for part in old if old[part] != new[part]
    ]


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)
    return clean(text, 500)
