"""What would be made of a bank file, or of a folder of them, without storing anything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from extractors.bank.events import normalise
from extractors.bank.passbook import Passbook, Taken
from extractors.bankfile.folder import Found, content, listing, printable
from extractors.bankfile.parsed import MAX_BYTES, Given, Parsed, Refuse
from extractors.bankfile.reader import read
from extractors.bankfile.summary import summary
from extractors.connector import Context, Delete, Preview, PreviewOptions, Rejected, Upsert
from schemas.errors import ForewatchError
from schemas.event import Event
from schemas.ids import record_id
from schemas.record import Record

NAME = "bankfile"


def preview(path: Path, context: Context, options: PreviewOptions) -> Preview:
    """Never raises for what is in the file: that is in ``rejected`` and ``questions``. A file that ends in the middle
    is shown as far as it goes, and is rejected too."""
    given = Given(options.currency, answers=options.answers)
    parsed, rejected = _read_all(path, given)
    book = Passbook()
    taken = [book.take(context.account, each.statements) for each in parsed]
    again = [book.take(context.account, each.statements) for each in parsed]
    questions = [question for each in parsed for question in each.questions]
    warnings = [warning for each in parsed for warning in each.warnings]
    return Preview(
        kind=NAME,
        events=_events(taken, context),
        rejected=rejected,
        questions=questions,
        warnings=warnings,
        summary=summary(parsed, questions, warnings, is_rejected=bool(rejected), adds=[len(t.upserts) for t in again]),
    )


def _read_all(path: Path, given: Given) -> tuple[list[Parsed], list[Rejected]]:
    parsed: list[Parsed] = []
    rejected: list[Rejected] = []
    try:
        files = listing(path, was_read=False)
    except ForewatchError as error:
        return [], [Rejected(printable(path.name), "unreadable", str(error))]
    for found in files:
        try:
            each = read(_content(found), found.name, given)
        except Refuse as error:
            rejected.append(Rejected(found.name, error.code, error.reason))
            continue
        parsed.append(each)
        rejected += each.all_rejected(found.name)
        if each.is_cut:
            rejected.append(Rejected(found.name, "truncated", "the file ends in the middle"))
    if not files:
        rejected.append(Rejected(printable(path.name), "empty", "there is no file to read"))
    return parsed, rejected


def _content(found: Found) -> bytes:
    if found.size > MAX_BYTES:
        raise Refuse("too_large", f"larger than {MAX_BYTES // 2**20} MB")
    try:
        raw = content(found)
    except OSError as error:
        raise Refuse("unreadable", error.strerror or str(error)) from error
    if raw is None:
        raise Refuse("unfinished", "the file is still being written")
    return raw


def _events(taken: Sequence[Taken], context: Context) -> list[Event]:
    changes: list[Upsert | Delete] = []
    for each in taken:
        changes += each.upserts
        changes += each.deletes
    return [event for change in changes for event in normalise(_record(change, context), context)]


def _record(change: Upsert | Delete, context: Context) -> Record:
    """The record that a poll at this moment would store."""
    is_upsert = isinstance(change, Upsert)
    return Record(
        id=record_id(context.account, change.native_id, change.version),
        account=context.account,
        owner=context.owner,
        source=NAME,
        native_id=change.native_id,
        version=change.version,
        op="upsert" if is_upsert else "delete",
        fetched_at=context.now,
        raw=change.raw if isinstance(change, Upsert) else b"",
        meta=dict(change.meta),
    )
