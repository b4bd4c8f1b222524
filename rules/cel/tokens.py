"""Tokens of a CEL expression: names, numbers, texts and operators, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rules.cel.errors import CelError

Kind = Literal["name", "int", "double", "string", "op", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    start: int
    end: int
    value: str | int | float | None = None
    """Of a literal."""


_TOKEN = re.compile(
    r"""
    (?P<space>(?:[ \t\r\n]|//[^\n]*)+)
  | (?P<string>[rR]?(?:\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
  | (?P<double>[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.[0-9]+(?:[eE][-+]?[0-9]+)?)
  | (?P<int>0[xX][0-9a-fA-F]+|[0-9]+)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<op>&&|\|\||==|!=|<=|>=|[-+*/%<>!?:.,()\[\]])
    """,
    re.VERBOSE | re.DOTALL,
)

_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ITSELF = "\\'\"`?"

INT_LIMIT = 2**63
"""One more than the largest int: only ``-9223372036854775808`` may reach it."""

_MEANT = {"=": "use '=='", "&": "use '&&'", "|": "use '||'", "{": "maps are not supported", ";": "remove it"}


def tokens(source: str) -> Iterator[Token]:
    """All tokens, then one of kind ``end``; CelError at the first character that starts none."""
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None:
            raise CelError(f"unexpected {source[at]!r}", at, remedy=_meant(source[at]))
        if found.lastgroup != "space":
            yield _token(found)
        at = found.end()
    yield Token("end", "", at, at)


def _meant(char: str) -> str:
    return "close the quotes" if char in "'\"" else _MEANT.get(char, "")


def _token(found: re.Match[str]) -> Token:
    text, start, end = found.group(), found.start(), found.end()
    match found.lastgroup:
        case "string":
            return Token("string", text, start, end, _unquote(text, start))
        case "double":
            return Token("double", text, start, end, float(text))
        case "int":
            return Token("int", text, start, end, _integer(text, start))
        case "name":
            return Token("name", text, start, end)
        case _:
            return Token("op", text, start, end)


def _integer(text: str, start: int) -> int:
    value = int(text, 16 if text[:2] in ("0x", "0X") else 10) if len(text) <= 20 else INT_LIMIT + 1
    if value > INT_LIMIT:
        raise CelError("this number does not fit in 64 bits", start)
    return value


def _unquote(text: str, start: int) -> str:
    raw = text[0] in "rR"
    quoted = text[1:] if raw else text
    width = 3 if quoted[:3] in ("'''", '"""') else 1
    body = quoted[width:-width]
    return body if raw else _ESCAPE.sub(lambda found: _unescape(found, start), body)


def _unescape(found: re.Match[str], start: int) -> str:
    code = found.group(1)
    if code[0] in "xuU" and len(code) > 1:
        return _char(int(code[1:], 16), start)
    if len(code) == 3:
        return _char(int(code, 8), start)
    if code in _SIMPLE:
        return _SIMPLE[code]
    if code in _ITSELF:
        return code
    raise CelError(f"unknown escape '\\{code}'", start, remedy="double the backslash, or write r'...'")


def _char(code: int, start: int) -> str:
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise CelError(f"no such character: U+{code:X}", start)
    return chr(code)
