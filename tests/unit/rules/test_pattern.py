"""Patterns find what Python's re finds, and take time linear in the text whatever they are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.cel.pattern import Pattern
from rules.cel.pattern_syntax import PatternError

atoms = st.sampled_from(
    ["a", "b", "c", ".", r"\d", r"\w", r"\s", "[ab]", "[^a]", "[a-c1]", r"[\d_]", "^", "$", r"\b", r"\."]
)
repeats = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,3}", "{2,}", "*?"])


def sequences(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(inner, min_size=1, max_size=3).map("".join)


def repeated(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(inner, repeats).map(lambda pair: f"(?:{pair[0]}){pair[1]}")


patterns = st.recursive(
    sequences(atoms),
    lambda inner: sequences(
        repeated(inner) | st.lists(inner, min_size=2, max_size=3).map(lambda w: f"({'|'.join(w)})")
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(patterns, st.lists(st.text("abc1_ .\n", max_size=12), min_size=1, max_size=4), st.booleans())
def test_it_finds_what_python_finds(source: str, texts: list[str], folded: bool) -> None:
    source = f"(?i){source}" if folded else source
    ours, theirs = Pattern(source), re.compile(source.replace("$", r"\Z"))
    for text in texts:
        assert ours.search(text) is (theirs.search(text) is not None), (source, text)


@pytest.mark.parametrize("source", [r"(a+)+$", r"(a|a)*b$", r"(.*)(.*)(.*)x$", r"(a?){50}a{50}$", r"([a-z]+)*\d"])
def test_a_pattern_that_would_take_for_ever_elsewhere_takes_one_pass(source: str) -> None:
    assert Pattern(source).search("a" * 20_000 + "!") is False


def test_memory_stays_bounded_whatever_the_texts_are() -> None:
    pattern = Pattern(r"(a|b).{12}c")
    for start in range(0, 60_000, 500):
        pattern.search("".join(chr(0x4E00 + (start + i) % 20_000) + "ab"[i % 2] for i in range(500)))
    assert sum(len(state.next) for state in pattern._states.values()) <= 20_000


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("(a", "'(' without ')'"),
        ("a)", "')' without '('"),
        ("[a", "it ends too early"),
        ("*a", "'*' has nothing to repeat"),
        ("a**", "a repeat of a repeat"),
        (r"(a)\1", r"'\1' is not supported"),
        ("(?=a)b", "only (...), (?:...) and (?i) at the start are supported"),
        ("a{200}", "a repeat count must be at most 100"),
        ("[z-a]", "the range z-a is backwards"),
        ("(" * 40 + ")" * 40, "nested too deep"),
        ("((a{50}){50})", "it is too long"),
        ("a\\", "it ends too early"),
    ],
)
def test_what_is_not_supported_is_refused_with_the_reason(source: str, reason: str) -> None:
    with pytest.raises(PatternError, match=re.escape(reason)):
        Pattern(source)


def test_case_is_folded_only_when_asked() -> None:
    assert Pattern("(?i)rechnung|ÜBER").search("Überweisung")
    assert not Pattern("rechnung").search("RECHNUNG")
