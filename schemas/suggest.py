"""Did-you-mean: the known word nearest to one that is not known."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable
from difflib import get_close_matches

_MOST_COMPARED = 1000
"""Of more words those are looked at that begin most like the unknown one."""
_LONGEST = 200


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?``; without a near one, the known words if they are few; else empty."""
    names = sorted(set(known))
    place = max(0, bisect(names, word) - _MOST_COMPARED // 2)
    near = get_close_matches(word[:_LONGEST], names[place : place + _MOST_COMPARED], n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"known: {', '.join(names)}" if 0 < len(names) <= 12 else ""
