"""Expression: what a detector reads from the event that matched, compiled for each family of the rule's kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rules.cel.checker import check
from rules.cel.codegen import compile_value
from rules.cel.errors import CelError
from rules.fields import PARAMETERS, EventFields, family, first_facts, payload_of, scope
from rules.language import ConditionError

if TYPE_CHECKING:
    from rules.prepared import PreparedRule


class Expression:
    """``part`` and ``field`` are the keys of the rule that it stands under, for errors."""

    def __init__(self, source: str, rule: PreparedRule, part: str, field: str = "value") -> None:
        self._path = (part, field)
        self._read: dict[str, Callable[..., Any]] = {}
        self.types: dict[str, None] = {}
        """The types that it may have, in the order of the rule's kinds."""
        for tag in dict.fromkeys(map(family, rule.kinds)):
            environment = EventFields(rule.kinds, here=tag)
            try:
                self.types[check(source, environment).type] = None
                self._read[tag] = compile_value(source, environment, PARAMETERS, scope(rule.zone))
            except CelError as error:
                raise ConditionError(error.message, self._path, offset=error.offset, remedy=error.remedy) from error

    def must_be(self, types: frozenset[str], needs: str) -> None:
        """ConditionError, beginning with ``needs``, if it may be of another type."""
        wrong = sorted(self.types.keys() - types)
        if wrong:
            raise ConditionError(f"{needs}, not a {wrong[0]}", self._path)

    def of(self, event: Any) -> Any:
        """None where there is none."""
        return self._read[family(event.kind)](event, payload_of(event), first_facts(event), {})
