"""``python -m tests.peers [NAME...]``: fetch the programs that tests start and that no package of ours brings."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from tests.peers.agentdojo import fetch_agentdojo
from tests.peers.brokers import fetch_kafka
from tests.peers.caldav import fetch_radicale, fetch_xandikos
from tests.peers.cyrus import fetch_cyrus
from tests.peers.fints import fetch_fints
from tests.peers.google import fetch_google
from tests.peers.graph import fetch_graph
from tests.peers.graphql import fetch_graphql
from tests.peers.mcp_servers import fetch_mcp_servers
from tests.peers.oidc import fetch_oidc
from tests.peers.payments import fetch_payments
from tests.peers.process import PeerMissing
from tests.peers.small_model import fetch_small_model

FETCH: Mapping[str, Callable[[], str]] = {
    "kafka": fetch_kafka,
    "oidc": fetch_oidc,
    "fints": fetch_fints,
    "google": fetch_google,
    "graph": fetch_graph,
    "graphql": fetch_graphql,
    "payments": fetch_payments,
    "mcp-servers": fetch_mcp_servers,
    "radicale": fetch_radicale,
    "xandikos": fetch_xandikos,
}
"""By name: what fetches it unless it is here, and says where it is."""
NIGHTLY: Mapping[str, Callable[[], str]] = {
    "agentdojo": fetch_agentdojo,
    "cyrus": fetch_cyrus,
    "small-model": fetch_small_model,
}
"""Fetched only when named: for benchmarks, and for tests outside of CI's suite."""


def main(wanted: Sequence[str]) -> int:
    every = {**FETCH, **NIGHTLY}
    if unknown := set(wanted) - set(every):
        sys.stderr.write(f"unknown peer {sorted(unknown)[0]!r}: there are {', '.join(every)}\n")
        return 2
    missing = False
    for name in wanted or FETCH:
        try:
            sys.stdout.write(f"{every[name]()}\n")
        except PeerMissing as error:
            sys.stderr.write(f"{error}\n")
            missing = True
    return int(missing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
