"""Session: what the person consented to at the bank, as it is kept among the account's secrets."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from pydantic import Field, ValidationError

from extractors.bank.iban import iban
from extractors.connector import Access
from extractors.openbanking.account import ACCOUNTS_CAP, BankAccount, told_apart
from extractors.text import one_line
from schemas.errors import AuthError, TransientError
from schemas.model import Instant, Model

SECRET = "session"


class Session(Model):
    """The ``ref`` of each account is of no use after ``valid_until``."""

    id: str = Field(min_length=1, max_length=100)
    valid_until: Instant
    accounts: tuple[BankAccount, ...] = Field(max_length=ACCOUNTS_CAP)

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Self:
        """From the answer to a used authorisation code. TransientError for what is none."""
        try:
            accounts = tuple(told_apart(_account(each) for each in answer["accounts"][:ACCOUNTS_CAP]))
            return cls(id=answer["session_id"], valid_until=answer["access"]["valid_until"], accounts=accounts)
        except (KeyError, TypeError, AttributeError, ValidationError) as error:
            raise TransientError("Enable Banking answers with something that is no session") from error

    @classmethod
    def kept(cls, access: Access) -> Self:
        """AuthError where no consent was given yet."""
        try:
            return cls.model_validate_json(access.secret(SECRET))
        except (AuthError, ValidationError) as error:
            raise AuthError("the bank is not linked yet", remedy="link it") from error

    def secret(self) -> dict[str, str]:
        return {SECRET: self.model_dump_json()}


def ends(answer: dict[str, Any]) -> datetime | None:
    """Until when a session is valid by its own account."""
    try:
        return Session(id="-", valid_until=answer["access"]["valid_until"], accounts=()).valid_until
    except (KeyError, TypeError, ValidationError):
        return None


def _account(given: dict[str, Any]) -> BankAccount:
    ref = given.get("uid") or ""
    names = (given.get("product"), given.get("details"), given.get("name"))
    currency = given.get("currency") or ""
    return BankAccount(
        key=given["identification_hash"],
        ref=ref,
        number=_number(given.get("account_id") or {}),
        title=next((one_line(name, 80) for name in names if isinstance(name, str) and name.strip()), ""),
        currency=currency if currency.isascii() and currency.isalpha() and currency.isupper() else "",
        problem="" if ref else "the bank does not let it be read",
    )


def _number(identification: dict[str, Any]) -> str:
    other = identification.get("other") or {}
    return iban(identification.get("iban")) or one_line(str(other.get("identification") or ""), 60)
