"""Spans: where in which part a fact was read, with a quote that a person can recognise."""

from __future__ import annotations

from extractors.text import one_line
from schemas.fact import Span

_AROUND = 200


def quoted(part: str, text: str, start: int, end: int, context_start: int, context_end: int) -> Span:
    """The span of ``text[start:end]``; its quote is the clause around it, or the span alone in a long clause."""
    if context_end - context_start > _AROUND:
        context_start, context_end = max(context_start, start - 80), min(context_end, end + 80)
    return Span(part=part, start=start, end=end, quote=one_line(text[context_start:context_end], 200))
