"""How the stories of one kind are spread over the year."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from forewatch.sample.dice import Dice
from forewatch.sample.scene import Scene
from forewatch.sample.stage import Stage

Story = Callable[[Stage, Dice, str, tuple[int, int]], Scene]
"""stage, its own dice, its name, the days of the year in which it should begin."""


def told(
    stage: Stage, dice: Dice, true: Sequence[Story], quiet: Sequence[Story], first: int = 10, last: int = 330
) -> Iterator[Scene]:
    """Situations and look-alikes, each sort in a random order, evenly over the days first..last."""
    for name, stories in (("true", true), ("quiet", quiet)):
        stretches = stage.stretches(len(stories), first, last)
        for index, (story, stretch) in enumerate(zip(dice[name].shuffled(stories), stretches, strict=True)):
            yield story(stage, dice[name, index], f"{index:02d}", stretch)
