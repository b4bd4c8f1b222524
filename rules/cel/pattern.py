"""Pattern: regular expressions in time linear in the text (Thompson's automaton, its states built as they are met)."""

from __future__ import annotations

from dataclasses import dataclass, field

from rules.cel.pattern_syntax import PatternError, is_word, program

__all__ = ["Pattern", "PatternError"]

_MAX_STATES = 500
_MAX_MOVES = 20_000
"""Remembered states and moves of one pattern: bounds its memory whatever the texts are."""


@dataclass(slots=True, eq=False)
class _State:
    """Where the automaton can be before reading a character. ``after_word``: the last character was of a word."""

    steps: frozenset[int]
    after_word: bool
    at_start: bool
    next: dict[str, _State | None] = field(default_factory=dict)
    """By the character read; None: the pattern was found."""


class Pattern:
    """``search(text)``: whether the pattern is found anywhere. No captures, no back-references, no look-around."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._program = program(source)
        self._moves = 0
        self._states: dict[tuple[frozenset[int], bool, bool], _State] = {}
        self._start = self._state(frozenset(), False, True)

    def search(self, text: str) -> bool:
        state = self._start
        for char in text:
            try:
                following = state.next[char]
            except KeyError:
                following = self._read(state, char)
            if following is None:
                return True
            state = following
        return self._close(state, None) is None

    def _read(self, state: _State, char: str) -> _State | None:
        steps = self._close(state, char)
        following = None
        if steps is not None:
            program = self._program
            moved = frozenset(program[at].to for at in steps if program[at].chars.has(char))  # type: ignore[union-attr]
            following = self._state(moved, is_word(char), False)
        if self._moves >= _MAX_MOVES:
            self._forget()
        self._moves += 1
        state.next[char] = following
        return following

    def _state(self, steps: frozenset[int], after_word: bool, at_start: bool) -> _State:
        key = (steps, after_word, at_start)
        if key not in self._states:
            if len(self._states) >= _MAX_STATES:
                self._forget()
            self._states[key] = _State(steps, after_word, at_start)
        return self._states[key]

    def _forget(self) -> None:
        """Drop the states met so far, so that memory stays bounded; the start keeps its place."""
        for state in self._states.values():
            state.next.clear()
        self._moves = 0
        self._states = {(frozenset(), False, True): self._start}

    def _close(self, state: _State, char: str | None) -> list[int] | None:
        """The character steps reachable without reading, from there or from the pattern's start; None: found."""
        todo = [0, *sorted(state.steps, reverse=True)]
        met: set[int] = set()
        steps: list[int] = []
        while todo:
            at = todo.pop()
            if at in met:
                continue
            met.add(at)
            step = self._program[at]
            if step.op == "match":
                return None
            if step.op == "char":
                steps.append(at)
            elif step.op != "assert":
                todo += (step.to, step.other) if step.op == "split" else (step.to,)
            elif _asserts(step.what, state, char):
                todo.append(step.to)
        return steps


def _asserts(what: str, state: _State, char: str | None) -> bool:
    match what:
        case "^":
            return state.at_start
        case "$":
            return char is None
        case _:
            boundary = state.after_word is not (char is not None and is_word(char))
            return boundary is (what == "b")
