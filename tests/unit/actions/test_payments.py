"""Payments that the person signs: the file and the code say exactly what was approved."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lxml import etree

from actions.testing.desk import Desk
from actions.testing.laws import AT, KEY
from actions.tools.payments import NAMESPACE, end_to_end, sepa
from schemas.clock import ManualClock
from schemas.errors import StepFailed
from schemas.model import Json
from tests.peers.payments import payment_schema, read_qr
from tests.peers.process import needed

ARGS: dict[str, Json] = {
    "payee": "Müller & Söhne GmbH",
    "iban": "DE89 3704 0044 0532 0130 00",
    "amount": {"amount": "82.50", "currency": "EUR"},
    "purpose": "Invoice 17 – Größe",
}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve(), ManualClock(AT))


def call(desk: Desk, called: str, **args: Json) -> dict[str, Json]:
    tool = desk.registry().tool(called)
    assert tool is not None
    return asyncio.run(tool.call({**ARGS, **args}, KEY))


def parsed(out: dict[str, Json]) -> dict[str, str]:
    """Every leaf by its last two names."""
    root = etree.parse(str(out["path"])).getroot()
    leaves = [element for element in root.iter() if not len(element)]
    return {"/".join(etree.QName(e).localname for e in (e.getparent(), e) if e is not None): e.text for e in leaves}


class TestFile:
    @pytest.mark.parametrize("more", [{}, {"bic": "COBADEFFXXX"}, {"purpose": "RF18 5390 0754 7034"}])
    def test_the_file_is_valid_by_the_published_schema(self, desk: Desk, more: dict[str, Json]) -> None:
        out = call(desk, "payment.file", name="acme.xml", day="2025-03-10", **more)
        schema = etree.XMLSchema(etree.parse(needed(payment_schema)))
        schema.assertValid(etree.parse(str(out["path"])))

    def test_the_file_says_who_pays_what_to_whom_and_when(self, desk: Desk) -> None:
        out = call(desk, "payment.file", name="acme.xml", day="2025-03-10")
        said = parsed(out)
        assert {
            name: said[name] for name in said if name.split("/")[0] in ("PmtId", "Cdtr", "ReqdExctnDt", "Dbtr")
        } == {
            "PmtId/EndToEndId": KEY,
            "Cdtr/Nm": "Mueller + Soehne GmbH",
            "ReqdExctnDt/Dt": "2025-03-10",
            "Dbtr/Nm": "Ann Example",
        }
        ibans = etree.parse(str(out["path"])).getroot().findall(f".//{{{NAMESPACE}}}IBAN")
        assert [iban.text for iban in ibans] == ["DE02120300000000202051", "DE89370400440532013000"]
        assert (said["Amt/InstdAmt"], said["RmtInf/Ustrd"]) == ("82.50", "Invoice 17 . Groesse")
        assert out["payment_id"] == KEY

    def test_a_creditor_reference_stays_one(self, desk: Desk) -> None:
        said = parsed(call(desk, "payment.file", name="acme.xml", purpose="RF18 5390 0754 7034"))
        assert (said["CdtrRefInf/Ref"], said["CdOrPrtry/Cd"]) == ("RF18539007547034", "SCOR")
        said = parsed(call_other(desk, "RF19 5390 0754 7034"))
        assert "CdtrRefInf/Ref" not in said

    def test_a_day_that_is_past_becomes_today(self, desk: Desk) -> None:
        said = parsed(call(desk, "payment.file", name="acme.xml", day="2025-02-01"))
        assert said["ReqdExctnDt/Dt"] == "2025-03-03"

    def test_a_file_that_somebody_changed_is_not_what_was_asked_for(self, desk: Desk) -> None:
        out = call(desk, "payment.file", name="acme.xml")
        path = Path(str(out["path"]))
        path.write_bytes(path.read_bytes().replace(b"DE89370400440532013000", b"DE75512108001245126199"))
        tool = desk.registry().tool("payment.file")
        assert tool is not None
        assert asyncio.run(tool.verify({**ARGS, "name": "acme.xml"}, KEY, out)) is None


def call_other(desk: Desk, purpose: str) -> dict[str, Json]:
    tool = desk.registry().tool("payment.file")
    assert tool is not None
    return asyncio.run(tool.call({**ARGS, "name": "other.xml", "purpose": purpose}, "d" * 32))


class TestCode:
    def test_a_reader_of_codes_finds_exactly_this_transfer(self, desk: Desk) -> None:
        out = call(desk, "payment.qr", name="acme.png")
        lines = needed(lambda: read_qr(Path(str(out["path"])))).splitlines()
        assert lines[:3] == ["BCD", "002", "1"]
        assert lines[3:8] == ["SCT", "", "Mueller + Soehne GmbH", "DE89370400440532013000", "EUR82.5"]
        assert lines[-1] == "Invoice 17 . Groesse"


class TestAmounts:
    @pytest.mark.parametrize(
        ("amount", "currency", "reason"),
        [("82.50", "USD", "in euros, not in USD"), ("0", "EUR", "no amount"), ("-5", "EUR", "no amount"),
         ("1.005", "EUR", "no amount"), ("1000000000", "EUR", "no amount")],
    )  # fmt: skip
    @pytest.mark.parametrize("tool", ["payment.qr", "payment.file"])
    def test_what_no_transfer_can_be_is_refused(
        self, desk: Desk, tool: str, amount: str, currency: str, reason: str
    ) -> None:
        name = "a.png" if tool == "payment.qr" else "a.xml"
        with pytest.raises(StepFailed, match=reason):
            call(desk, tool, name=name, amount={"amount": amount, "currency": currency})
        assert not (desk.documents / name).exists()

    def test_names_are_written_in_letters_that_every_bank_takes(self) -> None:
        assert sepa("Łódź Ærø & Cie. – Straße\n5", 70) == "Lodz Aero + Cie. . Strasse 5"
        assert sepa("東京", 70) == ".."
        assert end_to_end("a" * 64) == "a" * 35
