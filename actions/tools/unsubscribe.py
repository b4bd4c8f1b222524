"""mail.unsubscribe: out of a list by the one click of RFC 8058; never by a mail, never by visiting a page."""

from __future__ import annotations

import re
from email.message import EmailMessage

from actions.plain import clean
from actions.tools.kept import Kept
from actions.tools.mailbox import Mailboxes, bracketed, parsed
from actions.tools.send import ACCOUNT
from actions.tools.tool import Arg, Args, Manifest, Receipt
from actions.tools.web import Web
from actions.tools.wire import settled
from schemas.errors import StepFailed
from schemas.model import Json

MANIFEST = Manifest(
    name="mail.unsubscribe",
    version="1.0.0",
    description="Leave a mailing list by its one-click address (RFC 8058).",
    says="Leave the mailing list that the mail {message_id} came from",
    args={"message_id": Arg(type="MessageId", says="a mail of that list"), "account": ACCOUNT},
    returns={"host": "Text", "status": "Number"},
    minted=("status",),
    effect="outbound",
    effect_class="at_most_once",
    timeout_s=60.0,
    settle_s=300.0,
    hold_s=30.0,
    permissions={"scopes": ("mail:send",), "hosts": ("the one that the mail's List-Unsubscribe names",)},
)
_BODY = b"List-Unsubscribe=One-Click"
_HTTPS = re.compile(r"<\s*(https://[^<>\s]+)\s*>", re.IGNORECASE)
_COVERED = frozenset({"list-unsubscribe", "list-unsubscribe-post"})


class MailUnsubscribe:
    """The receipt is the list's own answer, kept: whether it keeps its word, only its silence will show."""

    manifest = MANIFEST

    def __init__(self, mailboxes: Mailboxes, web: Web, kept: Kept) -> None:
        self._mailboxes = mailboxes
        self._web = web
        self._kept = kept

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        async with self._mailboxes.open(str(args.get("account") or ""), "send") as box:
            raw = await box.read(bracketed(str(args["message_id"])))
        if raw is None:
            raise StepFailed("the mail is not there", code="not_found")
        url = one_click(parsed(raw))
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        reply = settled(await self._web.send("POST", url, headers=headers, content=_BODY))
        return await self._kept.keep(key, {"host": reply.host, "status": reply.status})

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        said = await self._kept.recall(key)
        if said != {"host": result["host"], "status": result["status"]}:
            return None
        return Receipt(what=f"the list answered {said['status']}", where=clean(str(said["host"]), 200))


def one_click(mail: EmailMessage) -> str:
    """The address to post to. StepFailed where the mail offers none, or its signature does not vouch for it."""
    if str(mail["List-Unsubscribe-Post"] or "").strip().lower() != "list-unsubscribe=one-click":
        raise StepFailed(
            "the list offers no one-click way out", code="invalid", remedy="open its own page, or mark it as spam"
        )
    addresses = _HTTPS.findall("".join(str(mail["List-Unsubscribe"] or "").split()))
    if len(addresses) != 1:
        raise StepFailed("the mail does not name one https address to leave the list", code="invalid")
    if not any(_covers(str(header)) for header in mail.get_all("DKIM-Signature") or []):
        raise StepFailed("no signature of the mail vouches for that address", code="denied")
    if _has_failed(mail):
        raise StepFailed("the mail's signature was found to be wrong by your mail server", code="denied")
    return str(addresses[0])


def _covers(signature: str) -> bool:
    tags = dict(part.strip().partition("=")[::2] for part in "".join(signature.split()).split(";") if "=" in part)
    return set(tags.get("h", "").lower().split(":")) >= _COVERED


def _has_failed(mail: EmailMessage) -> bool:
    """What the person's own server found stands first; other such headers may be the sender's."""
    results = mail.get_all("Authentication-Results") or []
    said = str(results[0]).lower() if results else ""
    return "dkim=" in said and "dkim=pass" not in said
