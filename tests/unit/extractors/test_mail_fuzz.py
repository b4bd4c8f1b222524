"""Hostile mails through the maildir connector: each an event or a rejection, in bounded time and memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from extractors.mail import hostile
from extractors.maildir import MaildirConnector
from extractors.maildir.config import MaildirConfig
from extractors.testing import context_for, events_of, poll, records_of
from schemas.event import Event
from tests.scale import scaled

CASES = Path(__file__).parents[2] / "cases" / "email"
SAMPLES = ("e0", "e1", "e23", "e24", "e27", "e36")
"""Cases of different structures: each is damaged a hundredfold, and what only differs in its words breaks alike."""
MEMORY = 2 * 1024**3
"""Address space of the process that reads them all."""
CPU_S = scaled(150, 450)
"""Tenfold of what they take together: one that hangs passes it."""
EVENT_CAP = 900_000
"""Bytes of an event, so that it fits into one message of a broker."""


def corpus() -> Iterator[bytes]:
    paths = [path for path in sorted(CASES.iterdir()) if path.suffix in (".eml", ".mbox")]
    samples = [path.read_bytes() for path in paths if path.stem.startswith(SAMPLES)]
    return hostile.mails(samples, seed=20260302, rounds=scaled(1, 8))


def read_all(folder: Path) -> tuple[int, int, list[str]]:
    """How many mails, how many events, and what went wrong. Batches keep the folder small."""
    connector = MaildirConnector()
    problems: list[str] = []
    mails = events = 0
    for number, batch in enumerate(batches(corpus(), 100)):
        root = folder / str(number)
        for name in ("cur", "new", "tmp"):
            (root / name).mkdir(parents=True)
        for index, raw in enumerate(batch):
            (root / "new" / f"{1772435000 + index}.M{index}").write_bytes(raw)
        result = poll(connector, MaildirConfig(path=str(root)), None, context_for())
        found, poison = events_of(connector, records_of(connector, result.upserts, context_for()), context_for())
        mails += len(batch)
        events += len(found)
        if result.error or len(found) + len(poison) + len(result.rejected) != len(batch):
            problems.append(f"batch {number}: {len(batch)} mails, {len(found)} events, {result.error}")
        problems += [
            f"no reason: {rejected}" for rejected in result.rejected if not (rejected.code and rejected.reason)
        ]
        problems += [f"{event.title[:30]!r} is not sound" for event in found if not is_sound(event)]
    return mails, events, problems


def is_sound(event: Event) -> bool:
    encoded = event.model_dump_json()
    is_bounded = len(encoded) <= EVENT_CAP
    return is_bounded and Event.model_validate_json(encoded) == event and event.occurred_at.year >= 1990


def batches(source: Iterator[bytes], size: int) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    for each in source:
        batch.append(each)
        if len(batch) == size:
            yield batch
            batch = []
    yield batch


def test_whatever_lies_in_the_folder_becomes_an_event_or_a_rejection(tmp_path: Path) -> None:
    """In a process of its own, because its limits cannot be taken back."""
    command = [sys.executable, __file__, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=3 * CPU_S)
    assert done.returncode == 0, f"the reader died with {done.returncode} (-24: too much time): {done.stderr[-2000:]}"
    mails, events, problems = json.loads(done.stdout)
    assert problems == []
    assert mails >= scaled(1_700, 5_000)
    assert events >= 1_000


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    sys.stdout.write(json.dumps(read_all(Path(sys.argv[1]))))
