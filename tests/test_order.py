"""The order of the suite: see ``tests/order.py``."""

from pathlib import Path

from tests.order import LONGEST, longest_first


def test_the_files_that_start_first_are_there() -> None:
    assert [file for file in LONGEST if not (Path(__file__).parent / file).is_file()] == []


def test_the_longest_files_come_first_and_all_else_keeps_its_order() -> None:
    class Placed:
        def __init__(self, file: str) -> None:
            self.nodeid = f"{file}::test_it"

    first, second = (Placed(f"tests/{file}") for file in LONGEST[:2])
    b, a = Placed("tests/unit/b.py"), Placed("tests/unit/a.py")
    items = [b, second, a, first]
    longest_first(items)  # type: ignore[arg-type]  # all that it reads of an item is where it stands
    assert items == [first, second, b, a]
