"""The files that take minutes start first: a worker that meets one last works alone while the other has none left.

xdist would start the files of the most tests first, which the longest are not; `make test` turns that off.
"""

import pytest

LONGEST = (
    "acceptance/test_demo.py",
    "acceptance/test_kill.py",
    "contract/test_kill.py",
    "acceptance/test_serve.py",
    "acceptance/test_zones.py",
    "unit/extractors/test_gmail_contract.py",
    "unit/extractors/test_graph_mail.py",
    "unit/extractors/test_graph_calendar.py",
    "unit/extractors/test_jmap.py",
    "acceptance/test_howto_connector.py",
    "acceptance/test_erase.py",
)
"""Below ``tests/``, the longest first."""


def longest_first(items: list[pytest.Item]) -> None:
    """In place; the order within a file, and of all other files, stays."""
    places = {f"tests/{file}": number for number, file in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))
