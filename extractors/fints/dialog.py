"""A dialog with a bank by the library ``fints``, which blocks: all of this runs in a thread.

The library speaks the protocol; its messages travel through our own guarded client, and the statements come out as the
bank wrote them, for our own reader. It is loaded on first use, because it is an optional extra (LGPL).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from extractors.openbanking.account import BankAccount, told_apart
from schemas.errors import AuthError, ForewatchError, TransientError

PRODUCT_VERSION = "1.0"
_TAN = "the bank asks for a TAN"
_TAN_REMEDY = "log in at your bank and approve this device, or allow the bank's account queries without a TAN"

_ENTER_AGAIN = "enter both again"
_PIN = frozenset({"9340", "9910", "9942"})
_LOCKED = frozenset({"3938", "9930", "9931"})
_SCA = "9075"
ANSWERS_CAP = 200
"""Of one list: a bank that always has more is not asked for ever."""

Send = Callable[[bytes], bytes]
"""One message to the bank and its answer, both as they travel (base64)."""


class PinRefused(AuthError):
    """The bank refuses this PIN, or has locked it: sent again, it could lock the account."""


@dataclass(frozen=True, slots=True)
class Login:
    bank_code: str
    user: str
    pin: str
    product: str
    server: str
    device: bytes = b""
    """What an earlier dialog left: with it the bank knows this device again."""


def accounts(login: Login, send: Send) -> tuple[list[BankAccount], bytes]:
    """The accounts, and what the next dialog should be given as ``device``. Errors as in ``pull``."""

    def ask(client: Any) -> list[BankAccount]:
        found = [_account(each) for each in _free_of_tan(client.get_sepa_accounts())]
        return told_apart(found)

    return _in_dialog(login, send, ask)


def statements(login: Login, send: Send, account: BankAccount, since: date) -> tuple[bytes, bytes]:
    """The booked statements of an account in MT940 (empty: the bank sent none), and ``device``."""

    def ask(client: Any) -> bytes:
        known = [each for each in _free_of_tan(client.get_sepa_accounts()) if _account(each).ref == account.ref]
        if not known:
            raise TransientError("the bank does not list the account")
        raw: bytes = _free_of_tan(client.statements(known[0], since))
        return raw

    return _in_dialog(login, send, ask)


def _in_dialog(login: Login, send: Send, ask: Callable[[Any], Any]) -> tuple[Any, bytes]:
    client = _client(login, send)
    try:
        with client:
            _free_of_tan(client.init_tan_response)
            found = ask(client)
        return found, client.deconstruct(including_private=True)
    except ForewatchError:
        raise
    except Exception as error:  # the library raises bare exceptions too, and their text may hold what was sent
        raise translated(error) from None


def refusal(codes: Collection[str], *, is_first: bool) -> ForewatchError | None:
    """What the codes of one answer mean; None: go on. The worst comes first, because a general error stands before it.

    ``is_first``: the bank tells a new device how to sign in, and may refuse that very sign-in while it does.
    """
    if _PIN.intersection(codes):
        return PinRefused("the bank does not accept user or PIN", remedy=_ENTER_AGAIN)
    if _LOCKED.intersection(codes):
        return PinRefused("the bank has locked the access", remedy=f"unlock it at your bank, then {_ENTER_AGAIN}")
    if is_first:
        return None
    if _SCA in codes:
        return AuthError(_TAN, remedy=_TAN_REMEDY)
    if refused := sorted(code for code in codes if code.startswith("9")):
        return TransientError(f"the bank refuses to answer ({', '.join(refused)})")
    return None


def translated(error: BaseException) -> ForewatchError:
    """The library's errors, in one place. It wraps what our own client raised."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ForewatchError):
            return cause
        cause = cause.__cause__
    known = {
        "FinTSClientPINError": PinRefused("the bank does not accept user or PIN", remedy=_ENTER_AGAIN),
        "FinTSClientError": AuthError("the bank refuses the access", remedy="check bank_code and server"),
        "FinTSUnsupportedOperation": AuthError("the bank gives no statements by FinTS", remedy="use another connector"),
    }
    name = type(error).__name__
    return known.get(name) or TransientError(f"the bank's FinTS server cannot be understood ({name})")


def _free_of_tan(answer: Any) -> Any:
    """A question for a TAN is no answer, and never an empty one."""
    if type(answer).__name__ in ("NeedTANResponse", "NeedVOPResponse", "NeedRetryResponse"):
        raise AuthError(_TAN, remedy=_TAN_REMEDY)
    return answer


def _account(given: Any) -> BankAccount:
    number = given.iban or f"{given.blz}/{given.accountnumber}"
    return BankAccount(key=f"number:{number}", ref=f"{number}/{given.subaccount or ''}", number=number)


def _client(login: Login, send: Send) -> Any:
    try:
        from extractors.fints.library import PinTanClient
    except ImportError as error:
        raise AuthError("FinTS needs one more package", remedy="install forewatch[fints]") from error
    return PinTanClient(login, send, PRODUCT_VERSION)


def encoded(message: bytes) -> bytes:
    return base64.b64encode(message)


def decoded(answer: bytes) -> bytes:
    """TransientError for what is no answer of a FinTS server."""
    try:
        return base64.b64decode(b"".join(answer.split()), validate=True)
    except binascii.Error as error:
        raise TransientError("the address answers with something that is no FinTS message") from error


def joined(parts: Sequence[bytes | None]) -> bytes:
    """Banks split their statements wherever they like."""
    return b"".join(part for part in parts if part)
