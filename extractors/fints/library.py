"""The only module that knows the library ``fints``."""

from __future__ import annotations

import contextlib
from datetime import date
from typing import Any

from fints.client import FinTS3PinTanClient, NeedRetryResponse
from fints.message import FinTSInstituteMessage
from fints.segments.dialog import HIRMG2, HIRMS2
from fints.segments.statement import HKKAZ5, HKKAZ6, HKKAZ7

from extractors.fints.dialog import ANSWERS_CAP, Login, Send, decoded, encoded, joined, refusal
from schemas.errors import TransientError


class _Wire:
    """What the library calls its connection."""

    def __init__(self, url: str, send: Send) -> None:
        self.url = url
        self._send = send

    def send(self, message: Any) -> Any:
        return FinTSInstituteMessage(segments=decoded(self._send(encoded(message.render_bytes()))))


class PinTanClient(FinTS3PinTanClient):  # type: ignore[misc]  # the library has no types
    """``with PinTanClient(...) as client``: one dialog, in which every refusal of the bank is an error of ours."""

    _standing_dialog: Any

    def __init__(self, login: Login, send: Send, version: str) -> None:
        super().__init__(
            login.bank_code,
            login.user,
            login.pin,
            login.server,
            product_id=login.product,
            product_version=version,
            from_data=login.device or None,
        )
        self.connection = _Wire(login.server, send)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Ending it is a courtesy: what was read stands, however the bank takes the farewell. One that failed is not
        ended, for that would send the PIN once more."""
        if kind is not None:
            self._standing_dialog.open = False
        with contextlib.suppress(Exception):
            super().__exit__(kind, error, trace)
        self._standing_dialog = None

    def process_response_message(self, dialog: Any, message: Any, internal_send: bool = True) -> None:
        """The library passes over most refusals, so that a list which breaks off looks like one that ends."""
        codes = {response.code for segment in message.find_segments((HIRMG2, HIRMS2)) for response in segment.responses}
        if refused := refusal(codes, is_first=self._standing_dialog is None):
            raise refused
        super().process_response_message(dialog, message, internal_send)

    def statements(self, account: Any, since: date) -> Any:
        """As the library's ``get_transactions``, but as the bank wrote them, and with an end."""
        command = self._find_highest_supported_command(HKKAZ5, HKKAZ6, HKKAZ7)
        parts: list[bytes | None] = []
        place: str | None = None
        seen: set[str | None] = set()
        while place not in seen and len(seen) < ANSWERS_CAP:
            seen.add(place)
            asked = command(
                account=command._fields["account"].type.from_sepa_account(account),
                all_accounts=False,
                date_start=since,
                date_end=None,
                touchdown_point=place,
            )
            answer = self._send_with_possible_retry(self._standing_dialog, asked, lambda _, given: given)
            if isinstance(answer, NeedRetryResponse):
                return answer
            parts += [each.statement_booked for each in answer.response_segments(asked, "HIKAZ")]
            place = next((each.parameters[0] for each in answer.responses(asked, "3040")), None)
            if place is None:
                return joined(parts)
        raise TransientError("the bank's list of statements does not end")
