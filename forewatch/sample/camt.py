"""CAMT.053 statements (ISO 20022) as bank A writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from xml.sax.saxutils import escape

from forewatch.sample.scene import Row, RowKind

_CODES: dict[RowKind, tuple[str, str]] = {
    "transfer": ("ICDT", "ESCT"),
    "debit": ("RDDT", "ESDD"),
    "card": ("CCRD", "POSD"),
    "salary": ("RCDT", "SALA"),
    "income": ("RCDT", "ESCT"),
    "refund": ("CCRD", "POSC"),
}
"""Family and sub-family of the bank transaction code."""


@dataclass(frozen=True, slots=True)
class Statement:
    """``booked`` rows count into the balances, ``pending`` ones do not."""

    id: str
    made_at: datetime
    iban: str
    holder: str
    first: date
    last: date
    opening: Decimal
    booked: Sequence[Row]
    pending: Sequence[Row]


def document(statement: Statement) -> bytes:
    closing = statement.opening + sum((row.amount for row in statement.booked), Decimal(0))
    entries = [_entry(row, "BOOK") for row in statement.booked] + [_entry(row, "PDNG") for row in statement.pending]
    made = statement.made_at.isoformat()
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02">',
        "<BkToCstmrStmt>",
        f"<GrpHdr><MsgId>M{statement.id}</MsgId><CreDtTm>{made}</CreDtTm></GrpHdr>",
        f"<Stmt><Id>{statement.id}</Id><CreDtTm>{made}</CreDtTm>",
        f"<FrToDt><FrDtTm>{statement.first}T00:00:00</FrDtTm><ToDtTm>{statement.last}T23:59:59</ToDtTm></FrToDt>",
        f"<Acct><Id><IBAN>{statement.iban}</IBAN></Id><Ccy>EUR</Ccy><Ownr><Nm>{escape(statement.holder)}</Nm></Ownr></Acct>",
        _balance("OPBD", statement.opening, statement.first),
        _balance("CLBD", closing, statement.last),
        *entries,
        "</Stmt>",
        "</BkToCstmrStmt>",
        "</Document>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _signed(amount: Decimal) -> str:
    side = "CRDT" if amount >= 0 else "DBIT"
    return f'<Amt Ccy="EUR">{abs(amount):.2f}</Amt><CdtDbtInd>{side}</CdtDbtInd>'


def _balance(code: str, amount: Decimal, day: date) -> str:
    return f"<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp>{_signed(amount)}<Dt><Dt>{day}</Dt></Dt></Bal>"


def _entry(row: Row, status: str) -> str:
    day = row.pending_on if status == "PDNG" else row.booked
    family, sub = _CODES[row.kind]
    return "\n".join(
        [
            f"<Ntry>{_signed(row.amount)}<Sts>{status}</Sts>",
            f"<BookgDt><Dt>{day}</Dt></BookgDt><ValDt><Dt>{row.booked}</Dt></ValDt>",
            f"<AcctSvcrRef>{row.reference}</AcctSvcrRef>",
            f"<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>{family}</Cd><SubFmlyCd>{sub}</SubFmlyCd></Fmly></Domn></BkTxCd>",
            f"<NtryDtls><TxDtls>{_refs(row)}{_parties(row)}"
            f"<RmtInf><Ustrd>{escape(row.purpose)}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>",
        ]
    )


def _refs(row: Row) -> str:
    mandate = f"<MndtId>{row.mandate}</MndtId>" if row.mandate else ""
    return f"<Refs><EndToEndId>{row.reference}</EndToEndId>{mandate}</Refs>"


def _parties(row: Row) -> str:
    role = "Cdtr" if row.amount < 0 else "Dbtr"
    creditor = f"<Id><PrvtId><Othr><Id>{row.creditor}</Id></Othr></PrvtId></Id>" if row.creditor else ""
    account = f"<{role}Acct><Id><IBAN>{row.iban}</IBAN></Id></{role}Acct>" if row.iban else ""
    return f"<RltdPties><{role}><Nm>{escape(row.counterparty)}</Nm>{creditor}</{role}>{account}</RltdPties>"
