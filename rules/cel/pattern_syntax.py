"""The syntax of patterns (RE2's, without captures): a text becomes a small program for the automaton."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MAX_PROGRAM = 1000
"""Instructions of one pattern: bounds the work per character."""
MAX_REPEAT = 100
_MAX_NESTING = 30


class PatternError(ValueError):
    """The pattern is wrong or not supported; the text says why."""


@dataclass(frozen=True, slots=True)
class Chars:
    """A set of characters."""

    ranges: tuple[tuple[str, str], ...] = ()
    classes: tuple[str, ...] = ()
    """``d w s`` and their complements ``D W S``."""
    negated: bool = False
    folded: bool = False

    def has(self, char: str) -> bool:
        forms = {char, char.lower(), char.upper()} if self.folded else {char}
        found = any(self._holds(form) for form in forms)
        return found is not self.negated

    def _holds(self, char: str) -> bool:
        if any(low <= char <= high for low, high in self.ranges):
            return True
        return any(_in_class(name, char) for name in self.classes)


def is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


def _in_class(name: str, char: str) -> bool:
    match name.lower():
        case "d":
            found = char.isdecimal()
        case "w":
            found = is_word(char)
        case _:
            found = char.isspace()
    return found is not name.isupper()


Op = Literal["char", "split", "jump", "assert", "match"]


@dataclass(slots=True)
class Step:
    """One instruction. ``to``: where to go on; ``other``: the second way of a split."""

    op: Op
    to: int = 0
    other: int = 0
    chars: Chars | None = None
    what: str = ""


@dataclass(frozen=True, slots=True)
class _Repeat:
    node: _Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class _Assert:
    what: str


_Sequence = tuple["_Node", ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    ways: tuple[_Node, ...]


_Node = Chars | _Assert | _Repeat | _Choice | _Sequence


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.folded = False
        self.nesting = 0
        if source.startswith("(?i)"):
            self.folded = True
            self.at = 4

    def whole(self) -> _Node:
        node = self.choice()
        if self.at < len(self.source):
            raise PatternError("')' without '('")
        return node

    def choice(self) -> _Node:
        ways = [self.sequence()]
        while self.take("|"):
            ways.append(self.sequence())
        return ways[0] if len(ways) == 1 else _Choice(tuple(ways))

    def sequence(self) -> _Node:
        parts: list[_Node] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts.append(self.repeated(self.atom()))
        return tuple(parts)

    def repeated(self, node: _Node) -> _Node:
        bounds = self.bounds()
        if bounds is None:
            return node
        self.take("?")
        if self.source[self.at : self.at + 1] in ("*", "+", "?"):
            raise PatternError("a repeat of a repeat")
        return _Repeat(node, *bounds)

    def bounds(self) -> tuple[int, int | None] | None:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        for sign, bounds in simple.items():
            if self.take(sign):
                return bounds
        end = self.source.find("}", self.at)
        if self.source[self.at : self.at + 1] != "{" or end < 0:
            return None
        least, comma, most = self.source[self.at + 1 : end].partition(",")
        if not least.isdecimal() or not (most == "" or most.isdecimal()):
            return None
        self.at = end + 1
        low, high = int(least[:5]), (int(most[:5]) if most else None) if comma else int(least[:5])
        if max(low, high or 0) > MAX_REPEAT or (high is not None and high < low):
            raise PatternError(f"a repeat count must be at most {MAX_REPEAT}")
        return low, high

    def atom(self) -> _Node:
        char = self.source[self.at]
        self.at += 1
        match char:
            case "(":
                return self.group()
            case "[":
                return self.brackets()
            case "\\":
                return self.escape()
            case ".":
                return Chars((("\n", "\n"),), negated=True)
            case "^" | "$":
                return _Assert(char)
            case "*" | "+" | "?":
                raise PatternError(f"{char!r} has nothing to repeat")
            case _:
                return Chars(((char, char),), folded=self.folded)

    def group(self) -> _Node:
        if self.take("?") and not self.take(":"):
            raise PatternError("only (...), (?:...) and (?i) at the start are supported")
        self.nesting += 1
        if self.nesting > _MAX_NESTING:
            raise PatternError("nested too deep")
        node = self.choice()
        self.nesting -= 1
        if not self.take(")"):
            raise PatternError("'(' without ')'")
        return node

    def escape(self) -> _Node:
        char = self.next()
        if char in "dwsDWS":
            return Chars(classes=(char,))
        if char in "bB":
            return _Assert(char)
        literal = self.literal(char)
        return Chars(((literal, literal),), folded=self.folded)

    def literal(self, char: str) -> str:
        simple = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}
        if char in simple:
            return simple[char]
        if char.isalnum():
            raise PatternError(f"'\\{char}' is not supported")
        return char

    def brackets(self) -> Chars:
        negated = self.take("^")
        ranges: list[tuple[str, str]] = []
        classes: list[str] = []
        first = True
        while first or not self.take("]"):
            first = False
            char = self.next()
            if char == "\\" and self.source[self.at : self.at + 1] in tuple("dwsDWS"):
                classes.append(self.next())
                continue
            low = self.literal(self.next()) if char == "\\" else char
            ranges.append((low, self.range_end(low)))
        return Chars(tuple(ranges), tuple(classes), negated, self.folded)

    def range_end(self, low: str) -> str:
        if self.source[self.at : self.at + 1] != "-" or self.source[self.at + 1 : self.at + 2] in ("]", ""):
            return low
        self.at += 1
        char = self.next()
        high = self.literal(self.next()) if char == "\\" else char
        if high < low:
            raise PatternError(f"the range {low}-{high} is backwards")
        return high

    def take(self, char: str) -> bool:
        if self.source.startswith(char, self.at):
            self.at += 1
            return True
        return False

    def next(self) -> str:
        if self.at >= len(self.source):
            raise PatternError("it ends too early")
        self.at += 1
        return self.source[self.at - 1]


def program(source: str) -> list[Step]:
    """The instructions of a pattern, starting at 0; PatternError says what is wrong or not supported."""
    steps: list[Step] = []
    _emit(_Reader(source).whole(), steps)
    steps.append(Step("match"))
    return steps


def _add(program: list[Step], step: Step) -> int:
    if len(program) >= MAX_PROGRAM:
        raise PatternError("it is too long")
    program.append(step)
    return len(program) - 1


def _emit(node: _Node, program: list[Step]) -> None:
    match node:
        case Chars():
            _add(program, Step("char", len(program) + 1, chars=node))
        case _Assert(what):
            _add(program, Step("assert", len(program) + 1, what=what))
        case _Choice(ways):
            _emit_choice(ways, program)
        case _Repeat(inner, least, most):
            _emit_repeat(inner, least, most, program)
        case tuple():
            for part in node:
                _emit(part, program)


def _emit_choice(ways: tuple[_Node, ...], program: list[Step]) -> None:
    ends: list[int] = []
    for way in ways[:-1]:
        split = _add(program, Step("split", len(program) + 1))
        _emit(way, program)
        ends.append(_add(program, Step("jump")))
        program[split].other = len(program)
    _emit(ways[-1], program)
    for end in ends:
        program[end].to = len(program)


def _emit_repeat(inner: _Node, least: int, most: int | None, program: list[Step]) -> None:
    for _ in range(least):
        _emit(inner, program)
    if most is None:
        split = _add(program, Step("split", len(program) + 1))
        _emit(inner, program)
        _add(program, Step("jump", split))
        program[split].other = len(program)
        return
    splits: list[int] = []
    for _ in range(most - least):
        splits.append(_add(program, Step("split", len(program) + 1)))
        _emit(inner, program)
    for split in splits:
        program[split].other = len(program)
