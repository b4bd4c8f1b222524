"""What a scripted model says: the modes in which models and their servers are known to go wrong.

One script drives both the ``ScriptedModel`` in the process and the ``ModelServer`` on the loopback.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from schemas.model import Json

Body = dict[str, Any]
"""A request as its server decodes it."""


@dataclass(frozen=True, slots=True)
class Text:
    """``finish``: why the server says that it ended."""

    text: str
    finish: str = "stop"


@dataclass(frozen=True, slots=True)
class Status:
    """An HTTP error; ``said`` is the error's message."""

    code: int
    said: str = "no"
    error: str = ""
    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class Hang:
    """Takes the request and never answers."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Streams this and then drops the connection; ``politely``: ends the response, without saying why it ended."""

    text: str
    politely: bool = False


@dataclass(frozen=True, slots=True)
class Endless:
    """Streams this again and again."""

    text: str = '{"steps": [' + " " * 200


@dataclass(frozen=True, slots=True)
class Refusal:
    text: str = "I cannot help with that."


Said = Text | Status | Hang | Cut | Endless | Refusal
Script = Callable[[Body], Said]

Mode = Literal[
    "good", "invalid-json", "unknown-tool", "cycle", "wrong-types", "lie-about-risk", "endless-repair", "truncated",
    "timeout", "cut-stream", "polite-cut", "endless", "refusal", "429", "401", "500", "repaired",
]  # fmt: skip


def script(mode: Mode, plan: Json) -> Script:
    """``plan`` is a good answer for the task at hand. ``repaired``: an unknown tool first, then the good plan."""
    good = json.dumps(plan)
    half = good[: len(good) // 2]
    spoilt: dict[Mode, Said] = {
        "good": Text(good),
        "invalid-json": Text(half + " and so on"),
        "unknown-tool": Text(json.dumps(_with(plan, _unknown_tool))),
        "cycle": Text(json.dumps(_with(plan, _cycle))),
        "wrong-types": Text(json.dumps(_with(plan, _wrong_types))),
        "lie-about-risk": Text(json.dumps(_with(plan, _lie))),
        "endless-repair": Text(json.dumps(_with(plan, _unknown_tool))),
        "truncated": Text(half, "length"),
        "timeout": Hang(),
        "cut-stream": Cut(half),
        "polite-cut": Cut(half, politely=True),
        "endless": Endless(),
        "refusal": Refusal(),
        "429": Status(429, "slow down", "rate_limit_exceeded", "30"),
        "401": Status(401, "wrong key", "invalid_api_key"),
        "500": Status(500, "oops"),
    }
    if mode == "repaired":
        return in_turn([spoilt["unknown-tool"], spoilt["good"]])
    return lambda body: spoilt[mode]


def in_turn(said: list[Said]) -> Script:
    """One after the other; the last one from then on."""
    left: Iterator[Said] = iter(said[:-1])
    return lambda body: next(left, said[-1])


def _with(plan: Json, change: Callable[[list[dict[str, Any]]], None]) -> Json:
    changed: Any = copy.deepcopy(plan)
    change(changed["steps"])
    found: Json = changed
    return found


def _unknown_tool(steps: list[dict[str, Any]]) -> None:
    steps[-1]["tool"] = "bank.transfer_everything"


def _cycle(steps: list[dict[str, Any]]) -> None:
    """All steps in a ring."""
    for at, step in enumerate(steps):
        step["depends_on"] = [steps[at - 1]["id"]]


def _wrong_types(steps: list[dict[str, Any]]) -> None:
    for step in steps:
        step["args"] = {name: [17, True] for name in step["args"]}


def _lie(steps: list[dict[str, Any]]) -> None:
    """Everything that a model may not say, said."""
    for step in steps:
        step |= {"risk": "none", "gate": "none", "effect": "read", "effect_class": "pure", "integrity": "user"}
        step |= {"retry": {"max": 20}, "timeout_s": 3600, "approved": True, "hold_s": 0, "ask_first": False}
