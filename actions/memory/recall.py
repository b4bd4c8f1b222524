"""Recall: what is known of the person, as sentences made of typed fields, the fitting ones first, under a budget.

For a person everything is written out. For a model the other side's name is not, unless it is the person's own word: it
is mostly what a sender called himself (law L4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from actions.memory.remembering import Memories, entity_of
from actions.memory.working import Cost, shown, tokens
from actions.plain import clean
from actions.planning.matching import terms
from schemas import ids
from schemas.memory import Memory
from schemas.trigger import Trigger
from schemas.value import Integrity

Search = Callable[[str], Sequence[str]]
"""Ids of memories for some words, the best first: full text, or vectors where a server gives them."""
_STEM = 5
"""Letters of a word that count when words are compared without an index."""
MOST = 12
"""Memories that one recall gives at most."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """``memories`` and the ``lines`` that say them, the best first; ``left_out``: how many more would have fitted but
    for the budget."""

    memories: tuple[Memory, ...] = ()
    lines: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def recall(
    memories: Memories,
    query: str,
    budget: int,
    *,
    trigger: Trigger | None = None,
    search: Search = lambda words: (),
    cost: Cost = tokens,
) -> Recalled:
    """For a prompt: what is scoped to this rule and this other side first, then what the words find.

    With a ``trigger``, what is scoped to another rule or another side stays out. Never more than ``budget`` by
    ``cost``; a memory that does not fit is passed over for a shorter one.
    """
    found = ranked(memories, query, trigger, search)[:MOST]
    here = entity_of(trigger)[0] if trigger else ""
    taken: list[Memory] = []
    lines: list[str] = []
    for memory in found:
        line = for_model(memory, here)
        if cost("\n".join([*lines, line])) <= budget:
            taken.append(memory)
            lines.append(line)
    return Recalled(tuple(taken), tuple(lines), len(found) - len(taken))


def by_words(memories: Memories) -> Search:
    """Words in common, the rare ones weighing more, and endings left aside: for where there is no index at hand."""
    texts = {memory.id: _stems(for_person(memory)) for memory in memories}
    frequency = Counter(word for words in texts.values() for word in words)

    def search(query: str) -> list[str]:
        asked = _stems(query)
        scores = {id_: sum(1 / frequency[word] for word in asked & words) for id_, words in texts.items()}
        return sorted((id_ for id_, score in scores.items() if score), key=lambda id_: (-scores[id_], id_))

    return search


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in terms(text)}


def ranked(memories: Memories, query: str, trigger: Trigger | None, search: Search) -> list[Memory]:
    """All that fit, the best first, each once."""
    known = {memory.id: memory for memory in memories}
    by_scope = _about(known.values(), trigger) if trigger else []
    by_words = [known[memory] for memory in search(query) if memory in known] if query else []
    fitting = (memory for memory in (*by_scope, *by_words) if trigger is None or _may_hold(memory, trigger))
    return list({memory.id: memory for memory in fitting}.values())


def _about(memories: Iterable[Memory], trigger: Trigger) -> list[Memory]:
    """Scoped to this rule or this other side; what names both comes first, and of equals the newest."""
    entity, _ = entity_of(trigger)

    def fit(memory: Memory) -> int:
        return 2 * (memory.scope.entity == entity != "") + (memory.scope.rule == trigger.rule)

    return sorted((memory for memory in memories if fit(memory)), key=fit, reverse=True)


def _may_hold(memory: Memory, trigger: Trigger) -> bool:
    entity, _ = entity_of(trigger)
    scope = memory.scope
    return scope.rule in ("", trigger.rule) and scope.entity in ("", entity) and scope.key in ("", trigger.key)


def for_person(memory: Memory) -> str:
    """One sentence; what an outsider called himself is cleaned, and all the same only shown."""
    return _sentence(memory, clean(memory.scope.entity, 120))


def for_model(memory: Memory, here: str = "") -> str:
    """The same without a word from outside. ``here``: the other side at hand, which is then called so."""
    entity = memory.scope.entity
    if memory.code == "note" and memory.integrity not in (Integrity.USER, Integrity.SYSTEM):
        return f"<note {memory.id[:6]}>"
    if entity and entity == here:
        return _sentence(memory, "this other side")
    if entity and memory.entity_integrity not in (Integrity.USER, Integrity.SYSTEM):
        return _sentence(memory, f"<party {ids.digest(entity)[:6]}>")
    return _sentence(memory, clean(entity, 120))


def _sentence(memory: Memory, entity: str) -> str:
    about = _about_words(memory, entity)
    value = shown(memory.value, "value") if memory.value is not None else ""
    times = f"{memory.support} times" if memory.support > 1 else "once"
    match memory.code:
        case "note":
            return f"{memory.text}{f' ({about})' if about else ''}"
        case "default":
            place = memory.scope.arg.replace("_", " ") + (f" of {memory.scope.tool}" if memory.scope.tool else "")
            word = {"confirmed": "always", "suggested": "usually", "noted": "once"}[memory.standing]
            return f"{place}: {word} “{value}” for {about} (given {times})"
        case "never":
            matter = " in one matter" if memory.scope.key else ""
            return f"Never again propose {about}{matter}."
        case "approved":
            return f"Approved {times}: {about}."
        case "rejected":
            return f"Rejected {times}: {about}" + (f", because “{value}”." if value else ".")
        case "snoozed":
            return f"Put off {times}: {about}" + (f", last for {value} days." if value else ".")
        case "unchanged":
            return f"Approved as it was {memory.support} times in a row: {about}, by {value}."
        case "ignored":
            return f"Left unanswered {memory.support} times in a row: {about}."


def _about_words(memory: Memory, entity: str) -> str:
    return " from ".join(part for part in (memory.scope.rule, entity) if part)
