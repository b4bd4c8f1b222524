"""A tolerant reader for OFX: SGML without closing tags (1.x) and XML (2.x) give the same tree of aggregates."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from extractors.bankfile.parsed import Refuse

_TAG = re.compile(r"<(/?)([A-Za-z][\w.]*)[^<>]*>([^<]*)")
_DEEPEST = 40
_VALUE_CAP = 4_000

_TRADE_WORDS = """
BUYDEBT BUYMF BUYOPT BUYOTHER BUYSTOCK SELLDEBT SELLMF SELLOPT SELLOTHER SELLSTOCK INCOME INVEXPENSE MARGININTEREST
RETOFCAP REINVEST CLOSUREOPT JRNLFUND JRNLSEC SPLIT TRANSFER
"""
_OTHER_WORDS = """
OFX SONRS STATUS BANKMSGSRSV1 CREDITCARDMSGSRSV1 INVSTMTMSGSRSV1 SECLISTMSGSRSV1 STMTTRNRS CCSTMTTRNRS INVSTMTTRNRS
STMTRS CCSTMTRS INVSTMTRS BANKACCTFROM CCACCTFROM INVACCTFROM BANKTRANLIST BANKTRANLISTP INVTRANLIST INVBANKTRAN
STMTTRN STMTTRNP PAYEE BANKACCTTO CCACCTTO CURRENCY ORIGCURRENCY LEDGERBAL AVAILBAL BALLIST BAL INVBAL INVPOSLIST
SECLIST SECINFO
"""
TRADES = frozenset(_TRADE_WORDS.split())
_AGGREGATES = TRADES | frozenset(_OTHER_WORDS.split())


@dataclass(slots=True)
class Aggregate:
    """``values``: the first value of each element below this aggregate and not below one of ``children``.

    ``is_closed``: the text went on behind it.
    """

    name: str
    values: dict[str, str] = field(default_factory=dict)
    children: list[Aggregate] = field(default_factory=list)
    is_closed: bool = False

    def get(self, *names: str) -> str:
        """The first of these elements that is there and not empty."""
        return next((value for name in names if (value := self.values.get(name))), "")

    def child(self, *names: str) -> Aggregate | None:
        return next((child for child in self.children if child.name in names), None)

    def walk(self, *names: str) -> Iterator[Aggregate]:
        """All aggregates of these names below this one, in order; not below one another."""
        for child in self.children:
            if child.name in names:
                yield child
            else:
                yield from child.walk(*names)


def read(text: str) -> Aggregate:
    """The tree of the aggregates that we know; what others hold counts as held by the one around them.

    A closing tag closes whatever is still open inside; one that fits nothing is passed over; an aggregate inside one of
    its own name means that the closing tag is missing.
    """
    root = Aggregate("")
    stack = [root]
    for found in _TAG.finditer(_without_sections(text)):
        closing, name, value = found.group(1), found.group(2).upper(), found.group(3)
        if closing:
            _close(stack, name)
        elif name in _AGGREGATES:
            _open(stack, name)
        elif value := value.strip():
            stack[-1].values.setdefault(name, html.unescape(value[:_VALUE_CAP]))
    return root


def _open(stack: list[Aggregate], name: str) -> None:
    if stack[-1].name == name:
        stack.pop().is_closed = True
    if len(stack) > _DEEPEST:
        raise Refuse("too_deep", f"aggregates are nested more than {_DEEPEST} deep")
    aggregate = Aggregate(name)
    stack[-1].children.append(aggregate)
    stack.append(aggregate)


def _close(stack: list[Aggregate], name: str) -> None:
    depth = next((i for i in range(len(stack) - 1, 0, -1) if stack[i].name == name), 0)
    if depth:
        for aggregate in stack[depth:]:
            aggregate.is_closed = True
        del stack[depth:]


def _without_sections(text: str) -> str:
    """CDATA sections as escaped text, comments gone."""
    for start, end, keep in (("<![CDATA[", "]]>", True), ("<!--", "-->", False)):
        if start in text:
            text = "".join(_spliced(text, start, end, keep))
    return text


def _spliced(text: str, start: str, end: str, keep: bool) -> Iterator[str]:
    at = 0
    while (begin := text.find(start, at)) >= 0 and (stop := text.find(end, begin)) >= 0:
        yield text[at:begin]
        if keep:
            yield html.escape(text[begin + len(start) : stop], quote=False)
        at = stop + len(end)
    yield text[at:]
