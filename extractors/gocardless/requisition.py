"""Requisition: what the person consented to at the bank, as it is kept among the account's secrets."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Self

from pydantic import Field, ValidationError

from extractors.bank.iban import iban
from extractors.connector import Access
from extractors.gocardless.client import Client
from extractors.openbanking.account import ACCOUNTS_CAP, BankAccount, told_apart
from extractors.openbanking.errors import AccountUnreadable
from extractors.text import one_line
from schemas.errors import AuthError, TransientError
from schemas.model import Instant, Model

SECRET = "requisition"
_OVER = {
    "EX": "the consent at the bank has expired",
    "RJ": "no consent was given",
    "SU": "GoCardless suspended the consent after many errors",
    "ER": "the consent failed",
}
UNREADABLE = {"SUSPENDED": "GoCardless suspended it", "BLOCKED": "the bank blocks it", "DELETED": "it was closed"}


class Requisition(Model):
    """``valid_until`` None: GoCardless does not say when the person accepted."""

    id: str = Field(min_length=1, max_length=100)
    valid_until: Instant | None = None
    accounts: tuple[BankAccount, ...] = Field(default=(), max_length=ACCOUNTS_CAP)

    @classmethod
    def kept(cls, access: Access) -> Self:
        """AuthError where no consent was given yet."""
        try:
            return cls.model_validate_json(access.secret(SECRET))
        except (AuthError, ValidationError) as error:
            raise AuthError("the bank is not linked yet", remedy="link it") from error

    def secret(self) -> dict[str, str]:
        return {SECRET: self.model_dump_json()}


async def fetched(client: Client, requisition: str) -> Requisition:
    """The consent and its accounts, as they are now. AuthError where it is not in force."""
    answer = (await client.get(f"/requisitions/{requisition}/")).object()
    status = str(answer.get("status") or "")
    if status != "LN":
        message = _OVER.get(status, "the consent at the bank is not complete")
        raise AuthError(message, remedy="link the bank again")
    references = [each for each in answer.get("accounts") or [] if isinstance(each, str)]
    accounts = [await _account(client, reference) for reference in references[:ACCOUNTS_CAP]]
    try:
        return Requisition(
            id=requisition,
            valid_until=await _end(client, answer.get("agreement")),
            accounts=tuple(told_apart(accounts)),
        )
    except ValidationError as error:
        raise TransientError("GoCardless answers with something that is no consent") from error


async def _end(client: Client, agreement: Any) -> Instant | None:
    """From the day the person accepted: that agreement is what the bank counts by."""
    if not isinstance(agreement, str):
        return None
    return ends((await client.get(f"/agreements/enduser/{agreement}/")).object())


def ends(agreement: dict[str, Any]) -> Instant | None:
    """When the access of an end user agreement is over."""
    try:
        accepted = Requisition(id="-", valid_until=agreement["accepted"]).valid_until
        days = timedelta(days=int(agreement["access_valid_for_days"]))
        return accepted + days if accepted else None
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


async def _account(client: Client, reference: str) -> BankAccount:
    """Its metadata, which no bank is asked for. An account id lives as long as its consent, its number for ever."""
    try:
        answer = (await client.get(f"/accounts/{reference}/")).object()
    except AccountUnreadable as error:
        return BankAccount(key=f"id:{reference}", ref=reference, problem=str(error))
    number = iban(answer.get("iban")) or one_line(str(answer.get("iban") or ""), 60)
    return BankAccount(
        key=f"number:{number}" if number else f"id:{reference}",
        ref=reference,
        number=number,
        title=one_line(str(answer.get("name") or answer.get("owner_name") or ""), 80),
        problem=UNREADABLE.get(str(answer.get("status") or "").upper(), ""),
    )
