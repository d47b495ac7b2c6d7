"""Model settings, which never contain a key; estimated costs, and a ceiling that is never exceeded."""

from types import SimpleNamespace

import pytest

from pipeline.models import ModelError, ModelSettings
from pipeline.models.costs.budget import Budget, estimate_step, format_usd, model_price, spent_usd
from pipeline.models.settings import ENVIRONMENT_VARIABLES, SETTINGS_FILE, load_settings, parse_settings, save_settings
from pipeline.models.trace.recorder import TracingModel


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


PRICED = ModelSettings(service="openai", usd_per_million_in=2.5, usd_per_million_out=10.0)
UNKNOWN = ModelSettings(service="openai", model="mine", base_url="http://127.0.0.1:9/v1")


def test_an_estimate_is_one_sentence_and_a_price_that_is_not_known_stays_unknown():
    sentence = estimate_step(PRICED, "descriptions", 14).sentence
    assert sentence.startswith("14 objects, about 14 calls, roughly $0.0")
    assert estimate_step(PRICED, "matches", 5, undescribed=7).calls == 12
    assert estimate_step(ModelSettings(), "descriptions", 5).calls == 0
    assert estimate_step(ModelSettings(service="openai", pictures=False), "matches", 5).calls == 0
    assert model_price(UNKNOWN, "mine") is None and estimate_step(UNKNOWN, "rounds", 3).usd is None
    assert "price unknown" in estimate_step(UNKNOWN, "descriptions", 1).sentence
    assert model_price(UNKNOWN, "gpt-4o") is None, "another server has another price"
    assert [format_usd(usd) for usd in (0, 0.0001, 0.05, 12.3)] == ["$0.00", "less than $0.01", "$0.05", "$12.30"]


def test_calls_in_flight_count_against_the_ceiling():
    budget = Budget(1.0)
    first = budget.reserve(0.6)
    with pytest.raises(ModelError, match=r"may cost \$0\.60, and \$0\.60 of the ceiling of \$1\.00"):
        budget.reserve(0.6)
    budget.settle(first, 0.1)
    assert budget.reserve(0.6) == 0.6
    budget.settle(0.6, None)
    assert budget.spent_usd == pytest.approx(0.7), "a call of unknown cost counts with its maximum"


def test_all_models_of_a_project_share_one_budget(tmp_path):
    paid = SimpleNamespace(name="paid", ceiling_usd=1.0, cache_key=lambda question: "")
    (tmp_path / "trace.jsonl").write_text('{"event": "end", "span_id": "a", "counted_usd": 0.25}\n')
    first, second = (TracingModel(paid, tmp_path / "trace.jsonl") for _ in range(2))
    assert first.budget is second.budget and first.budget.spent_usd == 0.25
    lines = [
        {"event": "start", "span_id": "a", "may_cost_usd": 0.5},
        {"event": "end", "span_id": "a", "counted_usd": 0.1},
        {"event": "start", "span_id": "b", "may_cost_usd": 0.3},
    ]
    assert spent_usd(lines) == pytest.approx(0.4), "a call without an end counts with its maximum"
