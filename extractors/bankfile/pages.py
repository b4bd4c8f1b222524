"""Pages of one statement, tied together by their intermediate balances."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from extractors.bank.row import Statement


@dataclass(frozen=True, slots=True)
class Page:
    """``continues``: it opens with an intermediate balance; ``is_continued``: it ends with one."""

    statement: Statement
    continues: bool
    is_continued: bool


def joined(pages: Iterable[Page]) -> list[Statement]:
    """The statements: an intermediate balance is not the beginning or end of one if its neighbour page is there."""
    found: list[Page] = []
    for page in pages:
        if found and page.continues and found[-1].is_continued and _same(page.statement, found[-1].statement):
            first = found[-1].statement
            whole = replace(
                page.statement,
                rows=(*first.rows, *page.statement.rows),
                opening=first.opening,
                opening_on=first.opening_on,
            )
            found[-1] = replace(page, statement=whole)
        else:
            found.append(page)
    return [page.statement for page in found]


def _same(page: Statement, before: Statement) -> bool:
    same_number = page.number == before.number or not (page.number and before.number)
    return page.account == before.account and page.currency == before.currency and same_number
