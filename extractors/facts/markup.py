"""schema.org objects in an HTML document: JSON-LD blocks, each by itself, and microdata."""

from __future__ import annotations

import html as entities
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from lxml.html import HtmlElement

_BLOCKS = 50
_BLOCK_CAP = 200_000
_ITEMS = 200
_DEPTH = 12
_WRAPPING = re.compile(r"^\s*(?:<!--|(?://|/\*)?\s*<!\[CDATA\[(?:\s*\*/)?)|(?:-->|(?://|/\*)?\s*\]\]>(?:\s*\*/)?)\s*$")
_STRING = r'("[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|\Z))'
_COMMENT = re.compile(_STRING + r"|<!--.*?(?:-->|\Z)|/\*.*?(?:\*/|\Z)|//[^\n]*", re.DOTALL)
_TRAILING_COMMA = re.compile(_STRING + r"|,(?=\s*+[}\]])", re.DOTALL)
"""Both match strings too, so that nothing inside of one is taken for a comment or a comma; both are linear."""
_TIDIED_CAP = 50_000
_TIDIED_BLOCKS = 5


def items(tree: HtmlElement) -> tuple[list[Mapping[str, Any]], int]:
    """All objects that have a type, and how many JSON-LD blocks were broken: one of them does not cost the others."""
    found: list[Mapping[str, Any]] = []
    broken = 0
    for script in tree.xpath("//script[contains(@type,'ld+json')]")[:_BLOCKS]:
        try:
            found += _objects(_parse(script.text or "", is_tidied=broken < _TIDIED_BLOCKS))
        except (ValueError, RecursionError):
            broken += 1
    found += (_microdata(scope, 0) for scope in tree.xpath("//*[@itemscope][not(@itemprop)]")[:_BLOCKS])
    return found[:_ITEMS], broken


def _parse(source: str, *, is_tidied: bool = True) -> Any:
    """The JSON of a block, as it is or else without the marks of comments around it; ``is_tidied``: without whole
    comments, trailing commas and escaped quotes too, which templates leave."""
    text = source[:_BLOCK_CAP].strip().rstrip(";")
    inner = _WRAPPING.sub("", _WRAPPING.sub("", text)).strip().rstrip(";")
    for candidate in (text, inner):
        with suppress(ValueError):
            return json.loads(candidate, strict=False)
    if not is_tidied or len(text) > _TIDIED_CAP:
        raise ValueError("no JSON")
    with suppress(ValueError):
        return json.loads(_tidied(text), strict=False)
    return json.loads(_tidied(entities.unescape(inner)), strict=False)


def _tidied(text: str) -> str:
    without_comments = _COMMENT.sub(_kept, text)
    return _TRAILING_COMMA.sub(_kept, without_comments).strip().rstrip(";")


def _kept(found: re.Match[str]) -> str:
    """Only strings are a group."""
    return found[1] or ""


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Objects of a block: alone, in a list, or in @graph."""
    if isinstance(value, list):
        for each in value[:_ITEMS]:
            yield from _objects(each)
    elif isinstance(value, dict):
        if "@type" in value:
            yield value
        yield from _objects(value.get("@graph", []))


def _microdata(scope: HtmlElement, depth: int) -> dict[str, Any]:
    """The JSON-LD form of an itemscope."""
    item: dict[str, Any] = {"@type": (scope.get("itemtype") or "").rstrip("/").rpartition("/")[2]}
    for element in _properties(scope):
        is_scope = element.get("itemscope") is not None
        value = _microdata(element, depth + 1) if is_scope and depth < _DEPTH else _value(element)
        for name in element.get("itemprop", "").split():
            item.setdefault(name, value)
    return item


def _properties(scope: HtmlElement) -> Iterator[HtmlElement]:
    """Elements with an itemprop that belong to this scope, and to none inside of it."""
    waiting = list(reversed(scope))
    while waiting:
        element = waiting.pop()
        if not isinstance(element.tag, str):
            continue
        if element.get("itemprop"):
            yield element
        if element.get("itemscope") is None:
            waiting += reversed(element)


def _value(element: HtmlElement) -> str:
    for name in ("content", "datetime", "href", "src"):
        if (value := element.get(name)) is not None:
            return str(value).strip()
    return " ".join(str(element.text_content()).split())[:500]
