"""mail.send and mail.reply: a mail in the person's name, found among their sent mails before it counts as done."""

from __future__ import annotations

import asyncio
from email.message import EmailMessage
from email.utils import getaddresses
from pathlib import Path
from typing import Any

from actions import nominal
from actions.plain import clean
from actions.tools.letter import Attachment, Letter
from actions.tools.mailbox import Mailbox, Mailboxes, bracketed, message_id, parsed
from actions.tools.tool import Arg, Args, Manifest, Receipt
from actions.tools.tree import Tree
from schemas.clock import Clock
from schemas.errors import ForewatchError, StepFailed
from schemas.model import Json
from schemas.value import Integrity

ACCOUNT = Arg(type="AccountId", required=False, says="from which account; not needed where only one may send")
_ATTACHMENT = Arg(type="FilePath", required=False, says="a file to go along")


def outgoing(**more: Any) -> Manifest:
    """What all that send mail have in common: found by its key, and never sent again before it was looked for."""
    common: dict[str, Any] = {
        "version": "1.0.0",
        "returns": {"message_id": "MessageId", "to": "Email"},
        "integrity_out": Integrity.SYSTEM,
        "minted": ("message_id",),
        "effect": "outbound",
        "effect_class": "reconcile",
        "look_up": True,
        "timeout_s": 90.0,
        "settle_s": 600.0,
        "hold_s": 60.0,
        "permissions": {"scopes": ("mail:send",), "hosts": ("the mail server of the account",), "files": ("folders",)},
    }
    return Manifest.model_validate({**common, **more})


SEND = outgoing(
    name="mail.send",
    description="Send a mail.",
    says="Send a mail to {to}: {subject}",
    args={
        "to": Arg(type="Email", says="recipient"),
        "subject": Arg(type="Text", says="subject"),
        "body": Arg(type="Text", says="text"),
        "attachment": _ATTACHMENT,
        "account": ACCOUNT,
    },
)
REPLY = outgoing(
    name="mail.reply",
    description="Answer a mail, in its thread, to the one who wrote it.",
    says="Answer {to} (the mail {message_id}): {body}",
    args={
        "message_id": Arg(type="MessageId", says="the mail to answer"),
        "to": Arg(type="Email", says="its sender; anybody else is refused"),
        "body": Arg(type="Text", says="text"),
        "attachment": _ATTACHMENT,
        "account": ACCOUNT,
    },
)


class Sends:
    """A tool that sends one letter. ``letter`` is a function of the arguments and of what they name."""

    manifest: Manifest

    def __init__(self, mailboxes: Mailboxes, tree: Tree, clock: Clock) -> None:
        self._mailboxes = mailboxes
        self._tree = tree
        self._clock = clock

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        """What is there already is not sent again, even if nobody asked first."""
        async with self._mailboxes.open(str(args.get("account") or ""), "send") as box:
            letter = await self.letter(args, box)
            await box.send(letter.raw(key, self._clock.now()), letter.to, key)
            found = await _copy(box, key)
            return _told(found, letter.to, key, box)

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        async with self._mailboxes.open(str(args.get("account") or ""), "send") as box:
            raw = await box.sent(key)
            return None if raw is None else _told(parsed(raw), _recipient(parsed(raw)), key, box)

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        async with self._mailboxes.open(str(args.get("account") or ""), "send") as box:
            found = await _copy(box, key)
            if found is None or not (await self.letter(args, box)).is_said_by(found):
                return None
        where = str(found["Message-ID"]).strip()
        return Receipt(what="the mail among those sent, read back", where=where, details={"to": _recipient(found)})

    def foretold(self, args: Args, key: str) -> dict[str, Json]:
        """The Message-ID that we give; of a provider that makes one of its own it is not the last word."""
        address = self._mailboxes.address(str(args.get("account") or ""))
        return {"to": args["to"]} | ({"message_id": message_id(key, address)} if address else {})

    async def letter(self, args: Args, box: Mailbox) -> Letter:
        raise NotImplementedError

    async def attachments(self, args: Args) -> list[Attachment]:
        if not args.get("attachment"):
            return []
        path = str(args["attachment"])
        return [Attachment(Path(path).name, await asyncio.to_thread(self._tree.read, path))]


class MailSend(Sends):
    manifest = SEND

    async def letter(self, args: Args, box: Mailbox) -> Letter:
        attachments = await self.attachments(args)
        return Letter(box.address, str(args["to"]), str(args["subject"]), str(args["body"]), attachments)


class MailReply(Sends):
    """The recipient is the original's Reply-To or From. It is an argument too: what is approved says to whom."""

    manifest = REPLY

    async def letter(self, args: Args, box: Mailbox) -> Letter:
        wanted = bracketed(str(args["message_id"]))
        raw = await box.read(wanted)
        if raw is None:
            raise StepFailed("the mail to answer is not there any more", code="not_found")
        original = parsed(raw)
        to = correspondent(original)
        if str(args["to"]).lower() != to.lower():
            raise StepFailed(f"the mail came from {clean(to, 80)}, not from {args['to']}", code="denied")
        subject = clean(str(original["Subject"] or ""), 190)
        subject = subject if subject.lower().startswith(("re:", "aw:")) else f"Re: {subject}"
        thread = [*str(original["References"] or "").split(), wanted]
        return Letter(box.address, to, subject, str(args["body"]), await self.attachments(args), thread)


def correspondent(mail: EmailMessage) -> str:
    """Whom an answer goes to: one address, or StepFailed."""
    headers = [str(each) for each in (mail.get_all("Reply-To") or mail.get_all("From") or [])]
    found = [address for _, address in getaddresses(headers) if address]
    if len(found) != 1 or nominal.fault("Email", found[0]):
        raise StepFailed("the mail does not name one address to answer to", code="invalid", remedy="use mail.send")
    return found[0]


async def _copy(box: Mailbox, key: str) -> EmailMessage | None:
    """What can be seen of it; nothing where looking fails: it was handed over all the same."""
    try:
        raw = await box.sent(key)
    except ForewatchError:
        return None
    return None if raw is None else parsed(raw)


def _recipient(mail: EmailMessage) -> str:
    return next((address for _, address in getaddresses([str(mail["To"] or "")])), "")


def _told(copy: EmailMessage | None, to: str, key: str, box: Mailbox) -> dict[str, Json]:
    given = str(copy["Message-ID"] or "").strip() if copy is not None else ""
    return {"message_id": given or message_id(key, box.address), "to": to}
