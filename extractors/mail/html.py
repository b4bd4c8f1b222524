"""HTML mail as text: what its reader sees, with and without the quoted mail below it, and the markup for machines."""

from __future__ import annotations

import html as entities
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inscriptis import Inscriptis
from inscriptis.css_profiles import STRICT_CSS_PROFILE
from inscriptis.html_properties import Display, WhiteSpace
from inscriptis.model.config import ParserConfig
from inscriptis.model.html_document_state import HtmlDocumentState
from inscriptis.model.html_element import HtmlElement as Style
from inscriptis.model.tag import CustomHtmlTagHandlerMapping
from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring

from extractors.facts import markup
from extractors.mail.hidden import drop_hidden
from extractors.text import clean

_QUOTES = (
    "//blockquote[@type='cite']|//*[contains(concat(' ',@class,' '),' gmail_quote ')]"
    "|//*[contains(concat(' ',@class,' '),' yahoo_quoted ')]|"
    "//*[contains(concat(' ',@class,' '),' moz-cite-prefix ')]"
)
_FORWARDED = re.compile(
    r"-{5,}\s?(?:Forwarded message|Weitergeleitete Nachricht|Message transféré|Mensaje reenviado)", re.I
)
_TAG = re.compile(r"<[^<>]{0,5000}>")
_CELL_TEXT = 80
"""A cell with at most this many characters is one value on its row."""


@dataclass(frozen=True, slots=True)
class Html:
    """``new_text`` lacks what the sender's program marked as quoted. ``items`` are schema.org objects (JSON-LD and
    microdata), ``broken_items`` the number of blocks that were no JSON."""

    text: str
    new_text: str
    items: Sequence[Mapping[str, Any]] = ()
    broken_items: int = 0


def read(source: str) -> Html:
    """Never raises for bad HTML. Time and memory grow with the length of the source, whatever its nesting."""
    tree = _parse(source)
    if tree is None:
        text = clean(entities.unescape(_TAG.sub(" ", source)))
        return Html(text, text)
    items, broken = markup.items(tree)
    drop_hidden(tree)
    _flatten(tree)
    text = _render(tree)
    quotes = [quote for quote in tree.xpath(_QUOTES) if not _FORWARDED.search(quote.text_content()[:200])]
    if not quotes:
        return Html(text, text, items, broken)
    for quote in quotes:
        if quote.getparent() is not None:
            quote.drop_tree()
    return Html(text, _render(tree), items, broken)


def _parse(source: str) -> HtmlElement | None:
    parser = HTMLParser(encoding="utf-8", huge_tree=False, no_network=True)
    try:
        tree: HtmlElement = document_fromstring(source.replace("\0", "").encode("utf-8", "replace"), parser=parser)
    except (etree.LxmlError, ValueError):
        return None
    # libxml2 gives up on what is nested too deep, and keeps nothing of it
    return tree if len(tree.text_content().strip()) or len(source) < 5_000 else None


def _flatten(tree: HtmlElement) -> None:
    """Takes the layout out: styles, and the blocks in short cells, so that a row of values is a line of text."""
    for element in tree.iter():
        for name in ("style", "align", "valign"):
            element.attrib.pop(name, None)
    cells: list[HtmlElement] = tree.xpath("//td[not(.//table)]|//th[not(.//table)]")
    for cell in cells:
        if len(cell.text_content()) <= _CELL_TEXT:
            for block in cell.iter("p", "div", "h1", "h2", "h3", "h4"):
                block.tag = "span"


def _space(state: HtmlDocumentState, _: Mapping[str, str]) -> None:
    state.tags[-1].canvas.write(state.tags[-1], "  ", whitespace=WhiteSpace.pre)


def _nothing(*_: object) -> None:
    """Tables are lines of cells: aligned columns cost memory for each cell, which a hostile mail can multiply."""


_CONFIG = ParserConfig(
    css={
        **STRICT_CSS_PROFILE,
        "head": Style(display=Display.none),
        "tr": Style(display=Display.block),
        "table": Style(display=Display.block),
        "center": Style(display=Display.block),
        "hr": Style(display=Display.block),
    },
    custom_html_tag_handler_mapping=CustomHtmlTagHandlerMapping(
        start_tag_mapping={"table": _nothing, "tr": _nothing, "td": _space, "th": _space},
        end_tag_mapping={"table": _nothing, "td": _nothing, "th": _nothing},
    ),
)


def _render(tree: HtmlElement) -> str:
    text: str = Inscriptis(tree, _CONFIG).get_text()
    return clean("\n".join(line.strip() for line in text.split("\n")))
