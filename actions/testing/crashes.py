"""A process that dies at any point of a tool's call, and what the executor then does: once is once, and none is lost.

Every call of a port (a mailbox, a calendar, the web, notes) and every change of a folder is two points: before it and
after it. ``Mortal`` dies at one of them, and perhaps in the recovery at another, and says what the world is then.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from actions.testing.desk import Desk
from actions.testing.laws import AT, KEY, Case
from actions.tools.folder import Folder
from actions.tools.tool import Tool
from schemas.clock import ManualClock
from schemas.errors import OutcomeUnknown
from schemas.model import Json

CHANGES = ("create", "replace", "remove", "deliver")
"""What a folder may be asked that changes it."""


class Died(BaseException):
    """The process is gone: nothing catches it."""


@dataclass
class Points:
    """Dies at the points whose numbers are left in ``deaths``, counted from 1 anew after each death."""

    deaths: list[int]
    passed: int = 0
    died: int = 0

    def point(self) -> None:
        self.passed += 1
        if self.deaths and self.passed == self.deaths[0]:
            self.deaths.pop(0)
            self.passed, self.died = 0, self.died + 1
            raise Died


class Port:
    """A port of the desk, mortal: methods that are called on it, and on what its contexts give, are points."""

    def __init__(self, real: Any, points: Points) -> None:
        self._real = real
        self._points = points

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if inspect.iscoroutinefunction(found):
            return self._mortal(found)
        return self._entered(found) if callable(found) else found

    def _mortal(self, work: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: Any, **more: Any) -> Any:
            self._points.point()
            out = await work(*args, **more)
            self._points.point()
            return out

        return call

    def _entered(self, opens: Callable[..., Any]) -> Callable[..., Any]:
        points = self._points

        class Context:
            def __init__(self, inner: Any) -> None:
                self._inner = inner

            async def __aenter__(self) -> Any:
                return Port(await self._inner.__aenter__(), points)

            async def __aexit__(self, *error: Any) -> Any:
                return await self._inner.__aexit__(*error)

        return lambda *args, **more: Context(opens(*args, **more))


@contextmanager
def mortal_folders(points: Points) -> Iterator[None]:
    kept = {name: getattr(Folder, name) for name in CHANGES}

    def mortal(work: Callable[..., Any]) -> Callable[..., Any]:
        def change(*args: Any, **more: Any) -> Any:
            points.point()
            out = work(*args, **more)
            points.point()
            return out

        return change

    for name, work in kept.items():
        setattr(Folder, name, mortal(work))
    try:
        yield
    finally:
        for name, work in kept.items():
            setattr(Folder, name, work)


@dataclass(frozen=True)
class Ending:
    """``asked``: nobody can know, so the person is asked. ``points``: how many there were up to the end."""

    world: object
    died: int
    asked: bool = False
    seen: bool = False
    points: int = 0


@dataclass(frozen=True)
class Mortal:
    """One tool and its case. ``wrap`` puts something between the desk's tool and the test: a mutant."""

    name: str
    case: Case
    wrap: Callable[[Tool], Tool] = field(default=lambda tool: tool)

    def run(self, *deaths: int) -> Ending:
        with TemporaryDirectory() as folder:
            desk, points = Desk(Path(folder).resolve(), ManualClock(AT)), Points(list(deaths))
            self.case.prepare(desk)
            with mortal_folders(points):
                ending = asyncio.run(self._lived(desk, points))
            return Ending(_placeless(desk.world(), folder), points.died, ending.asked, ending.seen, points.passed)

    async def _lived(self, desk: Desk, points: Points) -> Ending:
        tool = self.wrap(_tool(_mortal(desk, points), self.name))
        args, calls = self.case.args(desk), 0
        out: dict[str, Json] | None = None
        while out is None:
            try:
                if calls and tool.manifest.effect_class == "at_most_once":
                    return Ending(None, 0, asked=True)
                if calls and tool.manifest.effect_class == "reconcile":
                    out = await tool.look_up(args, KEY)
                if out is None:
                    calls += 1
                    out = await tool.call(args, KEY)
            except Died:
                continue
            except OutcomeUnknown:
                return Ending(None, 0, asked=True)
        points.deaths.clear()
        return Ending(None, 0, seen=await tool.verify(args, KEY, out) is not None)


def _mortal(desk: Desk, points: Points) -> Desk:
    """The same desk with its ports mortal."""
    ports: dict[str, Any] = {each.name: getattr(desk, each.name) for each in fields(desk)}
    plain = ("root", "clock", "zone", "history")
    mortal: dict[str, Any] = {name: Port(port, points) for name, port in ports.items() if name not in plain}
    return replace(desk, **mortal)


def _tool(desk: Desk, name: str) -> Tool:
    tool = desk.registry().tool(name)
    assert tool is not None
    return tool


def _placeless(world: object, folder: str) -> str:
    return repr(world).replace(str(Path(folder).resolve()), "")
