"""Reading one account by FinTS, with a PIN that is never sent again once it was refused."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Callable
from datetime import date
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from extractors.bank.row import Row
from extractors.bankfile.parsed import Given, Refuse
from extractors.bankfile.reader import read
from extractors.connector import Context
from extractors.fints.config import FinTSConfig
from extractors.fints.dialog import Login, PinRefused, Send, accounts, statements
from extractors.openbanking.account import BankAccount
from extractors.openbanking.reading import REJECTED_CAP, Reading
from schemas.errors import AuthError, TransientError

_ACCOUNTS, _DEVICE, REFUSED = "accounts", "device", "pin_refused"
_KEPT = TypeAdapter(tuple[BankAccount, ...])
_OURS = "forewatch"

T = TypeVar("T")


class FinTSApi:
    """For one poll."""

    def __init__(self, config: FinTSConfig, context: Context) -> None:
        self._config = config
        self._context = context

    async def accounts(self, *, fresh: bool = False) -> tuple[BankAccount, ...]:
        """As the bank listed them last; ``fresh``: as it lists them now."""
        try:
            kept = _KEPT.validate_json(self._secret(_ACCOUNTS) or "[]")
        except ValidationError:
            kept = ()
        if kept and not fresh:
            return kept
        found = tuple(await self._dialog(accounts))
        await self._context.access.remember({_ACCOUNTS: _KEPT.dump_json(found).decode()})
        return found

    async def problem(self, account: BankAccount) -> str:
        return ""

    async def read(self, account: BankAccount, since: date) -> Reading:
        raw = await self._dialog(statements, account, since)
        if not raw.strip():
            return Reading(warnings=("the bank sent no statement, which says nothing about the account",))
        return await asyncio.to_thread(_reading, raw, account)

    async def _dialog(self, use: Callable[..., tuple[T, bytes]], *arguments: Any) -> T:
        """Wrong PINs lock an account: one that the bank refused is not sent again."""
        access = self._context.access
        login = self._login()
        mark = sha256(f"{login.user}\x1f{login.pin}".encode()).hexdigest()
        if self._secret(REFUSED) == mark:
            raise AuthError("the bank did not accept user or PIN", remedy="enter both again")
        try:
            found, device = await asyncio.to_thread(use, login, self._send(asyncio.get_running_loop()), *arguments)
        except PinRefused:
            await access.remember({REFUSED: mark})
            raise
        if device != login.device:
            await access.remember({_DEVICE: base64.b64encode(device).decode()})
        return found

    def _login(self) -> Login:
        access = self._context.access
        try:
            device = base64.b64decode(self._secret(_DEVICE), validate=True)
        except binascii.Error:
            device = b""
        return Login(
            bank_code=self._config.bank_code,
            user=access.secret("user").strip(),
            pin=access.secret("pin"),
            product=self._secret("product").strip() or _OURS,
            server=self._config.server,
            device=device,
        )

    def _send(self, loop: asyncio.AbstractEventLoop) -> Send:
        """For the thread of the dialog: its messages are sent here, on the loop."""
        http, server = self._context.access.http, self._config.server

        def send(message: bytes) -> bytes:
            call = http.send("POST", server, content=message, headers={"Content-Type": "text/plain"})
            return asyncio.run_coroutine_threadsafe(call, loop).result().body

        return send

    def _secret(self, name: str) -> str:
        try:
            return self._context.access.secret(name)
        except AuthError:
            return ""


def _reading(raw: bytes, account: BankAccount) -> Reading:
    try:
        parsed = read(raw, account.name, Given())
    except Refuse as error:
        raise TransientError(f"the bank's statement cannot be read ({error.reason})") from error
    rows: list[Row] = []
    for statement in parsed.statements:
        rows += [row.model_copy(update={"account": account.name}) for row in statement.rows]
    balances = [statement.balance for statement in parsed.statements if statement.balance is not None]
    newest = max(balances, key=lambda balance: balance.as_of, default=None)
    return Reading(
        rows=tuple(rows),
        rejected=tuple(parsed.rejected[:REJECTED_CAP]),
        balance=newest.model_copy(update={"account": account.name}) if newest else None,
        is_closing=True,
        warnings=tuple(parsed.warnings),
    )
