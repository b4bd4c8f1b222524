"""The command line's end of the Unix socket on which a running service answers."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas import errors

if TYPE_CHECKING:
    import httpx

TIMEOUT_S = 30.0

_BY_STATUS: dict[int, type[errors.ForewatchError]] = {400: errors.ConfigError, 404: errors.NotFound}


class Client:
    """Blocking; one request a call. The file mode of the socket (0600) is what lets only the owner in."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    @property
    def is_up(self) -> bool:
        try:
            self.get("/status")
        except errors.Unreachable:
            return False
        return True

    def get(self, path: str, **query: str | int | bool) -> Any:
        return self._send("GET", path, params={k: str(v) for k, v in query.items()})

    def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        return self._send("POST", path, json=dict(body or {}))

    def _send(self, method: str, path: str, **how: Any) -> Any:
        import httpx  # most commands, and serve itself, ask nothing of a running service

        # no TLS within this machine: to load certificates for it would take longer than all the rest
        transport = httpx.HTTPTransport(uds=str(self._socket), verify=False)
        try:
            self._knock()
            with httpx.Client(transport=transport, base_url="http://forewatch", timeout=TIMEOUT_S) as client:
                response = client.request(method, path, **how)
        except (httpx.HTTPError, OSError) as error:
            raise errors.Unreachable(
                f"no service answers at {self._socket}", remedy="start one with 'forewatch serve'"
            ) from error
        return self._answer(response)

    def _knock(self) -> None:
        """httpcore leaks its socket where nobody listens."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
            knock.connect(str(self._socket))

    def _answer(self, response: httpx.Response) -> Any:
        document = response.json()
        if response.is_success:
            return document
        message, remedy = document.get("error", "the service failed"), document.get("remedy", "")
        if response.status_code == 409:
            raise errors.Refused(message, code=document.get("code", "refused"), remedy=remedy)
        raise _BY_STATUS.get(response.status_code, errors.ForewatchError)(message, remedy=remedy)
