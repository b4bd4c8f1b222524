"""Files of the person's own: found, read, filled and written; and nothing beside the folders that were allowed."""

from __future__ import annotations

import asyncio
import io
import os
import zipfile
from pathlib import Path

import pytest
from docx import Document
from pypdf import PdfReader

from actions.testing.cases import form_pdf
from actions.testing.desk import Desk
from actions.testing.laws import AT, KEY, OTHER
from actions.tools import forms
from actions.tools.tree import Tree
from schemas.clock import ManualClock
from schemas.errors import StepFailed
from schemas.model import Json


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path.resolve(), ManualClock(AT))
    made.papers.mkdir()
    return made


def call(desk: Desk, called: str, key: str = KEY, /, **args: Json) -> dict[str, Json]:
    tool = desk.registry().tool(called)
    assert tool is not None
    return asyncio.run(tool.call({k.replace("__", "."): v for k, v in args.items()}, key))


def docx(*paragraphs: tuple[str, ...], cell: str = "") -> bytes:
    """Each paragraph as the runs that a word processor cuts it into; the second run is bold."""
    document = Document()
    for runs in paragraphs:
        paragraph = document.add_paragraph()
        for index, text in enumerate(runs):
            paragraph.add_run(text).bold = index == 1
    if cell:
        document.add_table(1, 1).cell(0, 0).text = cell
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


class TestForms:
    def test_a_filled_pdf_is_read_back_by_another_reader(self, desk: Desk) -> None:
        (desk.papers / "form.pdf").write_bytes(form_pdf())
        template = str(desk.papers / "form.pdf")
        args: dict[str, Json] = {"field__name": "Nora Größe", "field__number": "B072RRE2I55", "field__agree": "yes"}
        out = call(desk, "file.fill", template=template, name="filled.pdf", **args)
        fields = PdfReader(str(out["path"])).get_fields() or {}
        said = {name: str(field["/V"]) for name, field in fields.items()}
        assert said == {"name": "Nora Größe", "number": "B072RRE2I55", "agree": "/On"}
        appearance = PdfReader(str(out["path"])).pages[0]["/Annots"][0].get_object()["/AP"]["/N"].get_object()
        assert b"Nora" in appearance.get_data()
        assert (desk.papers / "form.pdf").read_bytes() == form_pdf()

    def test_a_field_that_is_not_there_is_named_with_those_that_are(self, desk: Desk) -> None:
        (desk.papers / "form.pdf").write_bytes(form_pdf())
        with pytest.raises(StepFailed, match="no field 'surname'; its fields are: agree, name, number"):
            call(desk, "file.fill", template=str(desk.papers / "form.pdf"), name="x.pdf", field__surname="x")
        assert not (desk.documents / "x.pdf").exists()

    def test_a_form_that_says_something_else_is_not_what_was_asked_for(self, desk: Desk) -> None:
        wanted = {"name": "Nora", "agree": "yes"}
        filled = forms.filled("form.pdf", form_pdf(), {"name": "Mallory", "agree": "yes"})
        assert dict(forms.values("form.pdf", filled, forms.entered("form.pdf", form_pdf(), wanted))) == {"agree": "/On"}

    def test_places_of_a_docx_are_filled_across_runs_and_keep_their_looks(self, desk: Desk) -> None:
        raw = docx(("Dear {na", "me", "}, your {number} of {{ day }}"), ("no place",), cell="Sum: {sum}")
        (desk.papers / "letter.docx").write_bytes(raw)
        args: dict[str, Json] = {"field__name": "Ada {number}", "field__number": "17", "field__day": "1 May"}
        money: Json = {"amount": "82.50", "currency": "EUR"}
        template = str(desk.papers / "letter.docx")
        out = call(desk, "file.fill", template=template, name="out.docx", field__sum=money, **args)
        document = Document(str(out["path"]))
        assert [p.text for p in document.paragraphs] == ["Dear Ada {number}, your 17 of 1 May", "no place"]
        assert document.tables[0].cell(0, 0).text == "Sum: 82.50 EUR"
        assert [run.bold for run in document.paragraphs[0].runs] == [False, True, False]

    def test_a_docx_with_a_place_left_open_is_not_written(self, desk: Desk) -> None:
        (desk.papers / "letter.docx").write_bytes(docx(("Dear {name}",)))
        with pytest.raises(StepFailed, match=r"no value for \{name\}; give field.name"):
            call(desk, "file.fill", template=str(desk.papers / "letter.docx"), name="out.docx", field__other="x")

    @pytest.mark.parametrize("name", ["form.pdf", "letter.docx"])
    def test_the_same_values_give_the_same_bytes(self, name: str) -> None:
        raw = form_pdf() if name.endswith("pdf") else docx(("Dear {name}",))
        assert forms.filled(name, raw, {"name": "Ada"}) == forms.filled(name, raw, {"name": "Ada"})

    @pytest.mark.parametrize("name", ["form.pdf", "letter.docx", "form.txt"])
    def test_what_is_no_form_is_said_to_be_none(self, name: str) -> None:
        with pytest.raises(StepFailed):
            forms.filled(name, b"%PDF-1.4 nothing", {"name": "Ada"})

    def test_a_docx_that_unpacks_without_end_is_refused(self) -> None:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("word/document.xml", b"0" * 100_000_001)
        with pytest.raises(StepFailed, match="unpacks to"):
            forms.filled("bomb.docx", out.getvalue(), {"name": "x"})


class TestReading:
    def test_the_text_of_each_kind_is_read(self, desk: Desk) -> None:
        (desk.papers / "a.docx").write_bytes(docx(("Licence ", "ends"), cell="in May"))
        (desk.papers / "b.md").write_text("# Größe", "utf-8")
        (desk.papers / "c.pdf").write_bytes(form_pdf())
        assert call(desk, "file.read", path=str(desk.papers / "a.docx"))["text"] == "Licence ends\nin May"
        assert call(desk, "file.read", path=str(desk.papers / "b.md"))["text"] == "# Größe"
        assert call(desk, "file.read", path=str(desk.papers / "c.pdf"))["pages"] == 1

    @pytest.mark.parametrize("name", ["broken.pdf", "broken.docx", "picture.png"])
    def test_what_cannot_be_read_is_a_definite_no(self, desk: Desk, name: str) -> None:
        (desk.papers / name).write_bytes(b"%PDF-1.4\n\x00garbage")
        with pytest.raises(StepFailed, match=name):
            call(desk, "file.read", path=str(desk.papers / name))

    def test_the_best_match_is_found_and_of_equals_the_newest(self, desk: Desk) -> None:
        for age, name in enumerate(["licence_renewal_form.pdf", "licence.pdf", "old licence renewal form.pdf"]):
            (desk.papers / name).write_bytes(b"x")
            os.utime(desk.papers / name, (1000 - age, 1000 - age))
        out = call(desk, "file.find", words="renewal form for my licence", kind="pdf")
        assert (out["name"], out["count"]) == ("licence_renewal_form.pdf", 3)
        with pytest.raises(StepFailed, match="no file is named like"):
            call(desk, "file.find", words="passport")


class TestFolders:
    @pytest.fixture
    def tree(self, desk: Desk) -> Tree:
        (desk.papers / "sub").mkdir()
        (desk.papers / "sub" / "in.txt").write_text("in")
        (desk.root / "secret.txt").write_text("secret")
        (desk.papers / ".hidden").write_text("hidden")
        os.symlink(desk.root / "secret.txt", desk.papers / "link.txt")
        os.symlink(desk.root, desk.papers / "up")
        os.mkfifo(desk.papers / "pipe")
        return Tree([desk.papers])

    def test_what_is_below_an_allowed_folder_is_read(self, desk: Desk, tree: Tree) -> None:
        assert tree.read(str(desk.papers / "sub" / "in.txt")) == b"in"
        assert [path.name for path in tree.files()] == ["in.txt"]

    @pytest.mark.parametrize(
        "path",
        ["secret.txt", "papers/../secret.txt", "papers/link.txt", "papers/up/secret.txt", "papers/.hidden",
         "papers/pipe", "papers/sub", "papers", "papers/sub/../../secret.txt", "papersX/in.txt"],
    )  # fmt: skip
    def test_what_leads_elsewhere_is_refused(self, desk: Desk, tree: Tree, path: str) -> None:
        with pytest.raises(StepFailed):
            tree.read(f"{desk.root}/{path}")

    def test_a_relative_path_is_refused(self, tree: Tree) -> None:
        with pytest.raises(StepFailed, match="add its folder to 'folders'"):
            tree.read("sub/in.txt")


class TestTakingBack:
    def test_a_file_that_somebody_changed_since_stays(self, desk: Desk) -> None:
        out = call(desk, "file.write", name="list.txt", text="bread")
        (desk.documents / "list.txt").write_text("bread and more")
        with pytest.raises(StepFailed, match="not as it was written; delete it yourself"):
            call(desk, "file.discard", OTHER, **out)
        assert (desk.documents / "list.txt").exists()

    def test_a_file_of_somebody_else_stays(self, desk: Desk) -> None:
        desk.documents.mkdir()
        (desk.documents / "mine.txt").write_bytes(b"mine")
        digest = "1d0d2ba4e8b1f4a1d13f05cba4a7cfb5"
        with pytest.raises(StepFailed, match="not as it was written"):
            call(desk, "file.discard", path=str(desk.documents / "mine.txt"), sha256=digest)

    def test_a_crash_between_putting_aside_and_removing_is_mended_by_the_next_call(self, desk: Desk) -> None:
        out = call(desk, "file.write", name="list.txt", text="bread")
        gone = desk.documents / ".forewatch" / "discarded"
        gone.mkdir()
        (gone / f"{OTHER}.gone").write_bytes(b"bread\n")
        tool = desk.registry().tool("file.discard")
        assert tool is not None
        assert asyncio.run(tool.look_up(out, OTHER)) is None
        call(desk, "file.discard", OTHER, **out)
        assert not (desk.documents / "list.txt").exists()
