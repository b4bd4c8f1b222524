"""wait.until: a durable timer of the executor's own; nothing is held while it runs."""

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


class WaitUntil:
    """Only a manifest: the executor journals ``wait.started`` and ``wait.fired`` itself and never calls it."""

    manifest = MANIFEST

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        raise StepFailed("a wait is a timer, not a call", code="invalid")

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return None
