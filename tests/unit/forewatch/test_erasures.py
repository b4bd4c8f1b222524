"""What erased runs left on disk goes with them."""

from __future__ import annotations

from pathlib import Path

from forewatch.erasures import clear_outbox
from forewatch.settings import Settings


def test_notices_and_what_tools_kept_go_by_the_key_of_their_step(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    for folder in (tmp_path / "outbox", tmp_path / "effects"):
        folder.mkdir()
        (folder / "aa11.json").write_text("{}")
        (folder / "bb22.json").write_text("{}")
    clear_outbox(settings, ["aa11", "../bb22", "nonesuch"])
    assert sorted(path.name for path in tmp_path.rglob("*.json")) == ["bb22.json", "bb22.json"]
