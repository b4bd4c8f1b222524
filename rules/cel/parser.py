"""Parser: CEL text to a tree. No macros that loop, no maps, no messages: a rule looks at one event."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rules.cel.errors import CelError
from rules.cel.tokens import INT_LIMIT, Token, tokens

_WRITTEN_ELSEWHERE = {"and": "write '&&'", "or": "write '||'", "not": "write '!'", "is": "write '=='"}
"""Operators as other languages write them."""

MAX_DEPTH = 40
"""Of brackets and signs."""
MAX_TREE = 100
"""Of the tree: ``a || b || c`` is a tree of three levels."""
MAX_LENGTH = 4000


@dataclass(frozen=True, slots=True)
class Literal:
    value: str | int | float | bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Path:
    """``fact.invoice.amount``."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Items:
    """A list in brackets."""

    items: tuple[Node, ...]
    start: int
    end: int
    depth: int = 1


@dataclass(frozen=True, slots=True)
class Call:
    """A function, a method (its object comes first) or an operator (``-x`` is ``neg``, ``a ? b : c`` is ``?``)."""

    name: str
    args: tuple[Node, ...]
    start: int
    end: int
    depth: int = 1


Node = Literal | Path | Items | Call

_RESERVED = frozenset((
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "null", "return", "var", "void", "while",
))  # fmt: skip
_MACROS = frozenset(("all", "exists", "exists_one", "filter", "map"))
_RELATIONS = frozenset(("<", "<=", ">", ">=", "==", "!=", "in"))


def parse(source: str) -> Node:
    """The tree of an expression; CelError with the place of the first mistake."""
    if len(source) > MAX_LENGTH:
        raise CelError(f"longer than {MAX_LENGTH} characters", MAX_LENGTH, remedy="split it into several rules")
    return _Parser(source).whole()


def _call(name: str, args: tuple[Node, ...], start: int, end: int) -> Call:
    return Call(name, args, start, end, _depth(args, args[-1].start if args else start))


def _depth(args: tuple[Node, ...], at: int) -> int:
    """Of a node with these below it; CelError for one that would be too deep to be looked at."""
    deepest = max((arg.depth for arg in args if isinstance(arg, (Call, Items))), default=1)
    if deepest >= MAX_TREE:
        message = f"more than {MAX_TREE} operations, each on the result of the one before it"
        raise CelError(message, at, remedy="use 'in' with a list, or several conditions")
    return deepest + 1


class _Parser:
    def __init__(self, source: str) -> None:
        self._tokens = list(tokens(source))
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._expression()
        token = self._tokens[self._at]
        if token.kind != "end":
            remedy = _WRITTEN_ELSEWHERE.get(token.text.lower(), "an operator is missing before it")
            if re.fullmatch("[A-Z]{3}", token.text):
                remedy = "an amount is compared with a number: leave the currency out"
            raise CelError(f"unexpected {token.text!r}", token.start, remedy=remedy)
        return node

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CelError(f"nested deeper than {MAX_DEPTH} levels", self._tokens[self._at].start)
        node = self._ternary()
        self._depth -= 1
        return node

    def _ternary(self) -> Node:
        condition = self._either()
        if not self._takes("?"):
            return condition
        yes = self._either()
        self._needs(":")
        no = self._expression()
        return _call("?", (condition, yes, no), condition.start, no.end)

    def _either(self) -> Node:
        node = self._both()
        while self._takes("||"):
            right = self._both()
            node = _call("||", (node, right), node.start, right.end)
        return node

    def _both(self) -> Node:
        node = self._relation()
        while self._takes("&&"):
            right = self._relation()
            node = _call("&&", (node, right), node.start, right.end)
        return node

    def _relation(self) -> Node:
        node = self._sum()
        while (name := self._tokens[self._at].text) in _RELATIONS and self._tokens[self._at].kind in ("op", "name"):
            self._at += 1
            right = self._sum()
            node = _call(name, (node, right), node.start, right.end)
        return node

    def _sum(self) -> Node:
        node = self._product()
        while name := self._takes("+", "-"):
            right = self._product()
            node = _call(name, (node, right), node.start, right.end)
        return node

    def _product(self) -> Node:
        node = self._unary()
        while name := self._takes("*", "/", "%"):
            right = self._unary()
            node = _call(name, (node, right), node.start, right.end)
        return node

    def _unary(self) -> Node:
        start = self._tokens[self._at].start
        signs: list[str] = []
        while sign := self._takes("!", "-"):
            signs.append(sign)
            if len(signs) > MAX_DEPTH:
                raise CelError(f"nested deeper than {MAX_DEPTH} levels", start)
        negative = signs[-1:] == ["-"] and self._tokens[self._at].kind in ("int", "double")
        if negative:
            signs.pop()
        node = self._member(negative=negative)
        for sign in reversed(signs):
            node = _call("!" if sign == "!" else "neg", (node,), start, node.end)
        return node

    def _member(self, *, negative: bool) -> Node:
        node = self._primary(negative=negative)
        while True:
            if self._takes("."):
                node = self._select(node)
            elif self._takes("["):
                index = self._expression()
                node = _call("[]", (node, index), node.start, self._needs("]").end)
            else:
                return node

    def _select(self, node: Node) -> Node:
        token = self._tokens[self._at]
        if token.kind != "name":
            raise CelError("a name must follow the '.'", token.start)
        self._at += 1
        if self._takes("("):
            args = self._arguments(")")
            return self._called(token, (node, *args), node.start)
        if not isinstance(node, Path):
            raise CelError(f"{token.text!r} cannot be read from this", token.start, remedy="only fields have fields")
        return Path(f"{node.name}.{token.text}", node.start, token.end)

    def _primary(self, *, negative: bool) -> Node:
        token = self._tokens[self._at]
        self._at += 1
        if token.kind in ("int", "double", "string"):
            return self._literal(token, negative)
        if token.kind == "name":
            return self._name(token)
        if token.text == "(":
            inner = self._expression()
            self._needs(")")
            return inner
        if token.text == "[":
            items = self._arguments("]")
            return Items(items, token.start, self._tokens[self._at - 1].end, _depth(items, token.start))
        what = "the expression ends too early" if token.kind == "end" else f"unexpected {token.text!r}"
        raise CelError(what, token.start)

    def _literal(self, token: Token, negative: bool) -> Literal:
        assert token.value is not None
        if token.value == INT_LIMIT and token.kind == "int" and not negative:
            raise CelError("this number does not fit in 64 bits", token.start)
        if negative and not isinstance(token.value, str):
            return Literal(-token.value, token.start - 1, token.end)
        return Literal(token.value, token.start, token.end)

    def _name(self, token: Token) -> Node:
        if token.text in ("true", "false"):
            return Literal(token.text == "true", token.start, token.end)
        if token.text in _RESERVED:
            remedy = "test with has(field)" if token.text == "null" else ""
            raise CelError(f"{token.text!r} cannot be used here", token.start, remedy=remedy)
        if self._takes("("):
            return self._called(token, self._arguments(")"), token.start)
        return Path(token.text, token.start, token.end)

    def _called(self, token: Token, args: tuple[Node, ...], start: int) -> Call:
        if token.text in _MACROS:
            raise CelError(f"{token.text!r} is not supported", token.start, remedy="rules have no loops; use 'in'")
        return _call(token.text, args, start, self._tokens[self._at - 1].end)

    def _arguments(self, close: str) -> tuple[Node, ...]:
        args: list[Node] = []
        while not self._takes(close):
            if args:
                self._needs(",")
                if close == "]" and self._takes(close):
                    break
            args.append(self._expression())
        return tuple(args)

    def _takes(self, *texts: str) -> str:
        token = self._tokens[self._at]
        if token.kind == "op" and token.text in texts:
            self._at += 1
            return token.text
        return ""

    def _needs(self, text: str) -> Token:
        token = self._tokens[self._at]
        if not self._takes(text):
            found = repr(token.text) if token.text else "the end"
            raise CelError(f"expected {text!r} but found {found}", token.start)
        return token
