"""YAML is read by libyaml where it can be: it must mean what the parser in Python means, at the same places."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from schemas.document import Document
from schemas.errors import RuleError
from schemas.yaml_text import read

ROOT = Path(__file__).parents[3]
SHIPPED = sorted([*(ROOT / "rules/library").glob("*.yaml"), *(ROOT / "actions/playbooks").glob("*.yaml")])


def slowly(text: str) -> Document:
    """A text with a byte order mark is left to the parser in Python."""
    return read("\ufeff" + text, "f")


@settings(max_examples=300, deadline=None)
@given(st.text("ab1:-[]{}&*!|>'\"#%@ \n,?~", max_size=60))
def test_both_parsers_read_the_same_data(text: str) -> None:
    listed = f"all:\n- {text}\n"
    try:
        slow = slowly(listed)
    except RuleError:
        return
    assert read(listed, "f").data == slow.data


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_both_parsers_find_what_ships_in_the_same_places(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert read(text, "f") == slowly(text)


@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_what_ships_is_written_so_that_libyaml_reads_it(file: Path) -> None:
    """A start reads all of it: write ``at: "+3d 10:30"`` with its quotes inside of braces."""
    assert list(YAML(typ="safe", pure=False).parse(file.read_text(encoding="utf-8")))


@pytest.mark.parametrize("text", ["a: {b:c}\n", "a: [1, 2\n", "a: b: c\n", "- a\nb: c\n"])
def test_what_libyaml_refuses_is_for_the_parser_in_python_to_judge(text: str) -> None:
    def outcome(reader: Callable[[], Document]) -> object:
        try:
            return reader().data
        except RuleError as error:
            return str(error)

    assert outcome(lambda: read(text, "f")) == outcome(lambda: slowly(text))


def test_libyaml_is_installed() -> None:
    from ruamel.yaml.main import CParser

    assert CParser is not None
