"""Which playbooks and tools a few words are about: stems in common, rare ones count more (pure, no model)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from actions.planning.playbook import Playbook
from actions.tools.tool import Manifest

_WORD = re.compile(r"[^\W\d_]{3,}")
_COMMON = frozenset(
    """the and for with from that this them then than into onto you your yours our ours its mine out off all any can
    could would should will must may might please want need have has had get got let make made see say tell when before
    after until not was were are what where which who why how about there here one two new way""".split()  # noqa: SIM905
)
_STEM, _SHORTEST = 5, 4
"""Two words are one if they begin alike for this long, or all of the shorter one: renew and renewal, bill and bills."""
SURE = 2.0
"""From this score on a playbook is taken for what was meant."""


def terms(text: str) -> set[str]:
    return {word for word in _WORD.findall(text.lower()) if word not in _COMMON}


def ranked(text: str, playbooks: Iterable[Playbook]) -> list[tuple[float, Playbook]]:
    """Playbooks with a word in common, the best first; of equal ones the first by id."""
    every = sorted(playbooks, key=lambda playbook: playbook.id)
    named = {playbook.id: _named(playbook) for playbook in every}
    scored = [(_score(terms(text), named[playbook.id], named), playbook) for playbook in every]
    return sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])


def meant(text: str, playbooks: Iterable[Playbook]) -> Playbook | None:
    """The one playbook that these words are surely about; None in doubt."""
    found = ranked(text, playbooks)
    if not found or found[0][0] < SURE or (len(found) > 1 and found[1][0] == found[0][0]):
        return None
    return found[0][1]


def shortlist(
    text: str, manifests: Sequence[Manifest], always: Iterable[str], usual: Mapping[str, int], limit: int
) -> tuple[Manifest, ...]:
    """At most ``limit`` tools: those named in ``always``, then the ones whose description has most in common with the
    text, then those that are used most (``usual``)."""
    wanted, first = terms(text), set(always)
    named = {m.name: terms(f"{m.name.replace('.', ' ').replace('_', ' ')} {m.description}") for m in manifests}
    scored = {m.name: -_score(wanted, named[m.name], named) for m in manifests}
    order = sorted(manifests, key=lambda m: (m.name not in first, scored[m.name], -usual.get(m.name, 0), m.name))
    return tuple(sorted(order[:limit], key=lambda m: m.name))


def _named(playbook: Playbook) -> set[str]:
    return terms(f"{playbook.id.replace('-', ' ')} {playbook.title} {' '.join(playbook.words)}")


def _score(wanted: set[str], named: set[str], every: Mapping[str, set[str]]) -> float:
    """Sum over the words in common of how rare they are: a word of one playbook in twenty counts 3, of all 0."""
    shared = {word for word in wanted if any(_alike(word, other) for other in named)}
    return sum(math.log(len(every) / _holders(word, every)) for word in shared)


def _holders(word: str, every: Mapping[str, set[str]]) -> int:
    return sum(any(_alike(word, other) for other in named) for named in every.values())


def _alike(one: str, other: str) -> bool:
    if one == other:
        return True
    length = min(len(one), len(other), _STEM)
    return length >= _SHORTEST and one[:length] == other[:length]
