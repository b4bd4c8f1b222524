"""mail.draft: a draft in the owner's Maildir, which any mail program shows; the person sends it."""

from __future__ import annotations

import asyncio
import email.policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import format_datetime
from pathlib import Path

from actions.plain import clean, clean_lines
from actions.tools.folder import Folder
from actions.tools.notify import TEN_YEARS_S
from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas.clock import Clock
from schemas.model import Json
from schemas.value import Integrity

_POLICY = email.policy.SMTP.clone(max_line_length=None)

MANIFEST = Manifest(
    name="mail.draft",
    version="1.0.0",
    description="Write a draft into the Drafts folder; nothing is sent.",
    says="Write a draft to {to}: {subject}",
    args={
        "to": Arg(type="Email", says="recipient"),
        "subject": Arg(type="Text", says="subject"),
        "body": Arg(type="Text", says="text"),
        # only names the thread, and a mail program shows it there: it decides nothing
        "in_reply_to": Arg(type="MessageId", sink="content", required=False, says="the mail it answers"),
    },
    returns={"message_id": "MessageId", "path": "FilePath"},
    integrity_out=Integrity.SYSTEM,
    minted=("message_id", "path"),
    effect="write_self",
    effect_class="keyed",
    key_ttl_s=TEN_YEARS_S,
    look_up=True,
    settle_s=35.0,
    reversible="yes",
    permissions={"files": ("drafts",)},
)


class MailDraft:
    """``drafts`` is the Maildir of the Drafts folder itself (with cur, new and tmp).

    Our Message-ID comes from the key, so a draft is found again even after a mail program has renamed its file.
    """

    manifest = MANIFEST

    def __init__(self, drafts: Path, sender: str, clock: Clock) -> None:
        self._maildir = Folder(drafts)
        self._sender = sender
        self._clock = clock

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        found = await self.look_up(args, key)
        return found if found is not None else await asyncio.to_thread(self._deliver, args, key)

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return await asyncio.to_thread(self._find, key)

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        found = await asyncio.to_thread(self._find, key)
        message = await asyncio.to_thread(self._read, key)
        if found is None or message is None or not _says(message, args, key):
            return None
        return Receipt(what="the draft, read back", where=str(found["path"]), details={"to": str(args["to"])})

    def _deliver(self, args: Args, key: str) -> dict[str, Json]:
        """From tmp into cur, whole, with the flags of a draft that was seen: what Maildir readers expect."""
        tmp, cur, name = self._maildir.sub("tmp"), self._maildir.sub("cur"), f"{key}.forewatch:2,DS"
        self._maildir.sub("new").ensure()
        tmp.deliver(cur, name, self._message(args, key).as_bytes(policy=_POLICY))
        return self._there(key, cur.root / name)

    def _find(self, key: str) -> dict[str, Json] | None:
        path = self._file(key)
        return self._there(key, path) if path else None

    def _file(self, key: str) -> Path | None:
        for part in ("cur", "new"):
            folder = self._maildir.sub(part)
            for name in folder.names():
                if name.startswith(f"{key}.") and not (folder.root / name).is_symlink():
                    return folder.root / name
        return self._searched(key)

    def _searched(self, key: str) -> Path | None:
        """By Message-ID, for mail programs that give files names of their own."""
        wanted = message_id(key).encode()
        for part in ("cur", "new"):
            folder = self._maildir.sub(part)
            for name in folder.names():
                path = folder.root / name
                if path.is_file() and not path.is_symlink() and wanted in _head(path):
                    return path
        return None

    def _read(self, key: str) -> EmailMessage | None:
        path = self._file(key)
        if path is None:
            return None
        return BytesParser(policy=email.policy.default).parsebytes(path.read_bytes())

    def _there(self, key: str, path: Path) -> dict[str, Json]:
        return {"message_id": message_id(key), "path": str(path)}

    def _message(self, args: Args, key: str) -> EmailMessage:
        message = EmailMessage(policy=_POLICY)
        message["From"] = self._sender
        message["To"] = str(args["to"])
        message["Subject"] = clean(str(args["subject"]), 200)
        message["Date"] = format_datetime(self._clock.now())
        message["Message-ID"] = message_id(key)
        if args.get("in_reply_to"):
            thread = clean(str(args["in_reply_to"]), 900)
            message["In-Reply-To"] = message["References"] = thread if thread.startswith("<") else f"<{thread}>"
        message.set_content(_body(args), cte="8bit")
        return message


def message_id(key: str) -> str:
    return f"<{key}@drafts.forewatch>"


def _body(args: Args) -> str:
    return clean_lines(str(args["body"]), 20_000) + "\n"


def _says(message: EmailMessage, args: Args, key: str) -> bool:
    """What the world holds is what was asked for; line ends may differ."""
    body = message.get_content() if not message.is_multipart() else ""
    return (
        str(message["Message-ID"]).strip() == message_id(key)
        and str(message["To"]).strip() == str(args["to"])
        and str(message["Subject"]).strip() == clean(str(args["subject"]), 200)
        and str(body).split() == _body(args).split()
    )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(8_192)
