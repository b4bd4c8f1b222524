"""init: a home folder with a config.toml that says what can be set."""

from __future__ import annotations

import os
from pathlib import Path

from schemas.clock import zone
from schemas.errors import ConfigError

_CONFIG = """\
# Forewatch's settings. Every line that is commented out shows the default.
# FOREWATCH_<NAME> in the environment wins over this file. Reference: docs/reference/settings.md

timezone = "{timezone}"
# owner = "me"
# interruptions_per_day = 3
# rules = ["my-rules.yaml"]          # beside rules/ in this folder
# disabled_rules = []
# calendar = "calendar.ics"          # where approved plans add and move entries
# drafts = "drafts"                  # a Maildir that receives drafts
# documents = "documents"            # the only folder in which documents are written
# broker = "kafka://localhost:9092"  # default: the embedded log in this folder
"""


def machine_zone(localtime: Path = Path("/etc/localtime"), environment: str | None = None) -> str:
    """The IANA name of this machine's zone, or UTC."""
    name = environment if environment is not None else os.environ.get("TZ", "")
    if not name and localtime.is_symlink():
        _, _, name = str(localtime.resolve()).partition("zoneinfo/")
    try:
        return zone(name.removeprefix(":")).key
    except ConfigError:
        return "UTC"


def init_home(home: Path, timezone: str) -> Path:
    """Idempotent: an existing config.toml is left as it is. ConfigError where the folder cannot be made."""
    name = zone(timezone).key if timezone else machine_zone()
    path = home / "config.toml"
    try:
        for folder in (home, home / "rules"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(_CONFIG.format(timezone=name), encoding="utf-8")
            path.chmod(0o600)
    except OSError as error:
        raise ConfigError(
            f"cannot make {home}: {error.strerror}", remedy="choose another folder with FOREWATCH_HOME"
        ) from error
    return path
