from pathlib import Path

import pytest

from forewatch.settings import Settings, default_home
from schemas.errors import ConfigError


def write(home: Path, text: str) -> Path:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(text)
    return home


def test_an_absent_file_means_defaults(tmp_path: Path) -> None:
    settings = Settings.load(tmp_path)
    assert settings.broker_url == f"embedded://{tmp_path}/log.db"
    assert settings.place("calendar") == tmp_path / "calendar.ics"


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREWATCH_TIMEZONE", "Asia/Kolkata")
    assert Settings.load(write(tmp_path, 'timezone = "Europe/Berlin"')).timezone == "Asia/Kolkata"


def test_a_given_home_wins_over_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREWATCH_HOME", "/somewhere/else")
    assert Settings.load(tmp_path).home == tmp_path
    assert default_home() == Path("/somewhere/else")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("timezone = ", "not valid TOML"),
        ('timezome = "UTC"', "unknown setting 'timezome'; did you mean 'timezone'?"),
        ('timezone = "Berlin"', "unknown time zone 'Berlin'"),
        ("partitions = 0", "partitions: "),
        ('broker = "redis://x"', "embedded:///absolute/path/log.db"),
        ('interruptions_per_day = "few"', "interruptions_per_day: "),
    ],
)
def test_a_wrong_setting_names_the_file_the_setting_and_the_remedy(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Settings.load(write(tmp_path, text))
    assert str(tmp_path / "config.toml") in str(caught.value)
    assert says in str(caught.value)


def test_a_wrong_variable_is_named_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOREWATCH_TIMEZONE", "Nowhere")
    with pytest.raises(ConfigError, match="FOREWATCH_TIMEZONE"):
        Settings.load(tmp_path)
