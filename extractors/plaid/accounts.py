"""Labels: a name for each bank account that stays when the bank is linked anew and Plaid gives it another id."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from schemas.ids import digest

_KNOWN = 200


@dataclass(slots=True)
class Labels:
    """``by_id``: Plaid's account id to our label. ``looks``: label to what the account looks like."""

    by_id: dict[str, str] = field(default_factory=dict)
    looks: dict[str, str] = field(default_factory=dict)

    def note(self, accounts: Mapping[str, Mapping[str, Any]], *, is_new_link: bool) -> None:
        """``is_new_link``: what is listed may be known accounts under new ids: the only one that looks the same."""
        looks = {key: _look(account) for key, account in accounts.items()}
        for key, account in accounts.items():
            if key not in self.by_id:
                label = self._same(looks, key, accounts) if is_new_link else ""
                self.by_id[key] = label or str(account.get("persistent_account_id") or key)[:120]
            self.looks[self.by_id[key]] = looks[key]
        while len(self.by_id) > _KNOWN:
            del self.by_id[next(iter(self.by_id))]

    def _same(self, looks: Mapping[str, str], key: str, accounts: Collection[str]) -> str:
        taken = {self.by_id[each] for each in accounts if each in self.by_id}
        same = [label for label, look in self.looks.items() if look == looks[key] and label not in taken]
        is_only = list(looks.values()).count(looks[key]) == 1 and len(same) == 1
        return same[0] if is_only else ""

    def of(self, account_id: str) -> str:
        return self.by_id.get(account_id, account_id)


def _look(account: Mapping[str, Any]) -> str:
    return digest([str(account.get(name)) for name in ("mask", "name", "type", "subtype")])[:16]
