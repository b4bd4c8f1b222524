"""Which files make up a rule set: those that were named, and those that they include."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from schemas.document import Document, Trail
from schemas.errors import RuleError
from schemas.suggest import did_you_mean
from schemas.yaml_text import read, text_of

MOST_FILES = 1000
"""Files that includes may bring in."""
_GLOB = frozenset("*?[")


class _Refused(Exception):
    """An include that cannot be followed."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.message, self.remedy = message, remedy


@dataclass(slots=True)
class Files:
    """``documents`` of all files that can be read, an including file before the included; what is wrong with others."""

    documents: list[Document] = field(default_factory=list)
    errors: list[RuleError] = field(default_factory=list)
    _taken: set[Path] = field(default_factory=set)

    def take(self, path: Path, root: Path, above: tuple[Path, ...] = ()) -> None:
        """A file, once, and what it includes; nothing outside of ``root`` is included."""
        resolved = path.resolve()
        if resolved in self._taken:
            return
        self._taken.add(resolved)
        try:
            document = read(text_of(path), str(path))
        except RuleError as error:
            self.errors.append(error)
            return
        self.documents.append(document)
        for trail, pattern in self._patterns(document):
            try:
                for found in _found(path.parent, pattern, root.resolve()):
                    if found.resolve() in (*above, resolved):
                        raise _Refused(f"{found.name!r} includes this file", "break the circle")
                    if len(self._taken) >= MOST_FILES:
                        raise _Refused(f"more than {MOST_FILES:,} files", "include fewer")
                    self.take(found, root, (*above, resolved))
            except _Refused as refused:
                self.errors.append(document.error(refused.message, trail, remedy=refused.remedy))

    def _patterns(self, document: Document) -> Iterator[tuple[Trail, str]]:
        given = document.data.get("include", ()) if isinstance(document.data, dict) else ()
        for number, pattern in enumerate([given] if isinstance(given, str) else given or ()):
            trail: Trail = ("include",) if isinstance(given, str) else ("include", number)
            if isinstance(given, (str, list)) and isinstance(pattern, str) and pattern:
                yield trail, pattern
            else:
                remedy = "write such as [bills.yaml, shared/*.yaml]"
                self.errors.append(document.error("'include' is a list of file names", ("include",), remedy=remedy))
                return


def read_files(paths: Iterable[Path | str]) -> Files:
    """Of a folder its ``*.yaml``, by name; of all of them what they include from the folder that they lie in."""
    files = Files()
    for path in map(Path, paths):
        for file in sorted(path.glob("*.yaml")) if path.is_dir() else [path]:
            files.take(file, path if path.is_dir() else path.parent)
    return files


def _found(folder: Path, pattern: str, root: Path) -> list[Path]:
    """The files of one include."""
    if Path(pattern).is_absolute():
        raise _Refused(f"{pattern!r} is no relative path", "say where it is from the folder of this file")
    if _GLOB.isdisjoint(pattern):
        found = [folder / pattern]
    elif ".." in Path(pattern).parts:
        raise _Refused(f"{pattern!r} leaves this folder", "use '*' only for files in and below this folder")
    else:
        found = sorted(path for path in folder.glob(pattern) if path.is_file() and path.suffix == ".yaml")
    for path in found:
        if not path.resolve().is_relative_to(root):
            raise _Refused(f"{pattern!r} lies outside of the rules folder", "copy the file into it")
        if not path.is_file():
            near = [other.name for other in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
            raise _Refused(f"there is no file {pattern!r}", did_you_mean(path.name, near))
    if not found:
        raise _Refused(f"no file fits {pattern!r}", "only files that end in .yaml do")
    return found
