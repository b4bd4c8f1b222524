"""The secrets of one account, which show their names and never their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class Secrets(Mapping[str, str]):
    """Immutable. ``repr`` and ``str`` give the names only."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> str:
        if name not in self._values:
            raise KeyError(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self._values))})"

    def changed(self, changes: Mapping[str, str | None]) -> Secrets:
        """With these; None takes one away."""
        merged: dict[str, str | None] = {**self._values, **changes}
        return Secrets({name: value for name, value in merged.items() if value is not None})
