"""Rule files: read, checked, and every mistake of every file told at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from zoneinfo import ZoneInfo

from rules.checking import FileChecker
from rules.including import read_files
from rules.ruleset import RuleSet
from schemas.errors import ConfigError, RuleError
from schemas.suggest import did_you_mean
from schemas.yaml_text import read

__all__ = ["RuleErrors", "load", "read"]


class RuleErrors(ConfigError):
    """All mistakes of all files; ``str`` has one line for each."""

    def __init__(self, errors: Iterable[RuleError]) -> None:
        self.errors = tuple(sorted(errors, key=lambda e: (e.location.file, e.location.line, e.location.column)))
        super().__init__("\n".join(map(str, self.errors)))


def load(
    paths: Iterable[Path | str],
    *,
    zone: ZoneInfo,
    playbooks: Collection[str] | None = None,
    disabled: Collection[str] = (),
) -> RuleSet:
    """All rules of the files (of a folder: its ``*.yaml``, by name) and of those that they include, as overrides have
    them; RuleErrors with every mistake of every file.

    ``playbooks``: the names that exist, to find a rule that names another; None: not checked. ``disabled``: ids of
    rules that are to be off whatever their file says; ConfigError for one that there is not.
    """
    files = read_files(paths)
    checker = FileChecker(zone, playbooks)
    for document in files.documents:
        checker.add(document)
    checker.check()
    if files.errors or checker.errors:
        raise RuleErrors((*files.errors, *checker.errors))
    for name in disabled:
        if name not in checker.places:
            raise ConfigError(
                f"cannot disable the rule {name!r}: there is none", remedy=did_you_mean(name, checker.places)
            )
    rules = RuleSet(checker.rules, zone, disabled)
    rules.files = tuple(document.file for document in files.documents)
    return rules
