"""The files that take minutes start first: a worker that meets one last works alone while the other has none left.

xdist would start the files of the most tests first, which the longest are not; `make test` turns that off.
"""

import pytest

LONGEST = (
    "acceptance/test_demo.py",
    "acceptance/test_kill.py",
    "acceptance/test_serve.py",
    "acceptance/test_zones.py",
    "acceptance/test_do.py",
    "acceptance/test_erase_kafka.py",
    "unit/actions/test_crashes.py",
    "contract/test_rewrite.py",
    "acceptance/test_docs.py",
    "integration/test_fints_faults.py",
    "acceptance/test_journey_licence.py",
    "acceptance/test_journey_trip.py",
    "unit/extractors/test_mail_fuzz.py",
    "acceptance/test_history_kill.py",
    "acceptance/test_erase.py",
    "unit/rules/test_metamorphic.py",
    "acceptance/test_backtest.py",
    "acceptance/test_kill_actions.py",
    "acceptance/test_injections.py",
    "unit/extractors/test_rest_contract.py",
    "unit/rules/test_replay.py",
    "unit/extractors/test_bankfile_fuzz.py",
    "integration/test_plugins.py",
    "unit/extractors/test_graph_mail.py",
    "unit/extractors/test_ics_fuzz.py",
    "unit/rules/test_changeover.py",
    "unit/actions/test_tool_crashes.py",
    "contract/test_kill.py",
    "acceptance/test_howto_connector.py",
    "integration/test_lookout.py",
)
"""Below ``tests/``, the longest first."""


def longest_first(items: list[pytest.Item]) -> None:
    """In place; the order within a file, and of all other files, stays."""
    places = {f"tests/{file}": number for number, file in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(places)))
