"""The settings of models: flags, the environment, what the workspace keeps; no key anywhere."""

import pytest

from pipeline.models import ModelError, ModelSettings
from pipeline.models.settings import ENVIRONMENT, FILE, from_words, load, save


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in (*ENVIRONMENT, "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def test_flags_win_over_the_environment_over_the_workspace_over_the_defaults(monkeypatch, tmp_path):
    save(ModelSettings(service="openai", model="kept", base_url="http://kept/v1", timeout=7), tmp_path)
    monkeypatch.setenv("GRS_MODEL", "told")
    monkeypatch.setenv("GRS_BASE_URL", "http://told/v1")
    found = ModelSettings.from_environment(tmp_path, base_url="http://flag/v1")
    assert (found.model, found.base_url, found.timeout, found.retries) == ("told", "http://flag/v1", 7, 2)


@pytest.mark.parametrize(
    ("told", "service", "model", "trace"),
    [
        ("offline", "offline", "", ""),
        ("gpt-5", "openai", "gpt-5", ""),
        ("replay:/a/t.jsonl", "replay", "", "/a/t.jsonl"),
    ],
)
def test_one_variable_chooses_service_and_model(monkeypatch, told, service, model, trace):
    monkeypatch.setenv("GRS_MODEL", told)
    found = ModelSettings.from_environment()
    assert (found.service, found.model, found.trace) == (service, model, trace)


def test_what_is_kept_holds_neither_key_nor_login(monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    save(ModelSettings(service="openai", base_url="https://me:word@host/v1"), tmp_path)
    text = (tmp_path / FILE).read_text()
    assert "sk-secret" not in text and "me:word" not in text
    assert load(tmp_path).base_url == "https://host/v1"
    assert "sk-secret" not in repr(ModelSettings.from_environment(tmp_path))


def test_words_of_a_form_become_settings():
    found = from_words(
        {"temperature": " 0.2", "concurrency": "3", "ceiling_usd": "", "pictures": "false", "model": " m "}
    )
    assert (found.temperature, found.concurrency, found.ceiling_usd, found.pictures, found.model) == (
        0.2,
        3,
        None,
        False,
        "m",
    )


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"timeout": "soon"}, "GRS_TIMEOUT is 'soon'; it takes seconds"),
        ({"timeout": "0"}, "timeout is 0.0; it takes a number from"),
        ({"temperature": "hot"}, "GRS_TEMPERATURE is 'hot'"),
        ({"temperature": 3}, "takes a number from 0 to 2"),
        ({"ceiling_usd": "nan"}, "ceiling_usd is nan"),
        ({"reasoning_effort": "much"}, "it takes none, minimal, low"),
        ({"base_url": "localhost:8000"}, "must begin with http"),
        ({"service": "magic"}, "there are: offline, openai, replay"),
        ({"colour": "red"}, "There is no model setting colour"),
    ],
)
def test_a_setting_that_cannot_be_is_told_with_what_it_takes(words, says):
    with pytest.raises(ModelError, match=says):
        from_words(words)


def test_a_broken_file_is_told_in_one_line(tmp_path):
    (tmp_path / FILE).write_text("{")
    with pytest.raises(ModelError, match=r"model\.json in the workspace cannot be read"):
        load(tmp_path)
