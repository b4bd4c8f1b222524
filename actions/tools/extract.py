"""The text of a document, read by a process of its own with limits: a hostile file can hang or fill nothing of ours.

As a program (``python -m actions.tools.extract pdf``) it reads the document from stdin and writes JSON to stdout; it
opens no file and no connection.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import zipfile

from schemas.errors import StepFailed

TEXT_CAP = 20_000
"""Characters of a document that a plan is given."""
PAGES_CAP = 200
CPU_S = 20
WALL_S = 30.0
MEMORY = 1_500_000_000
UNPACKED_CAP = 100_000_000
PLAIN = ("txt", "md", "csv", "log", "ics", "eml", "json", "yaml", "yml", "html", "htm", "xml")
KINDS = (*PLAIN, "pdf", "docx")


async def text_of(name: str, content: bytes) -> tuple[str, int]:
    """The first ``TEXT_CAP`` characters, and the pages of a PDF (else 1). StepFailed for what cannot be read."""
    kind = name.rpartition(".")[2].lower()
    if kind not in KINDS:
        remedy = f"use {', '.join(KINDS)}"
        raise StepFailed(f"{name}: no text can be read from this kind", code="invalid", remedy=remedy)
    if kind in PLAIN:
        return content[: TEXT_CAP * 4].decode("utf-8", "replace")[:TEXT_CAP], 1
    program = (sys.executable, "-m", "actions.tools.extract", kind)
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE, "stderr": asyncio.subprocess.DEVNULL}
    environment = {"PATH": os.environ.get("PATH", ""), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    child = await asyncio.create_subprocess_exec(*program, env=environment, **pipes)  # type: ignore[arg-type]
    try:
        async with asyncio.timeout(WALL_S):
            out, _ = await child.communicate(content)
    except TimeoutError as error:
        raise StepFailed(f"{name}: reading it takes too long", code="invalid") from error
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0:
        raise StepFailed(f"{name}: it is damaged, protected or too large", code="invalid")
    found = json.loads(out)
    return str(found["text"]), int(found["pages"])


def pdf(content: bytes) -> tuple[str, int]:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(content))
    parts: list[str] = []
    for page in reader.pages[:PAGES_CAP]:
        parts.append(page.extract_text())
        if sum(map(len, parts)) > TEXT_CAP:
            break
    return "\n".join(parts)[:TEXT_CAP], len(reader.pages)


def docx(content: bytes) -> tuple[str, int]:
    """Paragraphs and the cells of tables."""
    from docx import Document

    require_small(content)
    document = Document(io.BytesIO(content))
    parts = [paragraph.text for paragraph in document.paragraphs]
    for table in document.tables:
        parts += [" | ".join(cell.text for cell in row.cells) for row in table.rows]
    return "\n".join(parts)[:TEXT_CAP], 1


def require_small(content: bytes) -> None:
    """A DOCX is a ZIP: what it says it unpacks to must be bearable. StepFailed."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except zipfile.BadZipFile as error:
        raise StepFailed("it is no DOCX document", code="invalid") from error
    if size > UNPACKED_CAP:
        raise StepFailed(f"it unpacks to {size} bytes", code="invalid")


def main() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    text, pages = {"pdf": pdf, "docx": docx}[sys.argv[1]](sys.stdin.buffer.read())
    sys.stdout.write(json.dumps({"text": text, "pages": pages}))


if __name__ == "__main__":
    main()
