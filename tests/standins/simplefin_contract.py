"""The published text of the SimpleFIN protocol (version 2, and what version 1 still sends) as JSON schemas."""

from __future__ import annotations

from typing import Any

from tests.standins.contract import Contract, Operation

_TEXT = {"type": "string"}
_AMOUNT = {"type": "string", "pattern": r"^[+-]?\d+(\.\d+)?$"}
_STAMP = {"type": "integer", "minimum": 0}
_SECONDS = r"\d{9,11}"


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split()}


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}


_SCHEMAS: dict[str, Any] = {
    "Error": _object(
        "code msg",
        code={"type": "string", "pattern": r"^(gen|con|act)\."},
        msg=_TEXT,
        conn_id=_TEXT,
        account_id=_TEXT,
    ),
    "Connection": _object(
        "conn_id name org_id sfin_url", conn_id=_TEXT, name=_TEXT, org_id=_TEXT, org_url=_TEXT, sfin_url=_TEXT
    ),
    "Transaction": _object(
        "id posted amount description",
        id=_TEXT,
        posted=_STAMP,
        amount=_AMOUNT,
        description=_TEXT,
        transacted_at=_STAMP,
        pending={"type": "boolean"},
        extra={"type": "object"},
    ),
    "Account": {
        **_object(
            "id name conn_id currency balance balance-date",
            id=_TEXT,
            name=_TEXT,
            conn_id=_TEXT,
            currency=_TEXT,
            balance=_AMOUNT,
            transactions=_list("Transaction"),
            extra={"type": "object"},
        )
    },
    "AccountSet": _object(
        "errlist connections accounts",
        errlist=_list("Error"),
        errors={"type": "array", "items": _TEXT},
        connections=_list("Connection"),
        accounts=_list("Account"),
    ),
}
_SCHEMAS["Account"]["properties"] |= {"available-balance": _AMOUNT, "balance-date": _STAMP}

CONTRACT = Contract(
    _SCHEMAS,
    [
        Operation(
            "GET",
            "/simplefin/accounts",
            {200: "AccountSet"},
            query={
                "start-date": _SECONDS,
                "end-date": _SECONDS,
                "pending": "1",
                "account": ".+",
                "balances-only": "1",
                "version": "[12]",
            },
        ),
    ],
    "AccountSet",
)
