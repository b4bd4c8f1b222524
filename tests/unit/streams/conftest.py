"""A log of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"embedded://{tmp_path}/log.db"
