"""BankAccount: one account that a consent covers, under a name that outlives the consent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from pydantic import Field

from schemas.model import Model

ACCOUNTS_CAP = 100


class BankAccount(Model):
    """``key`` is the same in every consent of the same person for the same account; ``ref`` is how the API names it in
    this consent. ``number``: IBAN or another number, for rows and people. ``problem``: why it cannot be read."""

    key: str = Field(min_length=1, max_length=500)
    ref: str = Field(default="", max_length=100)
    number: str = Field(default="", max_length=100)
    title: str = Field(default="", max_length=200)
    currency: str = Field(default="", pattern=r"^([A-Z]{3})?$")
    problem: str = Field(default="", max_length=300)

    @property
    def name(self) -> str:
        """What its rows carry."""
        return self.number or self.key[:40]

    @property
    def label(self) -> str:
        """For people: the title, and the end of the number."""
        end = f"…{self.number[-4:]}" if self.number else ""
        return " ".join(part for part in (self.title, end, self.currency) if part) or self.key[:40]


Mark = Callable[[BankAccount, int], str]


def told_apart(accounts: Iterable[BankAccount]) -> list[BankAccount]:
    """Pockets in several currencies share an IBAN: their rows must not be mixed. What the currency does not tell apart
    is numbered in the bank's order."""
    found = _apart(list(accounts), lambda account, _: account.currency)
    return _apart(found, lambda _, number: str(number) if number > 1 else "")


def _apart(accounts: Sequence[BankAccount], mark: Mark) -> list[BankAccount]:
    keys = Counter(account.key for account in accounts)
    names = Counter(account.name for account in accounts)
    seen: Counter[str] = Counter()
    found = []
    for account in accounts:
        seen[account.name] += 1
        suffix = mark(account, seen[account.name])
        if suffix and (keys[account.key] > 1 or names[account.name] > 1):
            update = {"key": f"{account.key}/{suffix}", "number": f"{account.name}/{suffix}"}
            account = account.model_copy(update=update)
        found.append(account)
    return found


def is_skipped(account: BankAccount, skip: Sequence[str]) -> bool:
    """``skip``: ends of numbers, with or without what stands behind a slash."""
    number = account.number.partition("/")[0]
    return any(account.number.endswith(end) or number.endswith(end) for end in skip if account.number)
