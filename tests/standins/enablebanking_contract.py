"""The published description of the Enable Banking API (version 1.0.0 of its reference), as far as accounts are read.

``additionalProperties`` is closed where we send, so that nothing is asked for that the description does not know.
"""

from __future__ import annotations

from typing import Any

from tests.standins.contract import Contract, Operation

_TEXT = {"type": "string"}
_DAY = {"type": "string", "format": "date"}
_INSTANT = {"type": "string", "format": "date-time"}
_UUID = {"type": "string", "format": "uuid"}
_PAGE_KEY = r".{1,2000}"
_ISO_DAY = r"\d{4}-\d{2}-\d{2}"


def _object(required: str = "", *, closed: bool = False, **properties: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": properties, "required": required.split()}
    return {**found, "additionalProperties": False} if closed else found


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": _ref(name)}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _one_of(words: str) -> dict[str, Any]:
    return {"type": "string", "enum": words.split()}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The description leaves nulls out; the API sends them, as its own examples show."""
    return {"anyOf": [schema, {"type": "null"}]}


ERRORS = """
ACCESS_DENIED ACCOUNT_DOES_NOT_EXIST ALREADY_AUTHORIZED ASPSP_ACCOUNT_NOT_ACCESSIBLE ASPSP_ERROR ASPSP_TIMEOUT
ASPSP_RATE_LIMIT_EXCEEDED AUTHORIZATION_NOT_PROVIDED CLOSED_SESSION DATE_TO_WITHOUT_DATE_FROM DATE_FROM_IN_FUTURE
EXPIRED_AUTHORIZATION_CODE EXPIRED_SESSION INVALID_ACCOUNT_ID INVALID_HOST UNAUTHORIZED_IP NO_ACCOUNTS_ADDED
PAYMENT_NOT_FOUND PSU_HEADER_NOT_PROVIDED PSU_HEADER_INVALID REDIRECT_URI_NOT_ALLOWED REVOKED_SESSION
SESSION_DOES_NOT_EXIST UNAUTHORIZED_ACCESS UNTRUSTED_PAYMENT_PARTY WEBHOOK_URI_NOT_ALLOWED WRONG_ASPSP_PROVIDED
WRONG_AUTHORIZATION_CODE WRONG_DATE_INTERVAL WRONG_CREDENTIALS_PROVIDED WRONG_REQUEST_PARAMETERS WRONG_SESSION_STATUS
WRONG_TRANSACTIONS_PERIOD WRONG_CONTINUATION_KEY TRANSACTION_DOES_NOT_EXIST PAYMENT_LIMIT_EXCEEDED
ASPSP_PAYMENT_NOT_ACCESSIBLE INVALID_PAYMENT ASPSP_PSU_ACTION_REQUIRED PAYMENT_NOT_FINALIZED
"""

_SCHEMAS: dict[str, Any] = {
    "AmountType": _object("currency amount", currency=_TEXT, amount={**_TEXT, "pattern": r"^-?\d+(\.\d+)?$"}),
    "GenericIdentification": _object("identification scheme_name", identification=_TEXT, scheme_name=_TEXT),
    "AccountIdentification": _object(iban=_or_null(_TEXT), other=_or_null(_ref("GenericIdentification"))),
    "Party": _object(name=_or_null(_TEXT)),
    "BankTransactionCode": _object(description=_or_null(_TEXT), code=_or_null(_TEXT), sub_code=_or_null(_TEXT)),
    "ExchangeRate": _object(
        unit_currency=_or_null(_TEXT),
        exchange_rate=_or_null(_TEXT),
        rate_type=_or_null(_TEXT),
        instructed_amount=_or_null(_ref("AmountType")),
    ),
    "Transaction": _object(
        "transaction_amount credit_debit_indicator status",
        entry_reference=_or_null(_TEXT),
        merchant_category_code=_or_null(_TEXT),
        transaction_amount=_ref("AmountType"),
        creditor=_or_null(_ref("Party")),
        creditor_account=_or_null(_ref("AccountIdentification")),
        debtor=_or_null(_ref("Party")),
        debtor_account=_or_null(_ref("AccountIdentification")),
        bank_transaction_code=_or_null(_ref("BankTransactionCode")),
        credit_debit_indicator=_one_of("CRDT DBIT"),
        status=_one_of("BOOK CNCL HOLD OTHR PDNG RJCT SCHD"),
        booking_date=_or_null(_DAY),
        value_date=_or_null(_DAY),
        transaction_date=_or_null(_DAY),
        balance_after_transaction=_or_null(_ref("AmountType")),
        reference_number=_or_null(_TEXT),
        reference_number_schema=_or_null(_one_of("SEBG NORF FIRF INTL BERF SDDM")),
        remittance_information=_or_null({"type": "array", "items": _TEXT}),
        exchange_rate=_or_null(_ref("ExchangeRate")),
        note=_or_null(_TEXT),
        transaction_id=_or_null(_TEXT),
    ),
    "HalTransactions": _object("transactions", transactions=_list("Transaction"), continuation_key=_or_null(_TEXT)),
    "BalanceResource": _object(
        "name balance_amount balance_type",
        name=_TEXT,
        balance_amount=_ref("AmountType"),
        balance_type=_one_of("CLAV CLBD FWAV INFO ITAV ITBD OPAV OPBD PRCD OTHR VALU XPCD"),
        last_change_date_time=_or_null(_INSTANT),
        reference_date=_or_null(_DAY),
        last_committed_transaction=_or_null(_TEXT),
    ),
    "HalBalances": _object("balances", balances=_list("BalanceResource")),
    "ASPSP": _object("name country", name=_TEXT, country=_TEXT),
    "Access": _object(
        "valid_until", valid_until=_INSTANT, balances={"type": "boolean"}, transactions={"type": "boolean"}
    ),
    "ASPSPData": _object(
        "name country logo psu_types auth_methods maximum_consent_validity beta",
        name=_TEXT,
        country={**_TEXT, "pattern": "^[A-Z]{2}$"},
        logo=_TEXT,
        psu_types={"type": "array", "items": _one_of("business personal")},
        auth_methods={"type": "array"},
        maximum_consent_validity={"type": "integer"},
        beta={"type": "boolean"},
        required_psu_headers=_or_null({"type": "array", "items": _TEXT}),
    ),
    "GetAspspsResponse": _object("aspsps", aspsps=_list("ASPSPData")),
    "StartAuthorizationRequest": _object(
        "access aspsp state redirect_url",
        closed=True,
        access=_ref("Access"),
        aspsp=_ref("ASPSP"),
        state=_TEXT,
        redirect_url={**_TEXT, "minLength": 1, "format": "uri"},
        psu_type=_one_of("business personal"),
        auth_method=_TEXT,
        credentials={"type": "object"},
        credentials_autosubmit={"type": "boolean"},
        language=_TEXT,
        psu_id=_TEXT,
    ),
    "StartAuthorizationResponse": _object(
        "url authorization_id psu_id_hash", url={**_TEXT, "format": "uri"}, authorization_id=_UUID, psu_id_hash=_TEXT
    ),
    "AuthorizeSessionRequest": _object("code", closed=True, code=_TEXT),
    "AccountResource": _object(
        "cash_account_type currency identification_hash identification_hashes",
        account_id=_or_null(_ref("AccountIdentification")),
        name=_or_null(_TEXT),
        details=_or_null(_TEXT),
        product=_or_null(_TEXT),
        cash_account_type=_one_of("CACC CASH CARD LOAN SVGS OTHR"),
        currency=_TEXT,
        uid=_or_null(_UUID),
        identification_hash=_TEXT,
        identification_hashes={"type": "array", "items": _TEXT},
    ),
    "AuthorizeSessionResponse": _object(
        "session_id accounts aspsp psu_type access",
        session_id=_UUID,
        accounts=_list("AccountResource"),
        aspsp=_ref("ASPSP"),
        psu_type=_one_of("business personal"),
        access=_ref("Access"),
    ),
    "SessionAccount": _object(
        "uid identification_hash identification_hashes",
        uid=_UUID,
        identification_hash=_TEXT,
        identification_hashes={"type": "array", "items": _TEXT},
    ),
    "GetSessionResponse": _object(
        "status accounts accounts_data aspsp psu_type psu_id_hash access created",
        status=_one_of("INVALID PENDING_AUTHORIZATION RETURNED_FROM_BANK AUTHORIZED EXPIRED CLOSED REVOKED CANCELLED"),
        accounts={"type": "array", "items": _UUID},
        accounts_data=_list("SessionAccount"),
        aspsp=_ref("ASPSP"),
        psu_type=_one_of("business personal"),
        psu_id_hash=_TEXT,
        access=_ref("Access"),
        created=_INSTANT,
    ),
    "SuccessResponse": _object(message=_TEXT),
    "ErrorResponse": _object("message", message=_TEXT, code={"type": "integer"}, error=_one_of(ERRORS)),
}

CONTRACT = Contract(
    _SCHEMAS,
    [
        Operation(
            "GET",
            r"/aspsps",
            {200: "GetAspspsResponse"},
            {"country": "[A-Z]{2}", "psu_type": "personal|business", "service": "AIS|PIS"},
        ),
        Operation("POST", r"/auth", {200: "StartAuthorizationResponse"}, body="StartAuthorizationRequest"),
        Operation("POST", r"/sessions", {200: "AuthorizeSessionResponse"}, body="AuthorizeSessionRequest"),
        Operation("GET", r"/sessions/[0-9a-f-]{36}", {200: "GetSessionResponse"}),
        Operation("DELETE", r"/sessions/[0-9a-f-]{36}", {200: "SuccessResponse"}),
        Operation("GET", r"/accounts/[0-9a-f-]{36}/balances", {200: "HalBalances"}),
        Operation(
            "GET",
            r"/accounts/[0-9a-f-]{36}/transactions",
            {200: "HalTransactions"},
            {
                "date_from": _ISO_DAY,
                "date_to": _ISO_DAY,
                "continuation_key": _PAGE_KEY,
                "transaction_status": "BOOK|CNCL|HOLD|OTHR|PDNG|RJCT|SCHD",
                "strategy": "default|longest",
            },
        ),
    ],
    error="ErrorResponse",
)
