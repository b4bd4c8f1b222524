"""history.query: asks the owner's own history, through a port that lets exactly one SELECT through."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Protocol

from actions.plain import clean
from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas.errors import ConfigError, Refused, StepFailed
from schemas.model import Json

ROWS = 20
_NAMED = re.compile(r"\$([a-z_]+)")

MANIFEST = Manifest(
    name="history.query",
    version="1.0.0",
    description="Ask the owner's history with SQL; {param.x} values stand as $x.",
    says="Look into your history",
    args={"sql": Arg(type="Query", sink="command", says="one SELECT, fixed by the playbook")},
    open_args="param.",
    returns={"count": "Number", "text": "Text"},
    effect="read",
    effect_class="pure",
    timeout_s=30.0,
    reversible="yes",
)


class HistoryPort(Protocol):
    async def rows(self, sql: str, limit: int) -> list[list[Json]]:
        """The first rows. Refused for what may not run, ConfigError where there is no history yet."""
        ...


class HistoryQuery:
    """Reads only. The SQL itself may never come from outside (its sink is ``command``); values may, as literals."""

    manifest = MANIFEST

    def __init__(self, history: HistoryPort) -> None:
        self._history = history

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        try:
            rows = await self._history.rows(bound(args), ROWS)
        except (Refused, ConfigError) as error:
            raise StepFailed(str(error), code="invalid") from error
        lines = [" · ".join(clean(str(cell), 80) for cell in row if cell is not None) for row in rows]
        return {"count": len(rows), "text": "\n".join(lines)}

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return None


def bound(args: Args) -> str:
    """The SQL with each ``$name`` replaced by its value as a literal: nothing in a value can end the literal."""
    values = {name.removeprefix("param."): value for name, value in args.items() if name.startswith("param.")}

    def literal(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise StepFailed(f"the query has no value for ${match[1]}", code="invalid")
        return _literal(values[match[1]])

    return _NAMED.sub(literal, str(args["sql"]))


def _literal(value: Json) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case {"amount": amount}:
            return _number(str(amount))
        case str():
            return "'" + clean(value, 500).replace("'", "''") + "'"
    raise StepFailed("a query takes text, numbers and amounts", code="invalid")


def _number(text: str) -> str:
    try:
        return format(Decimal(text), "f")
    except InvalidOperation as error:
        raise StepFailed("that is no amount", code="invalid") from error
