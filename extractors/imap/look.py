"""What is new in a folder, what looks different and what is gone, by the cheapest way that its server offers.

With QRESYNC the server tells all of it when the folder is opened. With CONDSTORE it tells what changed, and the UIDs
are compared only if their number says that some are gone. Without both, UIDs and flags are compared.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from extractors.imap.answers import Standing
from extractors.imap.folders import Folder
from extractors.imap.known import LIMIT, Known, flag_bits
from extractors.imap.place import UNSEEN
from extractors.imap.session import Opened, Session


@dataclass(frozen=True, slots=True)
class Look:
    """``new`` and ``gone``: UIDs, ascending. ``flags``: bits by UID, of known mails that look different. ``is_reset``:
    the server gave all mails new UIDs. ``was_cut``: there are more mails than are watched."""

    folder: Folder
    standing: Standing
    new: Sequence[int]
    flags: Mapping[int, int]
    gone: Sequence[int]
    is_reset: bool = False
    was_cut: bool = False

    @property
    def is_emptied(self) -> bool:
        return not self.standing.exists


def look(session: Session, folder: Folder, before: Standing | None, known: Known) -> Look | None:
    """None: the folder cannot be opened."""
    opened = session.open(folder.name, before)
    if opened is None:
        return None
    standing = opened.standing
    if before is not None and before.validity != standing.validity:
        return _everything(session, folder, opened, UNSEEN, known, is_reset=True)
    if before is None or before.exists < 0 or not before.modseq or not standing.modseq:
        return _everything(session, folder, opened, before or UNSEEN, known)
    new = session.since(before.next) if standing.next > before.next else {}
    arrived = [uid for uid in sorted(new) if uid < standing.next]
    if session.can("QRESYNC"):
        gone = _named(opened.vanished, folder.name, known)
        return Look(folder, standing, arrived, _different(opened.flags, folder.name, known), gone)
    if before.exists + len(arrived) != standing.exists:
        return _everything(session, folder, opened, before, known)
    flags = session.changed(before.modseq) if standing.modseq != before.modseq else {}
    return Look(folder, standing, arrived, _different(flags, folder.name, known), [])


def _everything(
    session: Session, folder: Folder, opened: Opened, before: Standing, known: Known, *, is_reset: bool = False
) -> Look:
    """By the whole list of UIDs and flags, or the newest of them."""
    standing = opened.standing
    first = max(1, standing.exists - LIMIT + 1)
    listed = dict(session.listed(first, standing.exists))
    if not standing.next:
        standing = replace(standing, next=max(listed, default=0) + 1)
    mine = _mine(folder.name, known)
    if is_reset:
        gone, flags = mine, {}
    else:
        lowest = min(listed, default=0) if first > 1 else 0
        gone = [uid for uid in mine if uid not in listed and uid >= lowest]
        flags = _different(listed, folder.name, known)
    new = [uid for uid in sorted(listed) if before.next <= uid < standing.next]
    return Look(folder, standing, new, flags, gone, is_reset, was_cut=first > 1 and before.next <= 1)


def _different(flags: Mapping[int, Sequence[str]], folder: str, known: Known) -> dict[int, int]:
    found = {}
    for uid, words in flags.items():
        mail, bits = known.at(folder, uid), flag_bits(words)
        if mail is not None and mail.bits != bits and not mail.is_rejected:
            found[uid] = bits
    return found


def _named(vanished: Sequence[tuple[int, int]], folder: str, known: Known) -> list[int]:
    mine = _mine(folder, known)
    found: set[int] = set()
    for first, last in vanished:
        found.update(mine[bisect_left(mine, first) : bisect_right(mine, last)])
    return sorted(found)


def _mine(folder: str, known: Known) -> list[int]:
    return sorted(mail.uid for mail in known if mail.folder == folder and mail.uid)
