"""CSV exports of banks: a table under a detected profile becomes statements."""

from __future__ import annotations

from extractors.bankfile import questions
from extractors.bankfile.csvlines import is_short, lines_of
from extractors.bankfile.csvstatement import UNKNOWN, statements
from extractors.bankfile.decoding import decode, is_binary
from extractors.bankfile.labels import labels
from extractors.bankfile.parsed import Given, Parsed, Refuse
from extractors.bankfile.profile import profile
from extractors.bankfile.table import Table, table


def is_csv(head: bytes) -> bool:
    """Whether the beginning of a file has a header row that we know."""
    if is_binary(head):
        return False
    try:
        table(decode(head).text.rsplit("\n", 1)[0] + "\n")
    except Refuse:
        return False
    return True


def parse(raw: bytes, where: str, given: Given) -> Parsed:
    decoded = decode(raw)
    found = table(decoded.text)
    parsed = parse_table(found, Parsed("csv", warnings=list(decoded.warnings)), where, given)
    parsed.is_open = not decoded.text.endswith(("\n", "\r"))
    parsed.is_cut = parsed.is_open and bool(found.body) and is_short(found, found.body[-1])
    return parsed


def parse_table(found: Table, parsed: Parsed, where: str, given: Given) -> Parsed:
    """``parsed`` with what the table holds."""
    lines, around = lines_of(found, parsed, where)
    told = labels([*found.preamble, *around])
    known = profile(found, told, parsed, where, given)
    if known is not None:
        read_as = list(statements(lines, known, told, parsed, where))
        if any(statement.currency == UNKNOWN for statement in read_as):
            parsed.questions.append(questions.currency(where))
            parsed.drafts = read_as
        else:
            parsed.statements = read_as
    if not (lines or parsed.rejected):
        parsed.warn("the table has no rows")
    return parsed
