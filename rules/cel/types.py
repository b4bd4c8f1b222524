"""Types of CEL values, and the fields an expression may read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

Type = Literal["bool", "int", "double", "string", "timestamp", "duration", "money", "list", "dyn"]
"""``timestamp`` is also a local day (its first instant); ``money`` compares with numbers and with money of its
currency; ``dyn`` is known only when it is read."""

NUMBERS: frozenset[Type] = frozenset(("int", "double"))


@dataclass(frozen=True, slots=True)
class Field:
    """``code`` is the Python expression that reads it, or gives None where it is missing.

    ``presence`` is the Python expression for ``has(...)``. ``choices``: the only texts it can be. ``nominal`` is the
    type of ``schemas.value.Value`` it becomes. ``weight``: how well equality on it tells events apart, 0 to 9.
    """

    name: str
    type: Type
    code: str
    presence: str
    optional: bool = True
    choices: tuple[str, ...] = ()
    nominal: str = "Text"
    weight: int = 3
    fact: str = ""
    """The kind of fact it is read from."""
    about: str = ""


class Environment(Protocol):
    def field(self, name: str) -> Field | None: ...

    def names(self) -> Iterable[str]:
        """What could have been meant by an unknown name."""
        ...
