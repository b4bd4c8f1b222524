"""Calls of the Enable Banking API, each signed for the person's application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extractors.connector import Context
from extractors.enablebanking.config import EnableBankingConfig
from extractors.enablebanking.errors import PSU_HEADERS, code_of, raised
from extractors.enablebanking.jwt import signed
from extractors.http import Answer

_ANY = range(300, 600)
_OVER = frozenset({401, 404, 410})


class Client:
    """For one poll. Errors as ``raised`` says."""

    def __init__(self, config: EnableBankingConfig, context: Context) -> None:
        self._base = config.url.rstrip("/")
        self._psu = {str(name): value for name, value in config.psu.items()}
        self._context = context
        self._token = ""

    async def get(self, path: str, params: Mapping[str, str] | None = None, *, psu: bool = False) -> dict[str, Any]:
        """``psu``: a read of an account, for which the bank may insist on the headers of the person's browser. They
        say that the person is there, so they are never sent of our own accord."""
        answer = await self._send("GET", path, params=params)
        if psu and self._psu and code_of(answer) == PSU_HEADERS:
            answer = await self._send("GET", path, params=params, headers=self._psu)
        return self._object(answer)

    async def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._object(await self._send("POST", path, json=dict(body)))

    async def delete(self, path: str) -> None:
        """What is not there, or over, needs no end."""
        answer = await self._send("DELETE", path)
        if answer.status not in _OVER:
            self._object(answer)

    async def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        json: Any = None,
    ) -> Answer:
        access = self._context.access
        if not self._token:
            self._token = signed(access.secret("key"), access.secret("application").strip(), self._context.now)
        sent = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", **(headers or {})}
        return await access.http.send(
            method, f"{self._base}{path}", params=params, headers=sent, json=json, passing=_ANY
        )

    def _object(self, answer: Answer) -> dict[str, Any]:
        if answer.status >= 300:
            raise raised(answer, self._context.now)
        return answer.object()
