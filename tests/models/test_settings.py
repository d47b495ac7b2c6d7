"""Model settings from flags, environment and workspace; they never contain a key."""

import pytest

from pipeline.models import ModelError, ModelSettings
from pipeline.models.settings import ENVIRONMENT_VARIABLES, SETTINGS_FILE, load_settings, parse_settings, save_settings


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in (*ENVIRONMENT_VARIABLES, "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_flags_override_environment_override_workspace_override_defaults(monkeypatch, tmp_path):
    save_settings(ModelSettings(service="openai", model="kept", base_url="http://kept/v1", timeout=7), tmp_path)
    monkeypatch.setenv("GRS_MODEL", "value")
    monkeypatch.setenv("GRS_BASE_URL", "http://value/v1")
    found = ModelSettings.from_environment(tmp_path, base_url="http://flag/v1")
    assert (found.model, found.base_url, found.timeout, found.retries) == ("value", "http://flag/v1", 7, 2)
    for value, expected in {
        "offline": ("offline", "", ""),
        "gpt-5": ("openai", "gpt-5", ""),
        "replay:/a/t.jsonl": ("replay", "", "/a/t.jsonl"),
    }.items():
        monkeypatch.setenv("GRS_MODEL", value)
        found = ModelSettings.from_environment()
        assert (found.service, found.model, found.trace) == expected


def test_saved_settings_contain_neither_key_nor_password_and_a_broken_file_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    save_settings(ModelSettings(service="openai", base_url="https://me:word@host/v1"), tmp_path)
    text = (tmp_path / SETTINGS_FILE).read_text()
    assert "sk-secret" not in text and "me:word" not in text
    assert load_settings(tmp_path).base_url == "https://host/v1"
    assert "sk-secret" not in repr(ModelSettings.from_environment(tmp_path))
    (tmp_path / SETTINGS_FILE).write_text("{")
    with pytest.raises(ModelError, match=r"model\.json in the workspace cannot be read"):
        load_settings(tmp_path)


def test_form_values_become_settings():
    form = {"temperature": " 0.2", "concurrency": "3", "ceiling_usd": "", "pictures": "false", "model": " m "}
    values = {"temperature": 0.2, "concurrency": 3, "ceiling_usd": None, "pictures": False, "model": "m"}
    assert vars(parse_settings(form)).items() >= values.items()


def test_an_invalid_setting_is_reported_with_valid_values():
    for values, expected in (
        ({"timeout": "soon"}, "GRS_TIMEOUT is 'soon'; it takes seconds"),
        ({"temperature": 3}, "takes a number from 0 to 2"),
        ({"ceiling_usd": "nan"}, "ceiling_usd is nan"),
        ({"reasoning_effort": "much"}, "it takes none, minimal, low"),
        ({"base_url": "localhost:8000"}, "must begin with http"),
        ({"service": "magic"}, "there are: offline, openai, replay"),
        ({"colour": "red"}, "There is no model setting colour"),
    ):
        with pytest.raises(ModelError, match=expected):
            parse_settings(values)
