"""The language model: settings in the workspace, keys nowhere, prompts that override ours, and records of its calls."""

import json
import sys
from pathlib import Path
from unittest.mock import Mock, patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offline_studio import offline_services

from pipeline.models import ModelError
from pipeline.models.prompt_templates import FOLDER, load_prompt
from pipeline.models.settings import ModelSettings
from pipeline.models.trace.call_log import Call, group_calls, python_snippet, totals
from studio.models import call_records, cost_estimates, prompt_overrides
from studio.models.model_choice import ModelSelection
from studio.models.model_requests import panel_record
from studio.sessions.session_registry import SessionRegistry
from studio.web.errors import RequestError

KEY = "sk-known-to-nobody"
MINE, THEIRS = "http://127.0.0.1:9/v1", "http://127.0.0.2:9/v1"


@pytest.fixture
def choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModelSelection:
    for name in ("GRS_MODEL", "GRS_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    services = offline_services()
    return ModelSelection(SessionRegistry(tmp_path, services), tmp_path)


def sent(choice: ModelSelection) -> str:
    return choice._sessions.services.model._client.api_key  # type: ignore[attr-defined]


def test_a_typed_key_is_never_stored_or_shown_and_goes_to_no_other_server(choice, tmp_path, monkeypatch):
    choice.use({"service": "openai", "base_url": MINE, "model": "m"}, KEY)
    assert sent(choice) == KEY and choice.key_source() == "typed"
    assert KEY not in json.dumps(panel_record(None, choice))
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and KEY in file.read_text()]
    assert KEY not in repr(choice.settings)
    choice.forget_key()
    assert sent(choice) != KEY and choice.key_source() == ""
    choice.use({"service": "openai", "base_url": MINE}, KEY)
    choice.use({"service": "openai", "base_url": THEIRS})
    assert sent(choice) != KEY
    choice.use({"service": "openai", "base_url": MINE})
    assert sent(choice) == KEY
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-house")
    choice.use({"service": "openai", "base_url": THEIRS})
    assert sent(choice) == "none" and choice.key_source() == ""


def test_invalid_settings_change_nothing_and_give_the_reason(choice: ModelSelection):
    choice.use({"service": "openai", "base_url": MINE, "model": "m"})
    before = choice.settings
    openai, replay = {"service": "openai"}, {"service": "replay"}
    wrong = [openai | {"base_url": "ftp://x"}, openai | {"temperature": "hot"}, openai, {"service": "astrology"}]
    for words in (*wrong, replay | {"trace": "../../etc/passwd"}, replay | {"trace": ""}, {"nonsense": "1"}):
        with pytest.raises(ModelError) as record:
            choice.use(words)
        assert "\n" not in str(record.value)
        assert choice.settings == before
    with pytest.raises(RequestError):
        choice.use("everything")


def test_the_choice_survives_a_restart_and_a_missing_key_is_reported(choice: ModelSelection, tmp_path: Path):
    choice.use({"service": "openai", "model": "gpt-x", "ceiling_usd": "0.5"}, KEY)
    reopened = ModelSelection(choice._sessions, tmp_path)
    assert reopened.settings == choice.settings and reopened.settings.ceiling_usd == 0.5
    assert "OPENAI_API_KEY" in reopened.problem
    reopened.use({"service": "offline"})
    assert reopened.problem == "" and ModelSelection(choice._sessions, tmp_path).problem == ""


def test_a_users_prompt_replaces_ours_until_it_is_removed_and_one_that_cannot_work_is_refused(tmp_path: Path):
    texts = [("route", text) for text in ("", "   ", "{{what_nobody_knows}}", None, "x" * 200_000)]
    for kind, text in (*texts, *((name, "text") for name in ("../route", "/etc/passwd", "route.md", "", "unknown"))):
        with pytest.raises(ModelError):
            prompt_overrides.save_prompt(tmp_path, kind, text)
    assert not list(tmp_path.iterdir())
    for kind in sorted(path.stem for path in FOLDER.glob("*.md")):
        ours = load_prompt(kind)
        assert not prompt_overrides.prompt_record(tmp_path, kind)["changed"]
        record = prompt_overrides.save_prompt(tmp_path, kind, ours.text + "\nBe brief.")
        assert record["changed"] and record["rows"] and load_prompt(kind, tmp_path).text.endswith("Be brief.")
        assert [one["kind"] for one in record["known"] if one["changed"]] == [kind]
        assert prompt_overrides.reset_prompt(tmp_path, kind)["text"] == ours.text
        assert not prompt_overrides.save_prompt(tmp_path, kind, ours.text)["changed"]


def test_the_password_in_an_address_is_not_sent_to_the_page_and_a_team_may_forbid_other_machines(choice, monkeypatch):
    address = "http://ada:p4ssw0rd@127.0.0.1:9/v1"
    choice.use({"service": "openai", "base_url": address, "model": "m"})
    record = panel_record(None, choice)
    assert "p4ssw0rd" not in json.dumps(record) and record["settings"]["base_url"] == MINE
    choice.use(record["settings"] | {"model": "other"})
    assert (choice.settings.base_url, choice.settings.model) == (address, "other")
    monkeypatch.setenv("GRS_SEND", "never")
    choice.use({"service": "openai", "base_url": THEIRS})
    with pytest.raises(ModelError, match=r"GRS_SEND=never: nothing may be sent to https://models\.example\.com"):
        choice.use({"service": "openai", "base_url": "https://models.example.com/v1"})
    assert choice.settings.base_url == THEIRS
    monkeypatch.setenv("GRS_SEND", "perhaps")
    with pytest.raises(ModelError, match="it takes ask, allow, never"):
        choice.use({"service": "openai", "base_url": "https://models.example.com/v1"})


def call(**attributes) -> Call:
    return Call("1", attributes, True)


def test_calls_are_grouped_by_stage_and_subject_and_unreported_values_are_never_zero():
    reported = call(**{"openinference.span.kind": "LLM", "llm.token_count.prompt": 3, "llm.token_count.completion": 4})
    free = call(**{"openinference.span.kind": "CHAIN"})
    both = totals([reported, reported, call(**{"openinference.span.kind": "LLM"}), free])
    assert (both.tokens.sum, both.tokens.reported, both.tokens.missing) == (14, 2, 1)
    assert (both.cost.reported, both.cost.missing) == (0, 3)
    assert call(**{"llm.cost.total": True, "llm.token_count.prompt": "many"}).cost is None
    paid = ModelSettings(service="openai", usd_per_million_in=2.5, usd_per_million_out=10)
    assert "14 objects" in (text := cost_estimates.automatic_estimate(paid, 14)) and "$" in text
    unknown = ModelSettings(service="openai", model="nobody-knows-it")
    assert "price unknown" in cost_estimates.automatic_estimate(unknown, 14)
    kinds = ["route", "describe_segment", "describe_segment", "propose_tasks", "never sent of"]
    calls = [Call(str(i), {"name": kind, "about": f"object {i % 2}"}, True) for i, kind in enumerate(kinds)]
    stages = group_calls(calls)
    assert list(stages) == ["descriptions", "task", "rounds", "other"]
    assert sum(len(group) for groups in stages.values() for group in groups.values()) == len(calls)
    assert [one.id for one in stages["descriptions"]["object 1"]] == ["1"]


@given(st.text())
def test_no_text_moves_a_cursor_or_breaks_the_page(text: str):
    shown = call_records.escape_controls(text)
    shown.encode("utf-8")
    assert not call_records.CONTROLS.search(shown)
    assert len(shown) >= len(text.replace("\r\n", "\n"))


@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=2))
def test_a_snippet_runs_and_sends_the_same_request(text: str, pictures: list[str]):
    recorded = {
        "llm.model_name": "some-model",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": text or "?",
        "llm.invocation_parameters": json.dumps({"model": "x", "temperature": 0.5, "api_key": "sk-secret"}),
    }
    program = python_snippet(call(**recorded), "http://ada:password@server/v1", pictures)
    assert "sk-secret" not in program and "password" not in program
    openai = Mock()
    openai.OpenAI.return_value.chat.completions.create.return_value.choices = []
    with patch.dict(sys.modules, openai=openai):
        exec(program, {})
    sent = openai.OpenAI.return_value.chat.completions.create.call_args.kwargs
    assert openai.OpenAI.call_args.kwargs["base_url"] == "http://server/v1"
    assert sent["model"] == "some-model" and sent["temperature"] == 0.5
    content = sent["messages"][0]["content"]
    assert (content[0]["text"] if pictures else content) == (text or "?")
    assert [one["image_url"]["url"] for one in content[1:]] == pictures if pictures else isinstance(content, str)


def test_an_answer_is_shown_in_full():
    for answer, parts in (
        ('{"simulation": "a\\nb", "n": 1}', ("a\nb", "1")), ('{"x": [1]}', "[1]"), ("[1]", "1"), ("{}", ""), ("1", ""),
    ):  # fmt: skip
        assert all(part in call_records.format_answer(answer) for part in parts)
    assert call_records.format_answer("no JSON") == "no JSON"
