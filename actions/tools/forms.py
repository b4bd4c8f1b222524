"""Forms of the person's own, filled: the fields of a PDF (AcroForm), the {places} of a DOCX; and read back."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from actions.tools.extract import require_small
from schemas.errors import StepFailed

if TYPE_CHECKING:
    from docx.document import Document as DocxDocument
    from docx.text.paragraph import Paragraph

_PLACE = re.compile(r"\{\{?\s*([A-Za-z][\w .-]{0,60}?)\s*\}?\}")
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Of every entry of a ZIP that we write: the same values give the same bytes."""


def filled(name: str, content: bytes, fields: Mapping[str, str]) -> bytes:
    """StepFailed for a field that is not there, a choice that is none, and what is no form. Same input, same bytes."""
    match name.rpartition(".")[2].lower():
        case "pdf":
            return _filled_pdf(content, fields)
        case "docx":
            return _filled_docx(content, fields)
    raise StepFailed(f"{name} is no form", code="invalid", remedy="use a PDF with form fields, or a DOCX")


def values(name: str, content: bytes, wanted: Mapping[str, str]) -> Mapping[str, str]:
    """What a filled form says for the wanted fields; a field that does not say what is wanted is left out."""
    if name.lower().endswith(".pdf"):
        found = {field: _plain(each.get("/V", "")) for field, each in _fields(_reader(content)).items()}
        return {field: found[field] for field, value in wanted.items() if found.get(field) == value}
    text = "\n".join(paragraph.text for paragraph in _paragraphs(_document(content)))
    return {field: value for field, value in wanted.items() if value in text}


def _reader(content: bytes) -> Any:
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted:
            raise StepFailed("the form is protected by a password", code="denied", remedy="remove the password first")
        return reader
    except (PyPdfError, ValueError, KeyError, RecursionError) as error:
        raise StepFailed("the form is no PDF that can be read", code="invalid") from error


def _fields(reader: Any) -> dict[str, Any]:
    found: dict[str, Any] = reader.get_fields() or {}
    return {name: field for name, field in found.items() if "/FT" in field}


def _filled_pdf(content: bytes, fields: Mapping[str, str]) -> bytes:
    from pypdf import PdfWriter
    from pypdf.generic import NameObject

    reader = _reader(content)
    known = _fields(reader)
    if not known:
        raise StepFailed("the PDF has no form fields", code="invalid", remedy="use a fillable PDF, or a DOCX template")
    writer = PdfWriter(clone_from=reader)
    form: Any = writer.root_object["/AcroForm"]
    form.pop(NameObject("/XFA"), None)  # else a viewer shows the other, unfilled form
    entered = {name: _entered(name, value, known) for name, value in fields.items()}
    writer.update_page_form_field_values(list(writer.pages), entered, auto_regenerate=False)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _entered(name: str, value: str, known: Mapping[str, Any]) -> str:
    """The value as the field takes it: the on-state of a check box, one of the choices of a list."""
    if name not in known:
        listed = ", ".join(sorted(known)[:20])
        raise StepFailed(f"the form has no field {name!r}", code="invalid", remedy=f"its fields are: {listed}")
    field = known[name]
    states = [str(state) for state in field.get("/_States_", ())]
    if field["/FT"] == "/Sig":
        raise StepFailed(f"the field {name!r} is for a signature", code="denied", remedy="sign it yourself")
    if field["/FT"] == "/Btn":
        on = [state for state in states if state != "/Off"]
        wanted = {"yes": on[0] if on else "", "no": "/Off"}.get(value.lower(), f"/{value.removeprefix('/')}")
        if wanted not in {*states, "/Off"}:
            raise StepFailed(f"the box {name!r} knows yes, no, {', '.join(on)}", code="invalid")
        return wanted
    if field["/FT"] == "/Ch" and states and value not in states:
        raise StepFailed(f"the list {name!r} has no {value!r}", code="invalid", remedy=f"choose of {', '.join(states)}")
    return value


def entered(name: str, content: bytes, fields: Mapping[str, str]) -> Mapping[str, str]:
    """The values as the filled form will say them."""
    if not name.lower().endswith(".pdf"):
        return {field: value for field, value in fields.items() if value}
    known = _fields(_reader(content))
    return {field: _plain(_entered(field, value, known)) for field, value in fields.items()}


def _plain(value: object) -> str:
    return str(value)


def _document(content: bytes) -> DocxDocument:
    from docx import Document
    from docx.opc.exceptions import PackageNotFoundError

    require_small(content)
    try:
        return Document(io.BytesIO(content))
    except (PackageNotFoundError, KeyError, ValueError) as error:
        raise StepFailed("it is no DOCX document", code="invalid") from error


def _paragraphs(document: Any) -> Iterator[Paragraph]:
    """Of the text, of tables, of heads and feet."""
    parts = [document]
    for section in document.sections:
        parts += [section.header, section.footer]
    while parts:
        part = parts.pop(0)
        yield from part.paragraphs
        parts += [cell for table in part.tables for row in table.rows for cell in row.cells]


def _filled_docx(content: bytes, fields: Mapping[str, str]) -> bytes:
    document = _document(content)
    used: set[str] = set()
    for paragraph in _paragraphs(document):
        _fill(paragraph, fields, used)
    if missing := sorted(set(fields) - used):
        raise StepFailed(f"the document has no place {{{missing[0]}}}", code="invalid", remedy="look at the template")
    out = io.BytesIO()
    document.save(out)
    return _repacked(out.getvalue())


def _fill(paragraph: Paragraph, fields: Mapping[str, str], used: set[str]) -> None:
    """Word processors cut a place into several runs: the first one gets the value, with its looks."""
    runs = list(paragraph.runs)
    text = "".join(run.text for run in runs)
    for match in reversed(list(_PLACE.finditer(text))):
        if match[1] not in fields:
            raise StepFailed(f"no value for {{{match[1]}}}", code="invalid", remedy=f"give field.{match[1]}")
        used.add(match[1])
        _replace(runs, match.start(), match.end(), fields[match[1]])


def _replace(runs: list[Any], start: int, end: int, value: str) -> None:
    at = 0
    for run in runs:
        text, begin = run.text, at
        at += len(text)
        if at <= start or begin >= end:
            continue
        left, right = text[: max(0, start - begin)], text[max(0, end - begin) :] if at > end else ""
        run.text = left + (value if begin <= start else "") + right


def _repacked(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            info = zipfile.ZipInfo(entry.filename, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(info, old.read(entry.filename))
    return out.getvalue()
