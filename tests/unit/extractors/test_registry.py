"""The registry: connectors by name, by file, and from other packages."""

from __future__ import annotations

import subprocess
import sys
import threading
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from extractors import registry
from extractors.maildir import MaildirConnector
from schemas.errors import ConfigError

CASES = Path(__file__).parents[2] / "cases"


@pytest.fixture(autouse=True)
def _fresh() -> None:
    registry._connector.cache_clear()
    registry._entry_points.cache_clear()


def announce(monkeypatch: pytest.MonkeyPatch, *points: EntryPoint) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: points)


@pytest.mark.parametrize("name", registry._BUILT_IN)
def test_what_we_ship_is_found_without_any_metadata(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch)
    assert registry.connector(name).name == name


def test_another_package_may_announce_a_connector(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("somebody_elses")
    theirs = MaildirConnector()
    theirs.name = "theirs"
    module.connector = theirs
    monkeypatch.setitem(sys.modules, "somebody_elses", module)
    announce(monkeypatch, EntryPoint("theirs", "somebody_elses:connector", registry.GROUP))
    assert registry.connector("theirs") is theirs
    assert registry.names() == [*registry._BUILT_IN, "theirs"]


def test_another_package_cannot_take_the_name_of_one_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, EntryPoint("maildir", "somebody_elses:connector", registry.GROUP))
    assert isinstance(registry.connector("maildir"), MaildirConnector)


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match="unknown connector 'mailder'; did you mean 'maildir'"):
        registry.connector("mailder")


def test_a_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(ConfigError, match=f"known: {', '.join(sorted(registry._BUILT_IN))}"):
        registry.connector("xyzzy")


def test_a_package_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, EntryPoint("broken", "no_such_module_at_all:connector", registry.GROUP))
    with pytest.raises(ConfigError, match=r"'broken' \(no_such_module_at_all:connector\) cannot be loaded.*reinstall"):
        registry.connector("broken")


def test_a_connector_under_a_wrong_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, EntryPoint("other", "extractors.maildir:connector", registry.GROUP))
    with pytest.raises(ConfigError, match="calls itself 'maildir'"):
        registry.connector("other")


@pytest.mark.parametrize(
    ("folder", "suffixes", "name"),
    [
        ("email", (".eml", ".mbox"), "maildir"),
        ("calendar", (".ics",), "ics"),
        ("bank", (".ofx", ".sta", ".xml", ".csv"), "bankfile"),
    ],
)
def test_every_shared_case_is_known_to_the_connector_of_its_kind(
    folder: str, suffixes: tuple[str, ...], name: str
) -> None:
    paths = [path for path in (CASES / folder).iterdir() if path.suffix in suffixes]
    assert paths
    for path in paths:
        found = registry.sniff(path)
        assert found is not None, path.name
        assert found.name == name, path.name


def test_what_nobody_knows_has_no_connector(tmp_path: Path) -> None:
    (tmp_path / "note").write_text("Just a few words.\n")
    assert registry.sniff(tmp_path / "note") is None
    assert registry.sniff(tmp_path / "nothing here") is None
    assert registry.sniff(tmp_path) is None


READ_FILES = {"maildir", "ics", "bankfile"}


@pytest.mark.parametrize("name", [name for name in registry._BUILT_IN if name not in READ_FILES])
def test_what_reads_a_service_claims_no_file_and_previews_none(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} reads a service, not a file.*accounts add {name}"):
        registry.for_files(name)


@pytest.mark.parametrize("name", sorted(READ_FILES))
def test_what_reads_files_can_preview_one(name: str) -> None:
    assert registry.for_files(name) is registry.connector(name)


def test_all_of_them_are_a_mapping_that_loads_on_use() -> None:
    code = (
        "import sys; from extractors.registry import Connectors\n"
        "every = Connectors()\n"
        "print(sorted(every) == sorted(set(every)) and 'maildir' in every, every.get('imaginary'))\n"
        "print(every['ics'].name, 'extractors.ics' in sys.modules, 'extractors.bankfile' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "None", "ics", "True", "False"]


def test_only_one_thread_loads_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The poll agent loads on the loop while another thread normalises: two imports of modules that share others can
    see them half made."""
    monkeypatch.syspath_prepend(str(tmp_path))
    probe = ModuleType("loading_probe")
    probe.inside, probe.worst, probe.met = 0, 0, threading.Event()
    monkeypatch.setitem(sys.modules, "loading_probe", probe)
    for name in ("slow_one", "slow_two"):
        (tmp_path / f"{name}.py").write_text(
            "import loading_probe as probe\n"
            "probe.inside += 1\n"
            "probe.worst = max(probe.worst, probe.inside)\n"
            "if probe.inside == 2: probe.met.set()\n"
            "probe.met.wait(0.5)\n"
            "probe.inside -= 1\n"
            f"class connector: name = {name!r}\n"
        )
    announce(monkeypatch, *(EntryPoint(name, f"{name}:connector", registry.GROUP) for name in ("slow_one", "slow_two")))
    threads = [threading.Thread(target=registry.connector, args=(name,)) for name in ("slow_one", "slow_two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert probe.worst == 1
    assert not probe.met.is_set()
