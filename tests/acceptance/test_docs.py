"""The documents tell the truth: their commands run, their links lead somewhere, their reference is the code's."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from forewatch.reference import pages
from rules.loader import load
from rules.testing import run_examples

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
MARKED = re.compile(r"<!-- runs in CI -->\s*```sh\n(.*?)```", re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.fixture
def person(tmp_path: Path) -> dict[str, str]:
    """Somebody's home folder, with the files that the documents speak of."""
    for part in ("cur", "new", "tmp"):
        (tmp_path / "Maildir" / part).mkdir(parents=True)
    cases = ROOT / "tests" / "cases"
    shutil.copy(cases / "calendar" / "c08_wall_clock_over_dst.ics", tmp_path / "calendar.ics")
    (tmp_path / "statements").mkdir()
    shutil.copy(cases / "bank" / "b11_csv_german.csv", tmp_path / "statements" / "march.csv")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "HOME": str(tmp_path), "FOREWATCH_HOME": str(tmp_path / "fw"), "PATH": path}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if MARKED.search(page.read_text())], ids=lambda page: page.name
)
def test_the_commands_of_a_page_run(page: Path, person: dict[str, str]) -> None:
    for number, block in enumerate(MARKED.findall(page.read_text())):
        unindented = "\n".join(line.strip() for line in block.splitlines())
        script = ["bash", "-euo", "pipefail", "-c", unindented]
        done = subprocess.run(script, env=person, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode in (0, 4), f"{page.name}, block {number}: {done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("name", sorted(pages()))
def test_the_reference_is_what_the_code_says(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text()
    assert written == pages()[name], "run: make docs"


def test_the_rule_of_the_how_to_is_well_formed_and_passes_its_examples(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "howto" / "write-a-rule.md").read_text()
    (tmp_path / "mine.yaml").write_text(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[0])
    rules = load([tmp_path / "mine.yaml"], zone=ZoneInfo("Europe/Berlin"))
    results = [result for rule in rules for result in run_examples(rule, zone=ZoneInfo("Europe/Berlin"))]
    assert len(results) == 2
    assert all(result.passed for result in results)


def test_no_file_names_a_package_registry() -> None:
    hosts = re.compile(r"(pypi\.org|pythonhosted|registry\.npmjs|repo1?\.maven|crates\.io|proxy\.golang|deb\.debian)")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    guilty = [
        name
        for name in tracked
        if name != "tests/acceptance/test_docs.py"
        and (ROOT / name).is_file()
        and hosts.search((ROOT / name).read_bytes().decode(errors="replace"))
    ]
    assert guilty == []
