"""``python -m benchmarks [SECTION ...]``: every figure of one run, with ratios against peers in the same run.

Absolute numbers say little on a shared machine; compare ratios, and only within one run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from benchmarks import anomalies, history, mail, memory, rule_counts, rule_events, runs, service, transport
from benchmarks.injection import table


def _service() -> None:
    found = service.measure()
    print(f"start to first poll   {found.first_poll_s:.2f} s, {found.start_cpu_s:.2f} of them CPU   (target <= 3)")
    print(f"resident while idle   {found.rss_mb:.0f} MB   (target <= 150)")
    print(f"CPU while idle        {found.idle_cpu_percent:.2f} % of a core   (target <= 1)")


SECTIONS: dict[str, Callable[[], None]] = {
    "transport": transport.main,
    "rules": rule_counts.main,
    "events": rule_events.main,
    "anomalies": anomalies.main,
    "history": history.main,
    "mail": mail.main,
    "memory": memory.main,
    "service": _service,
    "runs": runs.main,
    "injection": table.main,
}


def main(names: list[str]) -> None:
    for name in names or list(SECTIONS):
        print(f"\n== {name}", flush=True)
        SECTIONS[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
