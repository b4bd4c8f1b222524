"""wait.until, wait.event, wait.reply: durable waits of the executor's own; nothing is held while they last."""

from __future__ import annotations

from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas.errors import StepFailed
from schemas.model import Json
from schemas.value import Integrity

MANIFEST = Manifest(
    name="wait.until",
    version="1.0.0",
    description="Wait until an instant.",
    says="Wait until {until}",
    args={"until": Arg(type="DateTime", says="when to go on")},
    returns={"woke_at": "DateTime"},
    integrity_out=Integrity.SYSTEM,
    minted=("woke_at",),
    effect="wait",
    effect_class="pure",
    reversible="yes",
)


ON_TIMEOUT = Arg(type="Text", required=False, says="go_on (the default) or fail, when nothing has come by then")
EVENT = Manifest(
    name="wait.event",
    version="1.0.0",
    description="Wait until an event comes in that is like this: a debit, a change in the calendar, a row.",
    says="Wait for {kind} until {until}{days}",
    args={
        "kind": Arg(type="Text", says="kind of event, such as bank.posted or calendar.changed"),
        "until": Arg(type="DateTime", required=False, says="how long to wait; this or days"),
        "days": Arg(type="Days", required=False, says="how many days to wait"),
        "on_timeout": ON_TIMEOUT,
    },
    open_args="match.",
    returns={
        "arrived": "Bool", "event": "Text", "at": "DateTime", "title": "Text", "sender": "Email", "amount": "Money",
    },
    effect="wait",
    effect_class="pure",
    reversible="yes",
)  # fmt: skip
REPLY = Manifest(
    name="wait.reply",
    version="1.0.0",
    description="Wait for an answer to a message that was sent.",
    says="Wait for an answer to {message_id}",
    args={
        "message_id": Arg(type="MessageId", says="the message that is to be answered"),
        "days": Arg(type="Days", required=False, says="how many days to wait; fourteen unless said"),
        "on_timeout": ON_TIMEOUT,
    },
    returns={"got_reply": "Bool", "event": "Text", "at": "DateTime", "title": "Text", "sender": "Email"},
    effect="wait",
    effect_class="pure",
    reversible="yes",
)


class Wait:
    """Only a manifest: the executor journals ``wait.started`` and ``wait.fired`` itself and never calls it."""

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        raise StepFailed("a wait is a timer, not a call", code="invalid")

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return None


class WaitUntil(Wait):
    def __init__(self) -> None:
        super().__init__(MANIFEST)


def all_waits() -> list[Wait]:
    return [Wait(MANIFEST), Wait(EVENT), Wait(REPLY)]
