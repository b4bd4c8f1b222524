"""What a tool is: a manifest that the engine trusts, and three coroutines that touch the world."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, Protocol, Self, runtime_checkable

from pydantic import Field, model_validator

from actions.nominal import NOMINALS, Sink
from schemas import ids
from schemas.errors import ConfigError
from schemas.kept import Kept
from schemas.model import Json, Model
from schemas.plan import Effect, EffectClass, Retry, Undo
from schemas.value import Integrity, Value

Args = Mapping[str, Json]
SPANS = "spans"
"""Beside its returns a tool may give, under this key, where in its text each of them stood: field -> span."""
SELF_EFFECTS: frozenset[Effect] = frozenset({"read", "wait", "notify", "write_self"})
"""Effects that stay with the owner; all others reach somebody else or cannot be taken back."""
UNGRANTED: frozenset[Effect] = frozenset({"read", "wait"})
"""Effects that change nothing, so no approval is spent on them."""


def is_foreign(tool: str) -> bool:
    """Is it somebody else's code, behind a session of its own? Such a tool is not even asked while all is stopped."""
    return tool.startswith("mcp.")


class Arg(Model):
    """One argument; ``sink`` None takes the role of the nominal type."""

    type: str
    sink: Sink | None = None
    required: bool = True
    says: str = ""

    @property
    def role(self) -> Sink:
        return self.sink or NOMINALS[self.type].sink or "content"


class Manifest(Model):
    """Everything about a tool that risk, retries and recovery rest on. A model may never set any of it.

    ``open_args``: a prefix under which further arguments of any nominal type are taken (``field.`` for a form).
    ``says`` is the step in plain words, with ``{argument}`` places. ``reversible``: yes, no, or "until ...".
    """

    name: str = Field(pattern=r"^[a-z]+\.[a-z_]+$|^notify$|^mcp\.[a-z][a-z0-9_]*\.[a-z0-9_]+$")
    version: str
    manifest: int = 1
    description: str
    says: str
    args: dict[str, Arg] = {}
    open_args: str = ""
    returns: dict[str, str] = {}
    integrity_out: Integrity = Integrity.UNTRUSTED
    minted: tuple[str, ...] = ()
    """Returns that the tool makes itself (an id, a path below its own root), whatever words went in."""
    effect: Effect
    effect_class: EffectClass
    key_ttl_s: float | None = None
    """How long the other side remembers our key; needed for ``keyed``."""
    look_up: bool = False
    settle_s: float = 0.0
    """After this long a request that left can no longer land; exceeds the time-out plus the provider's tail."""
    timeout_s: float = 30.0
    hold_s: float = 0.0
    retry: Retry = Retry()
    undo: Undo | None = None
    reversible: str = "no"
    cost: str | None = None
    """The argument that names the price."""
    permissions: dict[str, tuple[str, ...]] = {}
    """hosts, files, secrets, scopes: what the tool may touch."""

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        missing = _gaps(self)
        if missing:
            raise ValueError(f"tool {self.name}: {missing}")
        return self

    def sha(self) -> str:
        return _SHAS.of(self)

    def arg(self, name: str) -> Arg | None:
        """The argument's contract; an open argument takes its type from the value, so it has none here."""
        return self.args.get(name)

    def role(self, name: str, value: Value) -> Sink:
        """What the argument decides; an open argument has the role of its value's type."""
        return (self.arg(name) or Arg(type=value.type)).role

    def is_open(self, name: str) -> bool:
        return bool(self.open_args) and name.startswith(self.open_args)


def _sha(manifest: Manifest) -> str:
    return ids.digest(manifest.model_dump(mode="json"))


_SHAS: Kept[Manifest, str] = Kept(_sha)


def _gaps(m: Manifest) -> str:
    unknown = sorted({a.type for a in m.args.values()} | set(m.returns.values()) - set(NOMINALS))
    unknown = [t for t in unknown if t not in NOMINALS]
    if unknown:
        return f"unknown nominal type {unknown[0]!r}; use one of {', '.join(NOMINALS)}"
    if m.effect_class == "keyed" and not m.key_ttl_s:
        return "a keyed tool must say for how long its key is remembered (key_ttl_s)"
    if m.effect_class == "reconcile" and not m.look_up:
        return "a reconcile tool needs a look-up (look_up: true)"
    if m.effect_class in ("reconcile", "at_most_once") and m.settle_s <= m.timeout_s:
        return "settle_s must exceed timeout_s: a request may land until then"
    if m.effect not in UNGRANTED and m.effect_class == "pure":
        return f"effect {m.effect!r} cannot be of class 'pure': calling it twice does it twice"
    return ""


class Receipt(Model):
    """What a verifier read back from the world."""

    what: str = Field(max_length=300)
    where: str = Field(default="", max_length=1000)
    details: dict[str, Json] = {}


class Tool(Protocol):
    """``key`` is the step's idempotency key: the same for every attempt, for ever.

    ``call`` raises NotSent if the request never left, RateLimited if the other side refused to act yet, StepFailed or
    AuthError for a definite no, OutcomeUnknown when nobody can tell. Anything else that it raises counts as unknown.
    It must honour cancellation: a time-out cancels it.
    """

    @property
    def manifest(self) -> Manifest: ...

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        """Do it. For ``keyed`` tools a second call with the same key changes nothing and returns the same."""
        ...

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        """What ``call`` would have returned, if the effect of this key is in the world; else None. Changes nothing."""
        ...

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        """Read the world back; None when the effect is not to be seen there. Changes nothing."""
        ...


@runtime_checkable
class Foretells(Protocol):
    """A tool that knows a part of its result beforehand, such as the id that its key makes."""

    def foretold(self, args: Args, key: str) -> dict[str, Json]:
        """What ``call`` will return, as far as it follows from these. No I/O."""
        ...


class Registry:
    """The tools by name. Plans know only manifests; the executor asks for the tool itself."""

    def __init__(
        self,
        tools: Iterable[Tool],
        disabled: Iterable[str] = (),
        is_offered: Callable[[Manifest], bool] = lambda manifest: True,
        more: Callable[[], Mapping[str, Tool]] = dict,
    ) -> None:
        """``is_offered``: asked each time, as what a tool needs comes and goes while the service runs; so is ``more``,
        for the tools of plugins."""
        self._tools: dict[str, Tool] = {}
        self._disabled = frozenset(disabled)
        self._is_offered = is_offered
        self._more = more
        for tool in tools:
            name = tool.manifest.name
            if name in self._tools:
                raise ConfigError(f"two tools are named {name!r}", remedy="remove one of them")
            self._tools[name] = tool

    def names(self) -> list[str]:
        return sorted(name for name in {*self._tools, *self._more()} if self.tool(name) is not None)

    def known(self, name: str) -> Manifest | None:
        """Of every tool that is there, also if nobody has granted what it needs (yet)."""
        tool = self._tools.get(name)
        return tool.manifest if tool else None

    def manifest(self, name: str) -> Manifest | None:
        """None for a tool that is unknown, switched off, or lacks what it needs."""
        tool = self.tool(name)
        return tool.manifest if tool else None

    def tool(self, name: str) -> Tool | None:
        found = None if name in self._disabled else self._tools.get(name) or self._more().get(name)
        return found if found is not None and self._is_offered(found.manifest) else None


Outcome = Literal["ok", "failed", "not_sent", "unknown"]
"""How a call ended: ``failed`` is a definite no, ``not_sent`` did nothing, ``unknown`` may have done it."""
