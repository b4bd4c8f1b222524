"""mail.label and mail.move: mails of the person's own, sorted; what was there before is kept, for the undo."""

from __future__ import annotations

from actions.plain import clean
from actions.tools.kept import Kept
from actions.tools.mailbox import Mailboxes, bracketed
from actions.tools.notify import TEN_YEARS_S
from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas.errors import StepFailed
from schemas.model import Json
from schemas.plan import Ref, Undo
from schemas.value import Integrity

ACCOUNT = Arg(type="AccountId", required=False, says="in which account; not needed where only one may be changed")

LABEL = Manifest(
    name="mail.label",
    version="1.0.0",
    description="Give a mail a label or flag, or take it away (seen, flagged, or a word of the owner's).",
    says="Set the label “{label}” of the mail {message_id}: {on}",
    args={
        "message_id": Arg(type="MessageId", says="which mail"),
        "label": Arg(type="Text", says="the label"),
        "on": Arg(type="Bool", says="give it, or take it away"),
        "account": ACCOUNT,
    },
    returns={"message_id": "MessageId", "label": "Text", "was": "Bool", "account": "AccountId"},
    integrity_out=Integrity.SYSTEM,
    minted=("was",),
    effect="write_self",
    effect_class="keyed",
    key_ttl_s=TEN_YEARS_S,
    look_up=True,
    timeout_s=60.0,
    settle_s=120.0,
    undo=Undo(
        tool="mail.label",
        args={
            "message_id": Ref(step="self", field="message_id"),
            "label": Ref(step="self", field="label"),
            "on": Ref(step="self", field="was"),
            "account": Ref(step="self", field="account"),
        },
    ),
    reversible="yes",
    permissions={"scopes": ("mail:write",), "hosts": ("the mail server of the account",)},
)
MOVE = Manifest(
    name="mail.move",
    version="1.0.0",
    description="Move a mail into another folder of the owner's.",
    says="Move the mail {message_id} to {folder}",
    args={
        "message_id": Arg(type="MessageId", says="which mail"),
        "folder": Arg(type="Text", says="where to"),
        "account": ACCOUNT,
    },
    returns={"message_id": "MessageId", "folder": "Text", "previous_folder": "Text", "account": "AccountId"},
    integrity_out=Integrity.SYSTEM,
    minted=("previous_folder",),
    effect="write_self",
    effect_class="keyed",
    key_ttl_s=TEN_YEARS_S,
    look_up=True,
    timeout_s=60.0,
    settle_s=120.0,
    undo=Undo(
        tool="mail.move",
        args={
            "message_id": Ref(step="self", field="message_id"),
            "folder": Ref(step="self", field="previous_folder"),
            "account": Ref(step="self", field="account"),
        },
    ),
    reversible="yes",
    permissions={"scopes": ("mail:write",), "hosts": ("the mail server of the account",)},
)


class MailLabel:
    """Setting what is set already changes nothing, so a second call is harmless; what was there is kept first."""

    manifest = LABEL

    def __init__(self, mailboxes: Mailboxes, kept: Kept) -> None:
        self._mailboxes = mailboxes
        self._kept = kept

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        message, label = bracketed(str(args["message_id"])), _label(args)
        async with self._mailboxes.open(str(args.get("account") or ""), "write") as box:
            labels = await box.labels(message)
            if labels is None:
                raise StepFailed("the mail is not there", code="not_found")
            told: dict[str, Json] = {"message_id": message, "label": label, "was": label in labels}
            out = await self._kept.keep(key, {**told, "account": str(args.get("account") or "")})
            if (label in labels) is not bool(args["on"]):
                await box.relabel(message, label, on=bool(args["on"]))
        return out

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        out = await self._kept.recall(key)
        return out if out is not None and await self._is_so(args) else None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        if not await self._is_so(args):
            return None
        return Receipt(what="the labels, read back", where=str(args["message_id"]), details={_label(args): args["on"]})

    async def _is_so(self, args: Args) -> bool:
        async with self._mailboxes.open(str(args.get("account") or ""), "write") as box:
            labels = await box.labels(bracketed(str(args["message_id"])))
        return labels is not None and (_label(args) in labels) is bool(args["on"])


class MailMove:
    manifest = MOVE

    def __init__(self, mailboxes: Mailboxes, kept: Kept) -> None:
        self._mailboxes = mailboxes
        self._kept = kept

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        message, folder = bracketed(str(args["message_id"])), _folder(args)
        async with self._mailboxes.open(str(args.get("account") or ""), "write") as box:
            before = await box.folder(message)
            if before is None:
                raise StepFailed("the mail is not there", code="not_found")
            told: dict[str, Json] = {"message_id": message, "folder": folder, "previous_folder": before}
            out = await self._kept.keep(key, {**told, "account": str(args.get("account") or "")})
            if not await box.is_in(message, folder):
                await box.move(message, folder)
        return out

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        out = await self._kept.recall(key)
        return out if out is not None and await self._is_there(args) else None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        if not await self._is_there(args):
            return None
        return Receipt(what="the mail, found in the folder", where=_folder(args))

    async def _is_there(self, args: Args) -> bool:
        async with self._mailboxes.open(str(args.get("account") or ""), "write") as box:
            return await box.is_in(bracketed(str(args["message_id"])), _folder(args))


def _label(args: Args) -> str:
    """A word that every provider can hold (an IMAP keyword is an atom). StepFailed."""
    label = clean(str(args["label"]), 60).lower().replace(" ", "_")
    if not label or not label.isascii() or any(c in '(){%*"\\]' for c in label):
        raise StepFailed(f"{label!r} can be no label", code="invalid", remedy="use letters, digits, - and _")
    return label


def _folder(args: Args) -> str:
    folder = clean(str(args["folder"]), 200)
    if not folder:
        raise StepFailed("which folder?", code="invalid")
    return folder
