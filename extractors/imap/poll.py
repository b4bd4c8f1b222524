"""One poll of a mailbox, as bounded pages: new mail first, then what looks different, then what is gone.

A mail is known by its content, so it stays the same mail when the server numbers its mails anew or a person moves it:
what has lost its place waits until all new places were looked at, and only what was found nowhere is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from extractors.connector import Context, Delete, Page, Rejected, Upsert
from extractors.imap.answers import Envelope, Standing
from extractors.imap.config import ImapConfig
from extractors.imap.folders import INBOX, Folder, chosen
from extractors.imap.known import LIMIT, Seen, flag_bits, flag_names, location_id, shares
from extractors.imap.look import Look, look
from extractors.imap.place import Place
from extractors.imap.reading import PageSize, Reader
from extractors.imap.session import Session
from extractors.mail import limits
from extractors.mail.content import content_key
from extractors.mail.slim import slim
from schemas.errors import AuthError, PoisonError, TransientError
from schemas.model import Json

CONTENT_TYPE = "message/rfc822"


@dataclass(slots=True)
class _Draft:
    """A page in the making."""

    upserts: list[Upsert] = field(default_factory=list)
    deletes: list[Delete] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.upserts) + len(self.deletes) + len(self.rejected)


class Poll:
    """Its ``pages`` block: they belong in a thread."""

    def __init__(self, session: Session, place: Place, config: ImapConfig, context: Context, page: PageSize) -> None:
        self._session = session
        self._place = place
        self._config = config
        self._page = page
        self._warnings: list[str] = []
        self._is_reset = False
        oldest = context.now - timedelta(days=config.max_age_days) if config.max_age_days else None
        self._reader = Reader(session, page, oldest)

    def pages(self) -> Iterator[Page]:
        folders, standings = self._surveyed()
        if self._is_unchanged(folders, standings):
            yield Page(warnings=self._warnings, complete=True)
            return
        looks = self._believed(self._looks(folders))
        if not looks:
            yield Page(warnings=self._warnings, complete=True)
            return
        self._is_reset = any(each.is_reset for each in looks)
        for each in looks:
            self._begin(each)
        for each in looks:
            yield from self._arrivals(each)
        for each in looks:
            yield from self._flagged(each)
        yield from self._departures(looks)

    def _surveyed(self) -> tuple[list[Folder], dict[str, Standing | None]]:
        """The folders to read, and how those stand that we know: one round trip."""
        asked = list(dict.fromkeys([*(self._config.folders or [INBOX]), *self._place.folders]))
        listing, answers = self._session.survey(asked)
        standings = dict(zip(asked, answers, strict=True))
        folders = chosen(listing, self._config)
        there = {folder.name for folder in folders}
        missing = [name for name in self._config.folders or self._place.folders if name not in there]
        self._warnings += [f"the folder {name} is not there; its mails are kept" for name in missing]
        if not folders:
            raise AuthError(
                f"none of the folders is there on {self._config.host}", remedy="forewatch accounts test lists them"
            )
        return folders, standings

    def _is_unchanged(self, folders: Sequence[Folder], standings: dict[str, Standing | None]) -> bool:
        """The server counts changes, and has counted none."""
        places = self._place.folders
        return all(
            (before := places.get(folder.name)) is not None
            and before.modseq > 0
            and before == standings.get(folder.name)
            for folder in folders
        )

    def _looks(self, folders: Sequence[Folder]) -> list[Look]:
        if self._config.folders:
            self._place.forget(set(self._config.folders))
        found = []
        for folder in folders:
            seen = look(self._session, folder, self._place.folders.get(folder.name), self._place.known)
            if seen is None:
                self._warnings.append(f"the folder {folder.name} cannot be opened; its mails are kept")
            else:
                found.append(seen)
        if not found:
            raise TransientError(f"{self._config.host} opens no folder")
        return self._bounded(found)

    def _bounded(self, looks: list[Look]) -> list[Look]:
        """Of more mails than can be watched, the newest of each folder."""
        allowed = shares([len(each.new) for each in looks], LIMIT)
        if any(each.was_cut for each in looks) or any(
            len(each.new) > share for each, share in zip(looks, allowed, strict=True)
        ):
            self._warnings.append(f"more than {LIMIT} mails: only the newest are watched; max_age_days narrows it down")
        return [
            replace(each, new=each.new[len(each.new) - share :]) for each, share in zip(looks, allowed, strict=True)
        ]

    def _believed(self, looks: Sequence[Look]) -> list[Look]:
        """Without those that are empty as by a server that lost its disk; nothing is deleted for them."""
        watched = {mail.folder for mail in self._place.known if not mail.is_gone and not mail.is_rejected}
        if watched and all(each.is_emptied for each in looks):
            self._warnings.append("all mail is suddenly gone; nothing is deleted until new mail comes")
            return []
        doubtful = [each for each in looks if each.is_emptied and each.is_reset and each.folder.name in watched]
        self._warnings += [
            f"the folder {each.folder.name} is suddenly new and empty; nothing is deleted until mail comes"
            for each in doubtful
        ]
        return [each for each in looks if each not in doubtful]

    def _begin(self, each: Look) -> None:
        """From now on the cursor says that this folder was not looked at to its end."""
        before = self._place.folders.get(each.folder.name)
        is_same = before is not None and not each.is_reset
        following = before.next if is_same and before is not None else 1
        self._place.folders[each.folder.name] = Standing(each.standing.validity, following, -1)
        for uid in each.gone:
            if (mail := self._place.known.at(each.folder.name, uid)) is not None:
                self._place.known.loses_place(mail)

    def _arrivals(self, each: Look) -> Iterator[Page]:
        for part, bodies in self._reader.read(each, each.new):
            draft = _Draft()
            for mail in part:
                if mail.size > limits.MESSAGE_BYTES:
                    self._reject_unread(draft, each, mail)
                elif (raw := bodies.get(mail.uid)) is not None:
                    self._arrived(draft, each.folder, mail, raw)
            place = self._place.folders[each.folder.name]
            self._place.folders[each.folder.name] = replace(place, next=part[-1].uid + 1)
            yield self._paged(draft)
        if self._reader.unanswered:
            yield self._paged(self._unreadable(each))

    def _unreadable(self, each: Look) -> _Draft:
        """What the server lists and does not show: broken on its disk. What is gone by now is no loss."""
        draft = _Draft()
        for uid, flags in self._session.still(self._reader.unanswered).items():
            seen = Seen(
                location_id(each.folder.name, each.standing.validity, uid), each.folder.name, uid, flag_bits(flags)
            )
            self._reject(draft, seen, PoisonError("the server does not show it", code="unreadable"))
        return draft

    def _reject_unread(self, draft: _Draft, each: Look, mail: Envelope) -> None:
        native_id = location_id(each.folder.name, each.standing.validity, mail.uid)
        reason = PoisonError(f"it has {mail.size} bytes: too large", code="too_large")
        self._reject(draft, Seen(native_id, each.folder.name, mail.uid, flag_bits(mail.flags)), reason)

    def _arrived(self, draft: _Draft, folder: Folder, mail: Envelope, raw: bytes) -> None:
        key, bits = content_key(raw), flag_bits(mail.flags)
        native_id, before = self._place.known.place_for(key)
        if before is None:
            self._add(draft, folder, Seen(native_id, folder.name, mail.uid, bits), mail.at, raw, key, is_new=True)
            return
        seen = before.now(folder.name, mail.uid, bits)
        if seen.version == before.version:
            self._place.known.put(seen)
        else:
            self._add(draft, folder, seen, mail.at, raw, key, is_new=False)

    def _add(
        self, draft: _Draft, folder: Folder, seen: Seen, at: datetime | None, raw: bytes, key: str, *, is_new: bool
    ) -> None:
        try:
            upsert = self._upsert(folder, seen, at, raw, key, is_new=is_new)
        except PoisonError as error:
            self._reject(draft, seen, error)
        else:
            draft.upserts.append(upsert)
            self._place.known.put(seen)

    def _upsert(self, folder: Folder, seen: Seen, at: datetime | None, raw: bytes, key: str, *, is_new: bool) -> Upsert:
        slimmed = slim(raw)
        meta: dict[str, Json] = {
            "folder": folder.name,
            "flags": list(flag_names(seen.bits)),
            "role": folder.role,
            "owners": list(self._config.owners),
        }
        if at is not None:
            meta["file_time"] = at.isoformat()
        if slimmed.left_out:
            meta["content_key"] = key
            meta["left_out"] = {path: list(what) for path, what in slimmed.left_out.items()}
        return Upsert(seen.id, seen.version, slimmed.raw, CONTENT_TYPE, is_new, meta)

    def _reject(self, draft: _Draft, seen: Seen, error: PoisonError) -> None:
        """Known from now on, so that it is told once."""
        draft.rejected.append(Rejected(f"{seen.folder}/{seen.uid}", error.code, error.message))
        self._place.known.put(replace(seen, is_rejected=True))

    def _flagged(self, each: Look) -> Iterator[Page]:
        uids = [uid for uid in sorted(each.flags) if self._place.known.at(each.folder.name, uid) is not None]
        for part, bodies in self._reader.read(each, uids):
            draft = _Draft()
            for mail in part:
                before = self._place.known.at(each.folder.name, mail.uid)
                if before is not None and (raw := bodies.get(mail.uid)) is not None:
                    seen = before.now(each.folder.name, mail.uid, each.flags[mail.uid])
                    self._add(draft, each.folder, seen, mail.at, raw, content_key(raw), is_new=False)
            yield self._paged(draft)

    def _departures(self, looks: Sequence[Look]) -> Iterator[Page]:
        """What has found no place again, and the cursor of a poll that came to its end."""
        seen = {each.folder.name for each in looks}
        gone = [mail for mail in self._place.known.homeless() if mail.folder in seen]
        draft = _Draft()
        for mail in gone:
            if len(draft) >= self._page.mails:
                yield self._paged(draft)
                draft = _Draft()
            departed = mail.gone()
            self._place.known.put(departed)
            draft.deletes.append(Delete(departed.id, departed.version))
        for each in looks:
            self._place.folders[each.folder.name] = each.standing
        self._place.known.tidy()
        yield self._paged(draft, complete=True)

    def _paged(self, draft: _Draft, *, complete: bool = False) -> Page:
        return Page(
            upserts=draft.upserts,
            deletes=draft.deletes,
            rejected=draft.rejected,
            warnings=self._warnings if complete else (),
            next_cursor=self._place.cursor(),
            complete=complete,
            reset=self._is_reset,
        )
