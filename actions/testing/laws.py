"""The laws of tools: one list that every registered tool is held against, whoever wrote it.

A tool is registered together with a ``Case`` (``actions/testing/cases.py`` for those that ship): a call, what the world
must hold before it, and how its effect goes away behind our back. ``laws_of`` says which laws its class must keep.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from actions import nominal
from actions.run.attempt import schema_fault
from actions.testing.desk import Desk
from actions.tools.tool import SELF_EFFECTS, UNGRANTED, Args, Manifest, Tool
from schemas.clock import ManualClock
from schemas.model import Json
from schemas.plan import Ref

T = TypeVar("T")
KEY, OTHER, UNDOING = "a" * 32, "b" * 32, "c" * 32
AT = datetime(2025, 3, 3, 9, tzinfo=UTC)


def nothing(desk: Desk) -> None:
    """What most tools find before their first call."""


@dataclass(frozen=True, slots=True)
class Case:
    """``args`` is made from the desk: some arguments are paths on it. ``destroy`` undoes the effect behind our back;
    None where nobody can, because nothing of it can be read back."""

    args: Callable[[Desk], Args]
    prepare: Callable[[Desk], None] = nothing
    destroy: Callable[[Desk], None] | None = None

    @classmethod
    def of(
        cls,
        prepare: Callable[[Desk], None] = nothing,
        destroy: Callable[[Desk], None] | None = None,
        /,
        **args: Json,
    ) -> Case:
        """``__`` in a name stands for a point."""
        fixed = {name.replace("__", "."): value for name, value in args.items()}
        return cls(lambda desk: fixed, prepare, destroy)


Law = Callable[[Desk, Tool, Case], Awaitable[None]]


def check(law: Law, name: str, case: Case) -> None:
    """Holds one tool against one law, on a desk of its own. AssertionError where it does not keep it."""
    with TemporaryDirectory() as folder:
        desk = Desk(Path(folder).resolve(), ManualClock(AT))
        case.prepare(desk)
        tool = desk.registry().tool(name)
        assert tool is not None, f"{name} is not registered"
        asyncio.run(_held(law, desk, tool, case))


async def _held(law: Law, desk: Desk, tool: Tool, case: Case) -> None:
    await law(desk, tool, case)


def laws_of(manifest: Manifest, case: Case | None) -> list[Law]:
    """Every tool keeps the first; what changes something can be found, is done once, and can be told from nothing."""
    laws: list[Law] = [answers_as_its_manifest_promises, its_manifest_is_whole, looking_changes_nothing]
    if manifest.effect in UNGRANTED:
        return [*laws, reading_changes_nothing]
    laws += [nothing_half_done_is_left_behind, is_seen_after_the_call, its_undo_is_a_tool_that_takes_its_answer]
    if manifest.look_up:
        laws += [is_found_after_the_call_and_not_before]
    if manifest.effect_class == "keyed":
        laws += [a_second_call_changes_nothing, two_calls_at_once_make_one_effect]
    if case is None or case.destroy is not None:
        laws += [an_effect_that_is_gone_is_not_seen]
    return laws


async def answers_as_its_manifest_promises(desk: Desk, tool: Tool, case: Case) -> None:
    wrong = schema_fault(tool.manifest.returns, await tool.call(case.args(desk), KEY))
    assert wrong == "", wrong


async def its_manifest_is_whole(desk: Desk, tool: Tool, case: Case) -> None:
    """What risk and recovery rest on is said, and the case calls it as a plan may."""
    manifest, args = tool.manifest, case.args(desk)
    assert manifest.description.endswith(".")
    assert manifest.effect in SELF_EFFECTS or manifest.permissions, "what reaches others says what it touches"
    assert not set(manifest.minted) - set(manifest.returns), "only what is returned can be minted"
    for name, arg in manifest.args.items():
        assert arg.says, f"{name} says what it is"
        assert name in args or not arg.required, f"the case has no {name}"
    for name, value in args.items():
        known = manifest.arg(name)
        assert known or manifest.is_open(name), f"{name} is not an argument"
        assert known is None or nominal.fault(known.type, value) == "", name


async def looking_changes_nothing(desk: Desk, tool: Tool, case: Case) -> None:
    args = case.args(desk)
    out = await tool.call(args, KEY)
    before = desk.world()
    await tool.look_up(args, KEY)
    await tool.look_up(args, OTHER)
    await tool.verify(args, KEY, out)
    assert desk.world() == before


async def reading_changes_nothing(desk: Desk, tool: Tool, case: Case) -> None:
    before = desk.world()
    first = await tool.call(case.args(desk), KEY)
    assert await tool.call(case.args(desk), OTHER) == first
    assert desk.world() == before


async def is_seen_after_the_call(desk: Desk, tool: Tool, case: Case) -> None:
    args = case.args(desk)
    out = await tool.call(args, KEY)
    assert await tool.verify(args, KEY, out) is not None


async def is_found_after_the_call_and_not_before(desk: Desk, tool: Tool, case: Case) -> None:
    args = case.args(desk)
    assert await tool.look_up(args, KEY) is None
    out = await tool.call(args, KEY)
    assert await tool.look_up(args, KEY) == out
    assert await tool.look_up(args, OTHER) is None


async def a_second_call_changes_nothing(desk: Desk, tool: Tool, case: Case) -> None:
    args = case.args(desk)
    first = await tool.call(args, KEY)
    before = desk.world()
    assert await tool.call(args, KEY) == first
    assert desk.world() == before


async def two_calls_at_once_make_one_effect(desk: Desk, tool: Tool, case: Case) -> None:
    args = case.args(desk)
    first, second = await asyncio.gather(tool.call(args, KEY), tool.call(args, KEY))
    assert first == second
    once = desk.world()
    await tool.call(args, KEY)
    assert desk.world() == once


async def an_effect_that_is_gone_is_not_seen(desk: Desk, tool: Tool, case: Case) -> None:
    assert case.destroy is not None
    args = case.args(desk)
    out = await tool.call(args, KEY)
    case.destroy(desk)
    assert await tool.verify(args, KEY, out) is None


async def nothing_half_done_is_left_behind(desk: Desk, tool: Tool, case: Case) -> None:
    await tool.call(case.args(desk), KEY)
    assert [path for path in contents(desk.root) if path.endswith(".tmp")] == []


async def its_undo_is_a_tool_that_takes_its_answer(desk: Desk, tool: Tool, case: Case) -> None:
    """An undo runs with the answer of the step, and is then to be seen; a tool without one never says that it can be
    taken back by anything but the person's own hand."""
    undo = tool.manifest.undo
    if undo is None:
        assert tool.manifest.reversible == "no" or tool.manifest.effect in SELF_EFFECTS
        return
    undoing = desk.registry().tool(undo.tool)
    assert undoing is not None, f"there is no tool {undo.tool}"
    out = await tool.call(case.args(desk), KEY)
    args = {name: _bound(argument, out) for name, argument in undo.args.items()}
    assert set(undoing.manifest.args) >= set(args)
    done = await undoing.call(args, UNDOING)
    assert await undoing.verify(args, UNDOING, done) is not None
    if case.destroy is not None:
        assert await tool.verify(case.args(desk), KEY, out) is None


def _bound(argument: object, out: Mapping[str, Json]) -> Json:
    if isinstance(argument, Ref):
        assert argument.step == "self"
        return out[argument.field]
    value = getattr(argument, "value", None)
    return getattr(value, "v", None)


def contents(root: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
