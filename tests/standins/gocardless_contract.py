"""The published description of GoCardless Bank Account Data (v2), as far as accounts are read.

It leaves the bodies of transactions and balances open ("Berlin Group format"); those are written from its guides. What
we send is closed, so that nothing is asked for that the description does not know.
"""

from __future__ import annotations

from typing import Any

from tests.standins.contract import Contract, Operation

_TEXT = {"type": "string"}
_DAY = {"type": "string", "format": "date"}
_INSTANT = {"type": "string", "format": "date-time"}
_UUID = {"type": "string", "format": "uuid"}
_NUMBER = {"type": "integer"}
_ISO_DAY = r"\d{4}-\d{2}-\d{2}"
_ID = r"[0-9a-f-]{36}"


def _object(required: str = "", *, closed: bool = False, **properties: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": properties, "required": required.split()}
    return {**found, "additionalProperties": False} if closed else found


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _one_of(words: str) -> dict[str, Any]:
    return {"type": "string", "enum": words.split()}


_SCOPE = _list(_one_of("balances details transactions"))
_INSTITUTION = _object(
    "countries id logo name",
    id=_TEXT,
    name=_TEXT,
    bic=_TEXT,
    transaction_total_days=_TEXT,
    max_access_valid_for_days=_TEXT,
    countries=_list(_TEXT),
    logo=_TEXT,
)

_SCHEMAS: dict[str, Any] = {
    "JWTObtainPairRequest": _object("secret_id secret_key", closed=True, secret_id=_TEXT, secret_key=_TEXT),
    "JWTRefreshRequest": _object("refresh", closed=True, refresh=_TEXT),
    "JWTObtain": _object(
        "access access_expires refresh refresh_expires",
        access=_TEXT,
        access_expires=_NUMBER,
        refresh=_TEXT,
        refresh_expires=_NUMBER,
    ),
    "JWTRefresh": _object("access access_expires", access=_TEXT, access_expires=_NUMBER),
    "Institution": _INSTITUTION,
    "Institutions": _list(_INSTITUTION),
    "EndUserAgreementRequest": _object(
        "institution_id",
        closed=True,
        institution_id=_TEXT,
        max_historical_days={**_NUMBER, "minimum": 1, "maximum": 730},
        access_valid_for_days={**_NUMBER, "minimum": 1, "maximum": 180},
        access_scope=_SCOPE,
    ),
    "EndUserAgreement": _object(
        "institution_id",
        id=_UUID,
        created=_INSTANT,
        accepted={"anyOf": [_INSTANT, {"type": "null"}]},
        institution_id=_TEXT,
        max_historical_days=_NUMBER,
        access_valid_for_days=_NUMBER,
        access_scope=_SCOPE,
    ),
    "RequisitionRequest": _object(
        "institution_id redirect",
        closed=True,
        institution_id=_TEXT,
        redirect={**_TEXT, "format": "uri", "maxLength": 1024},
        agreement=_UUID,
        reference={**_TEXT, "maxLength": 256},
        user_language={**_TEXT, "maxLength": 5},
        ssn={**_TEXT, "maxLength": 64},
        account_selection={"type": "boolean"},
        redirect_immediate={"type": "boolean"},
    ),
    "Requisition": _object(
        "institution_id redirect",
        id=_UUID,
        status=_one_of("CR ID LN RJ ER SU EX GC UA GA SA"),
        accounts=_list(_UUID),
        agreement=_UUID,
        institution_id=_TEXT,
        redirect=_TEXT,
        reference=_TEXT,
        link={**_TEXT, "format": "uri"},
    ),
    "Account": _object(
        id=_UUID,
        created=_INSTANT,
        last_accessed={"anyOf": [_INSTANT, {"type": "null"}]},
        iban=_TEXT,
        institution_id=_TEXT,
        owner_name=_TEXT,
        status=_one_of("DISCOVERED ERROR EXPIRED PROCESSING READY SUSPENDED"),
    ),
    "Amount": _object("amount currency", amount={**_TEXT, "pattern": r"^-?\d+(\.\d+)?$"}, currency=_TEXT),
    "Transaction": _object(
        "transactionAmount",
        transactionId=_TEXT,
        internalTransactionId=_TEXT,
        entryReference=_TEXT,
        endToEndId=_TEXT,
        mandateId=_TEXT,
        creditorId=_TEXT,
        bookingDate=_DAY,
        valueDate=_DAY,
        bookingDateTime=_INSTANT,
        valueDateTime=_INSTANT,
        transactionAmount=_ref("Amount"),
        creditorName=_TEXT,
        creditorAccount=_object(iban=_TEXT),
        debtorName=_TEXT,
        debtorAccount=_object(iban=_TEXT),
        remittanceInformationUnstructured=_TEXT,
        remittanceInformationUnstructuredArray=_list(_TEXT),
        remittanceInformationStructured=_TEXT,
        additionalInformation=_TEXT,
        proprietaryBankTransactionCode=_TEXT,
        currencyExchange={"anyOf": [{"type": "array"}, {"type": "object"}]},
    ),
    "Transactions": _object(
        "transactions",
        transactions=_object("booked", booked=_list(_ref("Transaction")), pending=_list(_ref("Transaction"))),
    ),
    "Balances": _object(
        "balances",
        balances=_list(
            _object(
                "balanceAmount balanceType",
                balanceAmount=_ref("Amount"),
                balanceType=_TEXT,
                referenceDate=_DAY,
                lastChangeDateTime=_INSTANT,
            )
        ),
    ),
    "Deleted": _object(summary=_TEXT, detail=_TEXT),
    "Error": _object("status_code", status_code=_NUMBER, summary=_TEXT, detail=_TEXT, type=_TEXT),
}

CONTRACT = Contract(
    _SCHEMAS,
    [
        Operation("POST", r"/api/v2/token/new/", {200: "JWTObtain"}, body="JWTObtainPairRequest"),
        Operation("POST", r"/api/v2/token/refresh/", {200: "JWTRefresh"}, body="JWTRefreshRequest"),
        Operation("GET", r"/api/v2/institutions/", {200: "Institutions"}, {"country": "[a-z]{2}"}),
        Operation("GET", r"/api/v2/institutions/[^/]+/", {200: "Institution"}),
        Operation("POST", r"/api/v2/agreements/enduser/", {201: "EndUserAgreement"}, body="EndUserAgreementRequest"),
        Operation("GET", rf"/api/v2/agreements/enduser/{_ID}/", {200: "EndUserAgreement"}),
        Operation("POST", r"/api/v2/requisitions/", {201: "Requisition"}, body="RequisitionRequest"),
        Operation("GET", rf"/api/v2/requisitions/{_ID}/", {200: "Requisition"}),
        Operation("DELETE", rf"/api/v2/requisitions/{_ID}/", {200: "Deleted"}),
        Operation("GET", rf"/api/v2/accounts/{_ID}/", {200: "Account"}),
        Operation("GET", rf"/api/v2/accounts/{_ID}/balances/", {200: "Balances"}),
        Operation(
            "GET",
            rf"/api/v2/accounts/{_ID}/transactions/",
            {200: "Transactions"},
            {"date_from": _ISO_DAY, "date_to": _ISO_DAY},
        ),
    ],
    error="Error",
)
