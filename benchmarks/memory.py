"""Memory: does recall find what was meant? Questions in four languages, some of which share no word with the answer."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from forewatch.storage.memory import MemoryIndex

CASES = Path(__file__).parent.parent / "tests" / "cases" / "memory" / "recall.json"
LANGUAGES = {"e": "English", "d": "German", "f": "French", "s": "Spanish"}
MANY = 5_000


@dataclass(frozen=True)
class Found:
    """Shares of questions whose memory came first, or among the first three; ``missed``: what did not."""

    questions: int
    hit_1: float
    hit_3: float
    missed: tuple[str, ...]


def memories() -> dict[str, str]:
    """By id, which begins with the language's letter, or an x for what is only there to be confused with."""
    found: dict[str, str] = json.loads(CASES.read_text("utf-8"))["memories"]
    return found


def cases(kind: str = "questions") -> list[tuple[str, str]]:
    """What is asked, and the id that it should find. ``paraphrases`` hardly share a word with it."""
    return [(case["ask"], case["expects"]) for case in json.loads(CASES.read_text("utf-8"))[kind]]


def score(search: Callable[[str], Sequence[str]], questions: Sequence[tuple[str, str]]) -> Found:
    ranks = [(ask, list(search(ask)), wanted) for ask, wanted in questions]
    first = sum(found[:1] == [wanted] for _, found, wanted in ranks)
    third = sum(wanted in found[:3] for _, found, wanted in ranks)
    missed = tuple(ask for ask, found, wanted in ranks if wanted not in found[:3])
    return Found(len(ranks), first / len(ranks), third / len(ranks), missed)


def full_text(home: Path) -> MemoryIndex:
    index = MemoryIndex(home)
    index.sync(memories())
    return index


def _speed(home: Path) -> tuple[float, float, float]:
    """Milliseconds to index many, to look whether they changed, and for a question among them (median)."""
    known, questions = memories(), cases()
    texts = {f"{id_}-{n}": f"{text} {n}" for n in range(MANY // len(known)) for id_, text in known.items()}
    index = MemoryIndex(home)
    started = time.perf_counter()
    index.sync(texts)
    synced = time.perf_counter()
    index.sync(texts)
    unchanged = time.perf_counter()
    spent = []
    for ask, _ in questions:
        before = time.perf_counter()
        index.search(ask)
        spent.append(time.perf_counter() - before)
    return (synced - started) * 1000, (unchanged - synced) * 1000, sorted(spent)[len(spent) // 2] * 1000


def main() -> None:
    questions = cases()
    with tempfile.TemporaryDirectory() as place:
        search = full_text(Path(place)).search
        print(f"{'recall by full text':<22}{'questions':>10}{'hit@1':>8}{'hit@3':>8}")
        for letter, language in (("", "all"), *LANGUAGES.items()):
            found = score(search, [(ask, wanted) for ask, wanted in questions if wanted.startswith(letter)])
            print(f"{language:<22}{found.questions:>10}{found.hit_1:>8.2f}{found.hit_3:>8.2f}")
        found = score(search, cases("paraphrases"))
        print(f"{'paraphrases':<22}{found.questions:>10}{found.hit_1:>8.2f}{found.hit_3:>8.2f}")
        print("\n".join(f"  not among the first three: {ask}" for ask in score(search, questions).missed))
    with tempfile.TemporaryDirectory() as place:
        made, looked, asked = _speed(Path(place))
        print(f"{MANY:,} memories: indexed in {made:.0f} ms, looked over in {looked:.0f} ms, a question {asked:.1f} ms")
