"""payment.qr and payment.file: a transfer made ready for the person to sign in their bank. No money moves by us.

The QR code is EPC069-12, the file pain.001.001.09 as the SEPA rulebook wants it. That the money has left shows later,
by a row of the bank: waiting for it is a step of its own.
"""

from __future__ import annotations

import asyncio
import io
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from actions.tools.files import DISCARD_UNDO
from actions.tools.notify import TEN_YEARS_S
from actions.tools.placed import Placed
from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas import ids
from schemas.clock import Clock
from schemas.errors import StepFailed
from schemas.model import Json
from schemas.money import Money
from schemas.value import Integrity

NAMESPACE = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"
_LARGEST = Decimal("999999999.99")
_LETTERS = {"Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ø": "O", "ø": "o", "Æ": "Ae",
            "æ": "ae", "Ł": "L", "ł": "l", "&": "+", "€": "EUR"}  # fmt: skip
_OUTSIDE = re.compile(r"[^A-Za-z0-9/\-?:().,'+ ]")
_RF = re.compile(r"RF[0-9]{2}[A-Z0-9]{1,21}")


def _manifest(**more: object) -> Manifest:
    common: dict[str, object] = {
        "version": "1.0.0",
        "returns": {"path": "FilePath", "sha256": "Text", "payment_id": "PaymentId"},
        "integrity_out": Integrity.SYSTEM,
        "minted": ("path", "sha256", "payment_id"),
        "effect": "payment",
        "effect_class": "keyed",
        "key_ttl_s": TEN_YEARS_S,
        "look_up": True,
        "settle_s": 35.0,
        "undo": DISCARD_UNDO,
        "reversible": "until you sign it at your bank",
        "cost": "amount",
        "permissions": {"files": ("documents",)},
    }
    return Manifest.model_validate({**common, **more})


_ARGS = {
    "payee": Arg(type="Text", sink="destination", says="whom"),
    "iban": Arg(type="Iban", says="the payee's account"),
    "bic": Arg(type="Bic", required=False, says="the payee's bank, outside of the EEA"),
    "amount": Arg(type="Money", says="how much, in euros"),
    "purpose": Arg(type="Text", required=False, says="what the payee reads; a RF reference is kept as one"),
    "name": Arg(type="FileName", says="the file to write"),
}
QR = _manifest(
    name="payment.qr",
    description="Draw the QR code of a SEPA transfer, which the owner scans and signs in the bank's app.",
    says="Draw a QR code to pay {amount} to {payee} ({iban}); you sign it in your bank's app",
    args=_ARGS,
)
FILE = _manifest(
    name="payment.file",
    description="Write a SEPA transfer as a pain.001 file, which the owner uploads to the bank and signs there.",
    says="Write a payment file over {amount} to {payee} ({iban}); you upload and sign it at your bank",
    args={**_ARGS, "day": Arg(type="Date", required=False, says="when to execute it; the next day if that is past")},
)


@dataclass(frozen=True, slots=True)
class Payer:
    """The owner's account: ``name`` as the bank knows it; ``bic`` may be empty within the EEA."""

    name: str
    iban: str
    bic: str = ""


@dataclass(frozen=True, slots=True)
class Transfer:
    payee: str
    iban: str
    bic: str
    amount: Decimal
    purpose: str
    end_to_end: str

    @classmethod
    def of(cls, args: Args, key: str) -> Transfer:
        """StepFailed for what no SEPA transfer can be."""
        money = Money.model_validate(args["amount"])
        if money.currency != "EUR":
            raise StepFailed(f"a SEPA transfer is in euros, not in {money.currency}", code="invalid")
        if not 0 < money.amount <= _LARGEST or money.amount != money.amount.quantize(Decimal("0.01")):
            raise StepFailed(f"{money.amount} is no amount of a transfer", code="invalid")
        payee = sepa(str(args["payee"]), 70)
        if not any(letter.isalnum() for letter in payee):
            raise StepFailed("the payee has no name that a bank can read", code="invalid", remedy="write it in Latin")
        return cls(
            payee=payee,
            iban=_compact(args["iban"]),
            bic=_compact(args.get("bic") or ""),
            amount=money.amount.quantize(Decimal("0.01")),
            purpose=sepa(str(args.get("purpose") or ""), 140),
            end_to_end=end_to_end(key),
        )

    @property
    def reference(self) -> str:
        """The creditor's reference (ISO 11649), where the purpose is one."""
        compact = _compact(self.purpose)
        if not _RF.fullmatch(compact):
            return ""
        digits = "".join(str(int(c, 36)) for c in compact[4:] + compact[:4])
        return compact if int(digits) % 97 == 1 else ""


def end_to_end(key: str) -> str:
    """At most 35 characters that the payee's bank hands on: the key of the step."""
    return key[:35]


def sepa(text: str, limit: int) -> str:
    """In the letters that every SEPA bank takes; what has no such letter becomes a point."""
    spelled = "".join(_LETTERS.get(letter, letter) for letter in text)
    plain = "".join(c for c in unicodedata.normalize("NFKD", spelled) if not unicodedata.combining(c))
    return " ".join(_OUTSIDE.sub(".", " ".join(plain.split())).split())[:limit].strip()


class _Payment:
    """One file for its key; verified by reading it back, bytes and meaning."""

    manifest: Manifest
    ending: str

    def __init__(self, documents: Path) -> None:
        self._placed = Placed(documents)

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        name = str(args["name"])
        if not name.lower().endswith(self.ending):
            raise StepFailed(f"the file must end in {self.ending}", code="invalid", remedy="change its name")
        make: Callable[[], bytes] = lambda: self.content(args, key)  # noqa: E731
        found = await asyncio.to_thread(self._placed.put, name, make, key)
        return {**found, "payment_id": end_to_end(key)}

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        found = await asyncio.to_thread(self._placed.find, str(args["name"]), key)
        return None if found is None else {**found, "payment_id": end_to_end(key)}

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        found = await self.look_up(args, key)
        content = await asyncio.to_thread(self._placed.read, str(args["name"]))
        if found is None or content is None or found["sha256"] != result["sha256"]:
            return None
        said = await asyncio.to_thread(self.says, content, args, key)
        return Receipt(what="the payment, read back", where=str(found["path"]), details=said) if said else None

    def content(self, args: Args, key: str) -> bytes:
        raise NotImplementedError

    def says(self, content: bytes, args: Args, key: str) -> dict[str, Json]:
        """What the file says, where that is what was asked for; else nothing."""
        raise NotImplementedError


class PaymentQr(_Payment):
    manifest = QR
    ending = ".png"

    def content(self, args: Args, key: str) -> bytes:
        from segno import helpers

        transfer = Transfer.of(args, key)
        purpose = {"reference": transfer.reference} if transfer.reference else {"text": transfer.purpose or key[:16]}
        try:
            code: Any = helpers.make_epc_qr(
                transfer.payee, transfer.iban, transfer.amount, bic=transfer.bic or None, encoding="utf-8", **purpose
            )
        except ValueError as error:
            raise StepFailed(f"no QR code holds this payment ({error})", code="invalid") from error
        out = io.BytesIO()
        code.save(out, kind="png", scale=8, border=4)
        return out.getvalue()

    def says(self, content: bytes, args: Args, key: str) -> dict[str, Json]:
        """A picture is compared with the one of these very arguments."""
        if content != self.content(args, key):
            return {}
        transfer = Transfer.of(args, key)
        return {"iban": transfer.iban, "amount": str(transfer.amount), "sha256": ids.content_hash(content)}


class PaymentFile(_Payment):
    manifest = FILE
    ending = ".xml"

    def __init__(self, documents: Path, payer: Payer, zone: ZoneInfo, clock: Clock) -> None:
        super().__init__(documents)
        self._payer = payer
        self._zone = zone
        self._clock = clock

    def content(self, args: Args, key: str) -> bytes:
        today = self._clock.now().astimezone(self._zone).date()
        wished = date.fromisoformat(str(args["day"])) if args.get("day") else today
        made = self._clock.now().astimezone(self._zone).replace(microsecond=0)
        return pain001(Transfer.of(args, key), self._payer, max(wished, today), made.isoformat())

    def says(self, content: bytes, args: Args, key: str) -> dict[str, Json]:
        from lxml import etree

        transfer, names = Transfer.of(args, key), {"p": NAMESPACE}
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))

        def one(path: str) -> str:
            found = root.findtext(f".//{path}", namespaces=names)
            return str(found or "")

        said: dict[str, Json] = {
            "iban": one("p:CdtrAcct/p:Id/p:IBAN"),
            "amount": one("p:InstdAmt"),
            "end_to_end": one("p:EndToEndId"),
            "payee": one("p:Cdtr/p:Nm"),
        }
        wanted = {
            "iban": transfer.iban,
            "amount": str(transfer.amount),
            "end_to_end": transfer.end_to_end,
            "payee": transfer.payee,
        }
        return {**said, "on": one("p:ReqdExctnDt/p:Dt")} if said == wanted else {}


def pain001(transfer: Transfer, payer: Payer, day: date, made: str) -> bytes:
    """One credit transfer initiation with one transaction, in the order that the schema wants."""
    from lxml import etree

    document = etree.Element(f"{{{NAMESPACE}}}Document", nsmap={None: NAMESPACE})  # type: ignore[dict-item]

    def put(parent: Any, path: str, text: str, **attributes: str) -> None:
        """Below ``parent``: makes what of the path is missing, reusing only the newest element of each name."""
        for name in path.split("/"):
            last = parent[-1] if len(parent) else None
            tag = f"{{{NAMESPACE}}}{name}"
            parent = last if last is not None and last.tag == tag else etree.SubElement(parent, tag)
        parent.text = text
        parent.attrib.update(attributes)

    amount, name = str(transfer.amount), sepa(payer.name, 70)
    start = etree.SubElement(document, f"{{{NAMESPACE}}}CstmrCdtTrfInitn")
    for path, text in (
        ("GrpHdr/MsgId", transfer.end_to_end),
        ("GrpHdr/CreDtTm", made),
        ("GrpHdr/NbOfTxs", "1"),
        ("GrpHdr/CtrlSum", amount),
        ("GrpHdr/InitgPty/Nm", name),
        ("PmtInf/PmtInfId", transfer.end_to_end),
        ("PmtInf/PmtMtd", "TRF"),
        ("PmtInf/NbOfTxs", "1"),
        ("PmtInf/CtrlSum", amount),
        ("PmtInf/PmtTpInf/SvcLvl/Cd", "SEPA"),
        ("PmtInf/ReqdExctnDt/Dt", day.isoformat()),
        ("PmtInf/Dbtr/Nm", name),
        ("PmtInf/DbtrAcct/Id/IBAN", _compact(payer.iban)),
        (f"PmtInf/DbtrAgt/FinInstnId/{'BICFI' if payer.bic else 'Othr/Id'}", _compact(payer.bic) or "NOTPROVIDED"),
        ("PmtInf/ChrgBr", "SLEV"),
        ("PmtInf/CdtTrfTxInf/PmtId/EndToEndId", transfer.end_to_end),
    ):
        put(start, path, text)
    put(start, "PmtInf/CdtTrfTxInf/Amt/InstdAmt", amount, Ccy="EUR")
    if transfer.bic:
        put(start, "PmtInf/CdtTrfTxInf/CdtrAgt/FinInstnId/BICFI", transfer.bic)
    put(start, "PmtInf/CdtTrfTxInf/Cdtr/Nm", transfer.payee)
    put(start, "PmtInf/CdtTrfTxInf/CdtrAcct/Id/IBAN", transfer.iban)
    if transfer.reference:
        put(start, "PmtInf/CdtTrfTxInf/RmtInf/Strd/CdtrRefInf/Tp/CdOrPrtry/Cd", "SCOR")
        put(start, "PmtInf/CdtTrfTxInf/RmtInf/Strd/CdtrRefInf/Ref", transfer.reference)
    elif transfer.purpose:
        put(start, "PmtInf/CdtTrfTxInf/RmtInf/Ustrd", transfer.purpose)
    return etree.tostring(document, xml_declaration=True, encoding="UTF-8", pretty_print=True)


def _compact(value: Json) -> str:
    return str(value).replace(" ", "").upper()
