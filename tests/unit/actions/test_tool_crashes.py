"""Every tool that ships, killed at every point of its call: never twice, never lost, and asked where nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from actions.testing.cases import CASES
from actions.testing.crashes import Ending, Mortal
from actions.testing.desk import Desk
from actions.testing.laws import AT
from actions.tools.tool import UNGRANTED, Args, Manifest, Receipt, Tool
from schemas.clock import ManualClock
from schemas.model import Json
from tests.scale import scaled

REGISTERED = Desk(Path("/nonesuch"), ManualClock(AT)).registry()


def _acting() -> list[str]:
    manifests = [(name, REGISTERED.manifest(name)) for name in REGISTERED.names()]
    return [name for name, manifest in manifests if manifest and manifest.effect not in UNGRANTED]


def _is_right(ending: Ending, once: Ending) -> bool:
    """The world is as after one call; an effect that cannot be looked up may also not have happened, and is asked."""
    if not ending.asked:
        return ending.world == once.world and ending.seen
    return _effects(ending) <= 1


def _effects(ending: Ending) -> int:
    """Of forms and of lists that were left: what was posted."""
    said = str(ending.world)
    return said.count("leave?u=17', b'List-Unsubscribe=One-Click')") + said.count("b'name=Nora')")


@pytest.mark.parametrize("name", _acting())
def test_a_death_at_any_point_is_mended(name: str) -> None:
    mortal = Mortal(name, CASES[name])
    once = mortal.run()
    assert once.seen
    assert once.points > 0, "it has no points to die at"
    for point in range(1, once.points + 1):
        ending = mortal.run(point)
        assert _is_right(ending, once), f"died at point {point}"


@pytest.mark.parametrize("name", _acting())
def test_a_second_death_in_the_recovery_is_mended_too(name: str) -> None:
    """A sample of all pairs; ``make thorough`` has them all."""
    mortal = Mortal(name, CASES[name])
    once = mortal.run()
    for first in range(1, once.points + 1, scaled(4, 1)):
        for second in range(1, 2 * once.points + 1, scaled(5, 1)):
            assert _is_right(mortal.run(first, second), once), f"died at {first}, then at {second}"


class Forgetful:
    """A mutant: each attempt has a key of its own."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._attempt = 0

    @property
    def manifest(self) -> Manifest:
        return self._tool.manifest

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        self._attempt += 1
        return await self._tool.call(args, f"{self._attempt:032x}")

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return await self._tool.verify(args, f"{self._attempt:032x}", result)


@pytest.mark.parametrize("name", ["mail.send", "meeting.invite", "task.create", "notify", "mail.draft", "calendar.add"])
def test_a_tool_with_a_key_for_each_attempt_is_caught(name: str) -> None:
    mortal = Mortal(name, CASES[name], Forgetful)
    once = mortal.run()
    endings = [mortal.run(point) for point in range(1, once.points + 1)]
    assert not all(_is_right(ending, once) for ending in endings)
