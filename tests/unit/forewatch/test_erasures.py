"""What erased runs left on disk goes with them; what was cut off is ended in the order in which it was begun."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from forewatch import erase as erasing
from forewatch.erase import Erased, erase, finish, pending
from forewatch.erasures import clear_outbox
from forewatch.settings import Settings
from schemas.clock import SystemClock
from schemas.errors import ConfigError
from streams.broker import Broker
from streams.erase import Lineage


def test_notices_and_what_tools_kept_go_by_the_key_of_their_step(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    for folder in (tmp_path / "outbox", tmp_path / "effects"):
        folder.mkdir()
        (folder / "aa11.json").write_text("{}")
        (folder / "bb22.json").write_text("{}")
    clear_outbox(settings, ["aa11", "../bb22", "nonesuch"])
    assert sorted(path.name for path in tmp_path.rglob("*.json")) == ["bb22.json", "bb22.json"]


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Three erasures that were cut off, one after the other, and then the oldest once more."""

    def cut_off(broker: Broker, account: str, note: Callable[[Lineage], None]) -> Lineage:
        note(Lineage(account, keys={f"{account}1"}))
        raise ConfigError("another process runs on the log")

    monkeypatch.setattr(erasing, "erase_from_log", cut_off)
    settings = Settings(home=tmp_path)
    for second, account in enumerate(("post", "calendar", "bank", "post")):
        is_new = account not in pending(tmp_path)
        with pytest.raises(ConfigError):
            erase(settings, account, SystemClock())
        if is_new:
            os.utime(tmp_path / "erasing" / account, (second, second))
    return settings


def test_what_was_cut_off_stays_in_the_order_in_which_it_was_begun(left: Settings) -> None:
    assert pending(left.home) == ["post", "calendar", "bank"]
    assert (left.home / "erasing" / "post").read_text() == "post1\n"


@pytest.mark.parametrize(
    ("halfway", "order"),
    [("", ["post", "calendar", "bank"]), ("calendar", ["calendar", "post", "bank"])],
)
def test_a_start_ends_them_in_that_order_after_the_one_for_which_the_log_is_half_rewritten(
    left: Settings, monkeypatch: pytest.MonkeyPatch, halfway: str, order: list[str]
) -> None:
    monkeypatch.setattr(erasing, "rewritten_for", lambda broker: halfway)
    monkeypatch.setattr(erasing, "erase", lambda settings, account, clock: Erased(account, 0, 0))
    assert [gone.account for gone in finish(left, SystemClock())] == order
