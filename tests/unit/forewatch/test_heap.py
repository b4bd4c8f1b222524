import gc
import weakref
from collections.abc import Iterator

import pytest

from forewatch.heap import look_at_everything, survivors_set_aside


class Circle:
    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def nothing_by_itself() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_a_full_pass_looks_at_nothing_that_survived_the_one_before() -> None:
    with survivors_set_aside():
        kept = [[number] for number in range(1000)]
        gc.collect()
        looked_at = {id(found) for found in gc.get_objects()}
        assert not looked_at & {id(one) for one in kept}
    assert {id(one) for one in kept} <= {id(found) for found in gc.get_objects()}
    assert gc.get_freeze_count() == 0


def test_a_pass_over_the_young_sets_nothing_aside() -> None:
    with survivors_set_aside():
        gc.collect(0)
        gc.collect(1)
        assert gc.get_freeze_count() == 0


def test_what_was_set_aside_and_then_died_in_a_circle_goes_with_the_pass_over_everything() -> None:
    with survivors_set_aside():
        circle = Circle()
        gone = weakref.ref(circle)
        gc.collect()
        del circle
        gc.collect()
        assert gone() is not None
        look_at_everything()
        assert gone() is None
        assert gc.get_freeze_count() > 0
