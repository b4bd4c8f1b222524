"""Settings: FOREWATCH_HOME, its config.toml, and FOREWATCH_* variables over it. Nothing else reads the environment."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Self
from zoneinfo import ZoneInfo

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from actions import nominal
from schemas import clock
from schemas.errors import ConfigError

PREFIX = "FOREWATCH_"


def default_home(environment: Mapping[str, str] = os.environ) -> Path:
    """$FOREWATCH_HOME, else $XDG_DATA_HOME/forewatch, else ~/.local/share/forewatch."""
    if (home := environment.get("FOREWATCH_HOME")) is not None:
        return named_home(home, "FOREWATCH_HOME")
    data = environment.get("XDG_DATA_HOME") or "~/.local/share"
    return (Path(data).expanduser() / "forewatch").absolute()


def named_home(home: str, by: str) -> Path:
    """ConfigError where it is empty, as a variable of the shell is that nobody has set: no folder is meant by that."""
    if not home:
        raise ConfigError(f"{by} is empty", remedy="name a folder, or leave it out")
    return Path(home).expanduser().absolute()


def credential(name: str, environment: Mapping[str, str] = os.environ) -> tuple[str, str] | None:
    """Where systemd put a credential of this service, and its text; None where there is none."""
    if not (folder := environment.get("CREDENTIALS_DIRECTORY")):
        return None
    path = Path(folder) / name
    try:
        return str(path), path.read_text("ascii")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read", remedy="check the unit's LoadCredential=") from error


class Settings(BaseSettings):
    """All of it has a working default but the time zone, which ``forewatch init`` asks for or detects."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True)

    home: Path
    """Everything that Forewatch keeps is below this folder."""
    owner: str = Field(default="me", pattern=r"^[a-z0-9][a-z0-9_.@-]{0,62}$")
    """The name under which everything of this person is kept."""
    timezone: str = "UTC"
    """IANA name: the owner's zone, never the machine's."""
    broker: str = ""
    """``embedded:///absolute/path/log.db`` or ``kafka://host:9092``; empty: the embedded log in the home folder."""
    topic_prefix: str = "forewatch"
    """Goes before the name of every topic and consumer group."""
    partitions: int = Field(default=1, ge=1, le=256)
    """Partitions of every topic; it cannot change once topics exist."""
    rules: tuple[Path, ...] = ()
    """Further rule files or folders, beside ``rules/`` in the home folder."""
    library: bool = True
    """Use the rules that Forewatch ships."""
    disabled_rules: tuple[str, ...] = ()
    """Ids of rules that are not used."""
    interruptions_per_day: int = Field(default=3, ge=0, le=1000)
    """What does not fit waits in the digest (law L11)."""
    sender: str = "me@localhost"
    """Your own mail address: the From of drafts."""
    outbox: Path | None = None
    """Where the notify tool writes; default ``outbox/`` in the home folder."""
    drafts: Path | None = None
    """A Maildir whose Drafts folder receives drafts; default ``drafts/`` in the home folder."""
    documents: Path | None = None
    """The only folder in which documents are written; default ``documents/`` in the home folder."""
    folders: tuple[Path, ...] = ()
    """Folders, with all below them, in which files may be found and read, and forms taken from; empty: none."""
    web_hosts: tuple[str, ...] = ()
    """Hosts whose pages tools may read and whose forms they may send; ``.example.org`` is all of it. Empty: none."""
    payer: str = Field(default="", max_length=70)
    """Your name as your bank knows it: who pays in the payment files and codes that are made ready for you to sign."""
    payer_iban: str = ""
    """Your account for payment files. Without it no payment is made ready."""
    payer_bic: str = ""
    """Your bank, where it is outside of the EEA."""
    calendar: Path | None = None
    """The .ics file in which entries are added and moved; default ``calendar.ics`` in the home folder."""
    trusted_plugins: tuple[str, ...] = ()
    """Names of installed Python packages' plugins (entry points ``forewatch.tools``) that may run inside of Forewatch
    itself, with all its rights. What is not named here does not run; other people's tools belong behind MCP."""
    poll_concurrency: int = Field(default=4, ge=1, le=64)
    """How many sources are polled at the same time."""
    vault_key: SecretStr | None = None
    """The vault's key: base64 of 32 bytes, only as FOREWATCH_VAULT_KEY; to replace it, the new one, a comma, the old
    one. Without it: the systemd credential ``forewatch-vault-key``, else ``vault.key`` in the home folder."""
    vault_keyring: bool = False
    """Keep the vault's key in the keyring of the desktop instead of a file; needs ``forewatch[keyring]``."""
    planner_model: str = ""
    """The name of a model that may plan where no playbook fits; empty: none is ever asked."""
    planner_url: str = ""
    """Where an OpenAI-compatible server answers, such as http://127.0.0.1:8080/v1."""
    planner_key: SecretStr | None = None
    """Its key, only as FOREWATCH_PLANNER_KEY; without it: the systemd credential ``forewatch-planner-key``, else what
    ``forewatch model key`` put into the vault, else none is sent."""
    planner_embeddings: str = ""
    """The name of a model on the same server that makes vectors, by which the memory is searched by meaning; empty: it
    is searched by words."""
    planner_timeout_s: float = Field(default=60.0, ge=1.0, le=3600.0)
    """How long one request may take."""
    planner_wait_s: float = Field(default=300.0, ge=1.0, le=86400.0)
    """After this long a proposal is offered without the model."""
    planner_max_tokens: int = Field(default=1200, ge=200, le=32_000)
    """Of one answer."""
    planner_tokens_per_plan: int = Field(default=40_000, ge=0)
    """Of one proposal, questions and answers, over all its plans."""
    planner_tokens_per_day: int = Field(default=400_000, ge=0)
    """Of a local day."""
    planner_price_in: Decimal = Field(default=Decimal(0), ge=0)
    """What a million tokens cost that are sent."""
    planner_price_out: Decimal = Field(default=Decimal(0), ge=0)
    """What a million tokens cost that come back."""
    planner_currency: str = Field(default="EUR", pattern=r"^[A-Z]{3}$")
    """Of these prices."""
    planner_cost_per_day: Decimal | None = Field(default=None, ge=0)
    """What a local day may cost at most; nothing: only tokens are bounded."""
    log_level: str = Field(default="info", pattern=r"^(debug|info|warning|error)$")
    """debug, info, warning or error."""

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            return clock.zone(value).key
        except ConfigError as error:
            raise ValueError(str(error)) from error

    @field_validator("broker")
    @classmethod
    def _known_broker(cls, value: str) -> str:
        if value and not value.startswith(("embedded:///", "kafka://")):
            raise ValueError("a broker is 'embedded:///absolute/path/log.db' or 'kafka://host:9092'")
        return value

    @field_validator("planner_url")
    @classmethod
    def _known_url(cls, value: str) -> str:
        if value and (wrong := nominal.fault("Url", value)):
            raise ValueError(f"planner_url {wrong}")
        return value

    @field_validator("payer_iban")
    @classmethod
    def _known_iban(cls, value: str) -> str:
        if value and (wrong := nominal.fault("Iban", value)):
            raise ValueError(f"payer_iban {wrong}")
        return value

    @field_validator("payer_bic")
    @classmethod
    def _known_bic(cls, value: str) -> str:
        if value and (wrong := nominal.fault("Bic", value)):
            raise ValueError(f"payer_bic {wrong}")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # the home folder is decided before the settings are read: --home must win over FOREWATCH_HOME
        environment = {name: value for name, value in env_settings().items() if name != "home"}
        return InitSettingsSource(settings_cls, environment), init_settings

    @classmethod
    def load(cls, home: Path | None = None) -> Self:
        """From ``config.toml`` in the home folder (it may be absent); ConfigError names the file and the setting."""
        root = home or default_home()
        path = root / "config.toml"
        try:
            found: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            found = {}
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: not valid TOML: {error}", remedy="mend the file or move it away") from error
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read: {error.strerror}", remedy="check its permissions") from error
        for secret in ("vault_key", "planner_key"):
            if secret in found:
                remedy = f"set {PREFIX}{secret.upper()}"
                raise ConfigError(f"{path}: {secret} does not belong into a file", remedy=remedy)
        try:
            return cls(**{**found, "home": root})
        except ValidationError as error:
            raise _config_error(path, found, error) from error

    @property
    def zone(self) -> ZoneInfo:
        return clock.zone(self.timezone)

    @property
    def broker_url(self) -> str:
        return self.broker or f"embedded://{self.home / 'log.db'}"

    @property
    def is_embedded(self) -> bool:
        return self.broker_url.startswith("embedded:")

    @property
    def socket(self) -> Path:
        return self.home / "forewatch.sock"

    @property
    def history(self) -> Path:
        return self.home / "history"

    @property
    def vault(self) -> Path:
        return self.home / "vault.db"

    @property
    def effects(self) -> Path:
        """What tools remember of their calls, by key."""
        return self.home / "effects"

    @property
    def locks(self) -> Path:
        """Of accounts, across processes."""
        return self.home / "locks"

    @property
    def rule_paths(self) -> tuple[Path, ...]:
        own = self.home / "rules"
        return (*((own,) if own.is_dir() else ()), *(self.home / path for path in self.rules))

    def place(self, name: str) -> Path:
        """The file or folder of a tool: ``outbox``, ``drafts``, ``documents`` or ``calendar``."""
        chosen: Path | None = getattr(self, name)
        fallback = "calendar.ics" if name == "calendar" else name
        return (self.home / (chosen or fallback)).absolute()


def _config_error(path: Path, found: dict[str, Any], error: ValidationError) -> ConfigError:
    fault = error.errors()[0]
    name = ".".join(map(str, fault["loc"]))
    source = str(path) if fault["loc"] and fault["loc"][0] in found else f"{path} or {PREFIX}{name.upper()}"
    if fault["type"] == "extra_forbidden":
        known = [field for field in Settings.model_fields if field != "home"]
        near = _suggestion(name, known)
        return ConfigError(
            f"{source}: unknown setting {name!r}{near}", remedy="" if near else "known: " + ", ".join(known)
        )
    return ConfigError(f"{source}: {name}: {fault['msg'].removeprefix('Value error, ')}")


def _suggestion(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
